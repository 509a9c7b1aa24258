package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// songRate is the number of samples a second, more than twice the highest note.
const songRate = 4410

// songNotes are the frequencies of the notes, songLengths what their sines are multiplied by.
var (
	songNotes   = []float64{256, 330, 392, 512, 660, 784, 294, 349, 440, 494, 587, 698, 880, 988, 1046, 128}
	songLengths = []float64{1, 2, .5, 1, 3, 1, 7, 1, 1, .25, 1, 1, 1, 1, 1, 9}
)

// simpleSong returns the notes, and two signals: SimpleSong (arXiv 2212.07551, appendix 12.1), one second of
// C4 + 2 E4 + 3 G4 and one of 3 G4 + 2.5 C5 + 1.5 E5; and E4 with -4 times A4. Sines of whole frequencies are orthogonal over
// a second, so that the coefficients of the song are 3 G4, 1.25 C5, 1 E4, .75 E5 and .5 C4, each divided by the note's factor.
func simpleSong() (notes, signals []float32) {
	sine := func(hertz float64, j int) float64 {
		return math.Sin(2 * math.Pi * hertz * float64(j%songRate) / songRate)
	}
	for i, hertz := range songNotes {
		for j := range 2 * songRate {
			notes = append(notes, float32(songLengths[i]*sine(hertz, j)))
		}
	}
	for j := range 2 * songRate {
		x := sine(256, j) + 2*sine(330, j) + 3*sine(392, j)
		if j >= songRate {
			x = 3*sine(392, j) + 2.5*sine(512, j) + 1.5*sine(660, j)
		}
		signals = append(signals, float32(x))
	}
	for j := range 2 * songRate {
		signals = append(signals, float32(sine(330, j)-4*sine(440, j)))
	}
	return notes, signals
}

// pursuedNaively is matching pursuit in float64, by comparing all atoms.
func pursuedNaively(atoms, signal []float32, steps int, nonnegative bool) []dataset.Term {
	dim := len(signal)
	residual := make([]float64, dim)
	for j, v := range signal {
		residual[j] = float64(v)
	}
	var terms []dataset.Term
	for step := range steps {
		best, chosen, coefficient := 0., -1, 0.
		for i := range len(atoms) / dim {
			var product, square float64
			for j, v := range atoms[i*dim : (i+1)*dim] {
				product += residual[j] * float64(v)
				square += float64(v) * float64(v)
			}
			share := product / math.Sqrt(square)
			if !nonnegative {
				share = math.Abs(share)
			}
			if share > best {
				best, chosen, coefficient = share, i, product/square
			}
		}
		if chosen < 0 {
			break
		}
		var square float64
		for j, v := range atoms[chosen*dim : (chosen+1)*dim] {
			residual[j] -= coefficient * float64(v)
			square += residual[j] * residual[j]
		}
		terms = append(terms, dataset.Term{Step: int64(step), Row: int64(chosen), Coefficient: coefficient, Residual: math.Sqrt(square)})
	}
	return terms
}

// readTerms reads terms as JSON lines or CSV.
func readTerms(t *testing.T, name, text string) (terms []dataset.Term) {
	t.Helper()
	if strings.HasSuffix(name, ".csv") {
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rows[0], ","); got != "signal,step,vector,coefficient,residual,pulls" {
			t.Fatal(got)
		}
		for _, r := range rows[1:] {
			var x [6]float64
			for i := range x {
				if x[i], err = strconv.ParseFloat(r[i], 64); err != nil {
					t.Fatal(err)
				}
			}
			terms = append(terms, dataset.Term{Signal: int64(x[0]), Step: int64(x[1]), Row: int64(x[2]), Coefficient: x[3], Residual: x[4], Pulls: int64(x[5])})
		}
		return terms
	}
	for line := range strings.Lines(text) {
		var m struct {
			dataset.Term
			Vector int64
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		m.Row = m.Vector
		terms = append(terms, m.Term)
	}
	return terms
}

// TestPursuitFindsNotes: the notes of SimpleSong, in order, from files, by each method; atoms, coefficients and residuals are
// those of a pursuit in float64. Two of the notes of the second signal have opposite signs.
func TestPursuitFindsNotes(t *testing.T) {
	dir := t.TempDir()
	notes, signals := simpleSong()
	const dim = 2 * songRate
	atoms, song := clitest.WriteFile(t, dir, "notes.npy", npy(notes, dim)), clitest.WriteFile(t, dir, "songs.npy", npy(signals, dim))
	for i, want := range []struct{ note, coefficient float64 }{{392, 3}, {512, 1.25}, {330, 1}, {660, .75}, {256, .5}} {
		m := pursuedNaively(notes, signals[:dim], 5, false)[i]
		if songNotes[m.Row] != want.note || math.Abs(m.Coefficient*songLengths[m.Row]-want.coefficient) > 1e-5 {
			t.Errorf("the oracle's term %d: %+v", i, m)
		}
	}
	for _, c := range []struct {
		method, out string
		flags       []string
	}{
		{"", "-", nil},
		{"exact", "exact.csv", nil},
		{"adaptive", "adaptive.jsonl", []string{"--delta", "1e-6"}},
		{"banditmips", "bandit.jsonl", []string{"--threads", "1"}},
		{"banditmips", "sigma.csv", []string{"--sigma", ".01", "--delta", "1e-4", "--json"}},
		{"certain", "positive.jsonl", []string{"--nonnegative", "--chunk", "1"}},
	} {
		out := c.out
		if out != cli.Stdio {
			out = filepath.Join(dir, out)
		}
		args := append([]string{"pursuit", "--vectors", atoms, "--signals", song, "--terms", "5", "--out", out}, c.flags...)
		if c.method != "" {
			args = append(args, "--method", c.method)
		}
		r := thresher(t, args...)
		r.WantCode(t, cli.ExitOK)
		text := r.Out
		if out != cli.Stdio {
			text = string(clitest.ReadFile(t, out))
		}
		nonnegative := c.out == "positive.jsonl"
		got := readTerms(t, c.out, text)
		for s := range int64(2) {
			want := pursuedNaively(notes, signals[s*dim:(s+1)*dim], 5, nonnegative)
			sure := len(want)
			if s == 1 {
				sure = 2 // of what is left afterwards, rounding decides
				if nonnegative {
					sure = 1
				}
			}
			mine := got
			for i, m := range mine {
				if m.Signal == s {
					mine = mine[i:]
					break
				}
			}
			for i, w := range want[:sure] {
				if i >= len(mine) {
					t.Fatalf("%s: %d terms", c.out, len(got))
				}
				m := mine[i]
				if m.Signal != s || m.Step != w.Step || m.Row != w.Row || math.Abs(m.Coefficient-w.Coefficient) > 1e-9*math.Abs(w.Coefficient) || math.Abs(m.Residual-w.Residual) > 1e-6*w.Residual {
					t.Errorf("%s, signal %d: %+v, want %+v", c.out, s, m, w)
				}
				if m.Pulls <= 0 {
					t.Errorf("%s: %d pulls", c.out, m.Pulls)
				}
			}
		}
	}
}

// TestPursuitOfFewRows: ids are written beside row numbers, a signal of which nothing is left has fewer terms, npz and Parquet are
// written, and the summary says what is promised.
func TestPursuitOfFewRows(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"id":"x","vector":[2,0,0]}`+"\n"+`{"id":"y","vector":[0,4,0]}`+"\n"+`{"id":"diagonal","vector":[1,1,1]}`+"\n"))
	signals := clitest.WriteFile(t, dir, "s.jsonl", []byte(`{"id":"one","vector":[0,-2,0]}`+"\n"+`{"id":"none","vector":[0,0,0]}`+"\n"+`{"id":"two","vector":[6,4,0]}`+"\n"))
	args := []string{"pursuit", "--vectors", atoms, "--signals", signals, "--terms", "2"}
	r := thresher(t, args...)
	r.WantCode(t, cli.ExitOK)
	const want = `{"signal":0,"signal_id":"one","step":0,"vector":1,"vector_id":"y","coefficient":-0.5,"residual":0,"pulls":P}
{"signal":2,"signal_id":"two","step":0,"vector":0,"vector_id":"x","coefficient":3,"residual":4,"pulls":P}
{"signal":2,"signal_id":"two","step":1,"vector":1,"vector_id":"y","coefficient":1,"residual":0,"pulls":P}
`
	var got strings.Builder
	for line := range strings.Lines(r.Out) {
		head, _, _ := strings.Cut(line, `"pulls":`)
		got.WriteString(head + `"pulls":P}` + "\n")
	}
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
	for _, name := range []string{"t.npz", "t.parquet"} {
		out := filepath.Join(dir, name)
		r := thresher(t, append(args, "--out", out, "--json")...)
		r.WantCode(t, cli.ExitOK)
		var s pursuitSummary
		if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
			t.Fatal(err)
		}
		if s.Signals != 3 || s.Terms != 3 || s.Residual != 0 || s.Pulls == 0 || s.Atoms != 3 || s.Delta != 0 || !strings.Contains(s.Promise, "every step takes the best vector") {
			t.Errorf("%s: %s", name, r.Out)
		}
		if len(clitest.ReadFile(t, out)) < 300 {
			t.Errorf("%s is too short", name)
		}
		thresher(t, append(args, "--out", out)...).WantError(t, name, "--overwrite")
	}
}

// TestPursuitRefuses: errors name the file and the row, or the flag.
func TestPursuitRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string { return clitest.WriteFile(t, dir, name, []byte(text)) }
	atoms, signals := write("a.jsonl", "[1,0]\n[0,2]\n"), write("s.jsonl", "[1,3]\n")
	run := func(atoms, signals string, flags ...string) clitest.Result {
		return thresher(t, append([]string{"pursuit", "--vectors", atoms, "--signals", signals}, flags...)...)
	}
	two := []string{"--terms", "2"}
	built := filepath.Join(dir, "ip.thresher")
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", built).WantCode(t, cli.ExitOK)
	run(atoms, signals).WantError(t, "--terms 0", "at least 1")
	run(atoms, "", two...).WantError(t, "--signals")
	run(write("zero.jsonl", "[1,0]\n[0,0]\n"), signals, two...).WantError(t, "zero.jsonl", "row 1", "no direction")
	run(atoms, write("three.jsonl", "[1,2,3]\n"), two...).WantError(t, "a.jsonl", "dimension 2", "three.jsonl", "dimension 3")
	run(atoms, write("text.csv", "1,2\n3,x\n"), two...).WantError(t, "text.csv", "x")
	run(atoms, write("infinite.npy", string(npy([]float32{1, 2, 3, float32(math.Inf(1))}, 2))), two...).WantError(t, "infinite.npy", "row 1")
	run(built, signals, two...).WantError(t, "ip.thresher", "metric ip", "cosine")
	run(atoms, built, two...).WantError(t, "ip.thresher", "--signals", "prepared collection")
	run(atoms, signals, "--terms", "2", "--sigma", "-1").WantError(t, "sigma", "-1")
	run(atoms, signals, "--terms", "2", "--sigma", "1").WantError(t, "--sigma", "certain")
	run(atoms, signals, "--terms", "2", "--json").WantError(t, "--json", "--out")
	run(atoms, signals, "--terms", "2", "--out", signals, "--overwrite").WantError(t, "s.jsonl", "overwritten")
	run(atoms, signals, "--terms", "2", "--out", filepath.Join(dir, "t.npy")).WantError(t, "t.npy", "none of .npz, .csv, .parquet, .jsonl")
	run(atoms, signals, "--terms", "2", "--method", "none").WantError(t, "none")
	run("-", "-", two...).WantError(t, "standard input")
}
