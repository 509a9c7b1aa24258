package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
)

// rewrite copies the answers of a file to another .jsonl, applying change to each.
func rewrite(t *testing.T, from, to string, change func(j int, r *dataset.Result)) string {
	t.Helper()
	var b []byte
	for j, r := range answersOf(t, from) {
		change(j, &r)
		b = dataset.AppendJSONL(b, &r, false)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return to
}

// searched makes 200 answers to check, under an exact guarantee.
func searched(t *testing.T, dir string) (atoms, queries, answers string) {
	t.Helper()
	atoms, queries = vectorFile(t, dir, "a.npy", 1, 60, 12), vectorFile(t, dir, "q.npy", 2, 200, 12)
	answers = filepath.Join(dir, "r.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--method", "exact", "--out", answers).WantCode(t, cli.ExitOK)
	return atoms, queries, answers
}

func TestVerifyFindsTampering(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	others := func(r *dataset.Result) int64 {
		for id := int64(0); ; id++ {
			if !slices.Contains(r.Rows, id) {
				return id
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(r *dataset.Result)
		want   string
	}{
		{"other vector, score kept", func(r *dataset.Result) { r.Rows[1] = others(r) }, "query 17: vector"},
		{"vector twice", func(r *dataset.Result) { r.Rows[1] = r.Rows[0] }, "twice"},
		{"vector that is not there", func(r *dataset.Result) { r.Rows[2] = 60 }, "outside [0, 60)"},
		{"score", func(r *dataset.Result) { r.Scores[0] = math.Nextafter32(r.Scores[0], 9) * 1.0001 }, "scores"},
		{"float64 score", func(r *dataset.Result) { r.Scores64[1] += 1e-11 }, "in float64"},
		{"length", func(r *dataset.Result) { r.Rows, r.Scores, r.Scores64 = r.Rows[:2], r.Scores[:2], r.Scores64[:2] }, "2 vectors where 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := rewrite(t, answers, filepath.Join(t.TempDir(), "bad.jsonl"), func(j int, r *dataset.Result) {
				if j == 17 {
					c.change(r)
				}
			})
			r := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", bad)
			r.WantCode(t, cli.ExitWrong)
			if !strings.Contains(r.Out, c.want) || !strings.Contains(r.Out, "query 17") || !strings.Contains(r.Err, "1 of 200 answers are malformed") {
				t.Errorf("stdout %s\nstderr %s", r.Out, r.Err)
			}
		})
	}
}

// worsen replaces the best atom of some queries by the next one.
func worsen(t *testing.T, atoms, queries, answers, to string, every int) string {
	t.Helper()
	more := filepath.Join(filepath.Dir(to), "more.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k4", "--method", "exact", "--out", more, "--overwrite").WantCode(t, cli.ExitOK)
	longer := answersOf(t, more)
	return rewrite(t, answers, to, func(j int, r *dataset.Result) {
		if j%every == 0 {
			r.Rows, r.Scores, r.Scores64 = longer[j].Rows[1:], longer[j].Scores[1:], longer[j].Scores64[1:]
		}
	})
}

func TestVerifyJudgesByTheGuarantee(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	sure := worsen(t, atoms, queries, answers, filepath.Join(dir, "sure.jsonl"), 100) // 2 of 200 wrong
	bare := func(to string, every int) string {
		from := worsen(t, atoms, queries, answers, filepath.Join(dir, "x.jsonl"), every)
		return rewrite(t, from, filepath.Join(dir, to), func(_ int, r *dataset.Result) { r.Certificate, r.Guarantee, r.Exact = nil, "", false })
	}
	few, many := bare("few.jsonl", 100), bare("many.jsonl", 4)
	chance := []string{"--guarantee", "probabilistic"}
	for _, c := range []struct {
		name    string
		answers string
		args    []string
		code    int
		want    string
	}{
		{"exact by certificate", sure, nil, cli.ExitWrong, "exact"},
		{"delta cannot excuse an exact certificate", sure, []string{"--delta", ".5"}, cli.ExitWrong, "exact"},
		{"certain by flag", few, []string{"--guarantee", "certain"}, cli.ExitWrong, "certain"},
		{"nothing is stated", few, nil, cli.ExitWrong, "exact, as their file says nothing else"},
		{"delta as usual", few, chance, cli.ExitOK, "2 failures in 200 = 0.01; delta allows 0.01"},
		{"what is granted", few, chance, cli.ExitOK, "delta up to 0.01 (200 answers)"},
		{"compatible with delta, but strict", few, append(chance, "--strict-delta"), cli.ExitWrong, "binomial p"},
		{"incompatible with delta", many, chance, cli.ExitWrong, "50 failures in 200"},
		{"a greater delta", many, append(chance, "--delta", ".3"), cli.ExitOK, "delta allows 0.3"},
		{"a gap that is allowed", many, append(chance, "--strict-delta", "--epsilon", "1e3"), cli.ExitOK, "0 failures"},
		{"more is required", many, append(chance, "--epsilon", "1e3", "--require", "certain"), cli.ExitWrong, "200 of them grant more"},
		{"no promise at all", many, []string{"--guarantee", "heuristic", "--strict-delta"}, cli.ExitOK, "heuristic"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := thresher(t, append([]string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", c.answers}, c.args...)...)
			r.WantCode(t, c.code)
			if !strings.Contains(r.Out, c.want) {
				t.Errorf("report lacks %q:\n%s", c.want, r.Out)
			}
		})
	}
}

// TestVerifyLowersWhatIsGranted: flags lower what certificates may grant, and what exceeds them is wrong.
func TestVerifyLowersWhatIsGranted(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 40), vectorFile(t, dir, "q.npy", 2, 20, 40)
	answers := filepath.Join(dir, "r.jsonl")
	thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k2", "--basis", "raw", "--method", "strict", "--epsilon", ".5", "--out", answers).WantCode(t, cli.ExitOK)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cli.ExitOK, "epsilon up to 0.5 (20 answers)"},
		{[]string{"--epsilon", ".5", "--delta", ".01"}, cli.ExitOK, "wrong      0"},
		{[]string{"--epsilon", ".4"}, cli.ExitWrong, "grants epsilon 0.5 where at most 0.4 is allowed"},
		{[]string{"--require", "exact"}, cli.ExitWrong, "where exact is required"},
		{[]string{"--require", "probabilistic"}, cli.ExitOK, "wrong      0"},
		{[]string{"--require", "heuristic"}, cli.ExitInput, "none of exact, certain, probabilistic"},
	} {
		r := thresher(t, append([]string{"verify", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--answers", answers}, c.args...)...)
		r.WantCode(t, c.code)
		if !strings.Contains(r.Out+r.Err, c.want) {
			t.Errorf("%v: no %q:\n%s%s", c.args, c.want, r.Out, r.Err)
		}
	}
}

// TestVerifyTwoPromises: an answer whose guarantee is not that of its certificate is refused.
func TestVerifyTwoPromises(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 40), vectorFile(t, dir, "q.npy", 2, 20, 40)
	answers, other := filepath.Join(dir, "r.jsonl"), filepath.Join(dir, "o.jsonl")
	thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k2", "--method", "exact", "--out", answers).WantCode(t, cli.ExitOK)
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"method":"exact","guarantee":"exact"`, `"method":"exact","guarantee":"heuristic"`, `query 0: the answer's guarantee is "exact", that of its certificate "heuristic"`},
		{`"complete":true`, `"complete":false`, "query 0: the answer says that it is not complete"},
	} {
		edited := strings.Replace(string(text), c.from, c.to, 1)
		if err := os.WriteFile(other, []byte(edited), 0o600); err != nil || edited == string(text) {
			t.Fatal(c.from, err)
		}
		thresher(t, "verify", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--answers", other).WantError(t, "o.jsonl", c.want)
	}
}

// TestVerifyFilesThatState: an npz or Parquet file states the guarantee, delta and gap of its answers.
func TestVerifyFilesThatState(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 40), vectorFile(t, dir, "q.npy", 2, 20, 40)
	certificates := filepath.Join(dir, "c.jsonl")
	for _, name := range []string{"r.npz", "r.parquet"} {
		out := filepath.Join(dir, name)
		thresher(t, "search", "--vectors", atoms, "--queries", queries, "--metric", "ip", "-k2", "--basis", "raw", "--method", "strict",
			"--delta", ".003", "--epsilon", "3", "--out", out, "--certificates", certificates, "--overwrite").WantCode(t, cli.ExitOK)
		for _, c := range []struct {
			args []string
			code int
			want string
		}{
			{nil, cli.ExitOK, "by their file"},
			{nil, cli.ExitOK, "epsilon up to 3 (20 answers)"},
			{[]string{"--epsilon", "2"}, cli.ExitWrong, "grants epsilon 3 where at most 2 is allowed"},
			{[]string{"--certificates", certificates}, cli.ExitOK, "probabilistic (order)"},
		} {
			r := thresher(t, append([]string{"verify", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--answers", out}, c.args...)...)
			if r.WantCode(t, c.code); !strings.Contains(r.Out, c.want) {
				t.Errorf("%s %v: no %q:\n%s", name, c.args, c.want, r.Out)
			}
		}
	}
}

// TestVerifyFindsWhatTiesHide: copies of one row do not stand for better rows.
func TestVerifyFindsWhatTiesHide(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[2]\n[3]\n[2]\n[2]\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1]\n[1]\n"))
	for name, c := range map[string]struct {
		ids  string
		code int
	}{"best.csv": {"0,1\n0,3\n1,1\n1,0\n", cli.ExitOK}, "ties.csv": {"0,1\n0,3\n1,2\n1,3\n", cli.ExitWrong}} {
		answers := clitest.WriteFile(t, dir, name, []byte("query,id\n"+c.ids))
		r := thresher(t, "verify", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--answers", answers)
		r.WantCode(t, c.code)
		if c.code == cli.ExitWrong && !strings.Contains(r.Out, "query 1: lacks vector 1, better by 1 (exact)") {
			t.Error(r.Out)
		}
	}
}

func TestVerifyReportAsJSON(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	bad := worsen(t, atoms, queries, answers, filepath.Join(dir, "bad.jsonl"), 50)
	r := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", bad, "--json")
	r.WantCode(t, cli.ExitWrong)
	var v verifyReport
	if err := json.Unmarshal([]byte(r.Out), &v); err != nil {
		t.Fatal(err)
	}
	if v.Queries != 200 || v.Checked != 200 || v.Wrong != 4 || v.WrongSure != 4 || v.Malformed != 0 || v.K != 3 || v.Metric != "ip" ||
		v.Neighbourhoods < 1 || v.Neighbourhoods > 4 || v.WorstGap <= 0 || len(v.Defects) != 4 || v.Guarantees["exact"] != 200 {
		t.Errorf("report %+v", v)
	}
}

func TestVerifySample(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	checked := func(args ...string) verifyReport {
		r := thresher(t, append([]string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--json"}, args...)...)
		r.WantCode(t, cli.ExitOK)
		var v verifyReport
		if err := json.Unmarshal([]byte(r.Out), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		sample string
		want   int64
	}{{"0", 200}, {"1", 1}, {"37", 37}, {"200", 200}, {"500", 200}} {
		if v := checked("--sample", c.sample, "--chunk", "16"); v.Checked != c.want {
			t.Errorf("--sample %s checked %d answers, want %d", c.sample, v.Checked, c.want)
		}
	}

	// Every query must be drawn sometimes, and half of them by each seed.
	seen := make([]int, 40)
	for seed := range uint64(200) {
		in := drawSample(40, 20, seed)
		count := 0
		for j := range seen {
			if in(int64(j)) {
				seen[j]++
				count++
			}
		}
		if count != 20 {
			t.Fatalf("seed %d draws %d of 40, want 20", seed, count)
		}
	}
	for j, n := range seen {
		if n < 60 || n > 140 { // 5.6 standard deviations: false alarm below 1e-6 for all 40
			t.Errorf("query %d is drawn by %d of 200 seeds, expected 100", j, n)
		}
	}
}

func TestVerifyCountsMustAgree(t *testing.T) {
	dir := t.TempDir()
	atoms, _, answers := searched(t, dir)
	fewer, more := vectorFile(t, dir, "fewer.npy", 2, 150, 12), vectorFile(t, dir, "more.npy", 2, 250, 12)
	for queries, want := range map[string]string{fewer: "200 answers for the 150 queries of ", more: "200 answers for the 250 queries of "} {
		thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--chunk", "64").WantError(t, want+queries)
	}
}

// TestVerifyNamesTheLaw: for certificates that name a law, and for earlier ones.
func TestVerifyNamesTheLaw(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 40), vectorFile(t, dir, "q.npy", 2, 3, 40)
	answers := filepath.Join(dir, "r.jsonl")
	r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k1", "--basis", "raw", "--method", "strict", "--out", answers)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Err, "probabilistic (order): each wrong") {
		t.Errorf("the summary does not name the law:\n%s", r.Err)
	}
	former := rewrite(t, answers, filepath.Join(dir, "former.jsonl"), func(_ int, r *dataset.Result) {
		r.Certificate = bytes.Replace(r.Certificate, []byte(`"law":"order",`), nil, 1)
	})
	for path, want := range map[string]string{answers: "probabilistic (order)\n", former: "probabilistic\n"} {
		r := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", path)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, want) {
			t.Errorf("%s: not %q:\n%s", filepath.Base(path), want, r.Out)
		}
	}
}

func TestVerifyBadInput(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	wide := vectorFile(t, dir, "wide.npy", 3, 5, 13)
	file := func(name, content string) string { return clitest.WriteFile(t, dir, name, []byte(content)) }
	certificate := `{"query":0,"ids":[1],"scores":[1],"certificate":{"guarantee":%s}}` + "\n"
	for _, c := range []struct {
		atoms, queries, answers string
		want                    []string
	}{
		{wide, queries, answers, []string{"wide.npy", "13", "q.npy", "12"}},
		{atoms, wide, answers, []string{"wide.npy", "13", "a.npy", "12"}},
		{atoms, queries, filepath.Join(dir, "none.npz"), []string{"none.npz", "no such file"}},
		{atoms, queries, file("e.jsonl", ""), []string{"e.jsonl", "empty"}},
		{atoms, queries, file("s.jsonl", `{"query":3,"ids":[1],"scores":[1]}`+"\n"), []string{"s.jsonl", "query 3", "order"}},
		{atoms, queries, file("g.jsonl", fmt.Sprintf(certificate, `"maybe"`)), []string{"g.jsonl", "maybe"}},
		{atoms, queries, file("t.jsonl", fmt.Sprintf(certificate, `7`)), []string{"t.jsonl", "certificate of query 0"}},
		{atoms, queries, file("l.jsonl", fmt.Sprintf(certificate, `"probabilistic","law":"jungle"`)), []string{"l.jsonl", "jungle"}},
		{atoms, queries, file("v.jsonl", `{"query":0,"ids":[],"scores":[]}`+"\n"), []string{"v.jsonl", "-k"}},
	} {
		t.Run(filepath.Base(c.answers), func(t *testing.T) {
			thresher(t, "verify", "--vectors", c.atoms, "--metric", "ip", "--queries", c.queries, "--answers", c.answers).WantError(t, c.want...)
		})
	}
	short := file("c.jsonl", `{"query":0,"certificate":{"guarantee":"exact"}}`+"\n")
	r := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--certificates", short)
	r.WantError(t, "c.jsonl", "query 1")
}

func TestVerifyOnCollections(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 200, 40), vectorFile(t, dir, "q.npy", 2, 30, 40)
	built, out := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "r.parquet")
	thresher(t, "build", "--vectors", atoms, "--metric", "l2", "--out", built).WantCode(t, cli.ExitOK)
	thresher(t, "search", "--vectors", built, "--queries", queries, "--out", out).WantCode(t, cli.ExitOK)
	for _, args := range [][]string{{"--vectors", built}, {"--vectors", atoms, "--metric", "l2"}} {
		r := thresher(t, append([]string{"verify", "--queries", queries, "--answers", out, "--strict-delta"}, args...)...)
		r.WantCode(t, cli.ExitOK)
		if !strings.Contains(r.Out, "l2") {
			t.Error(r.Out)
		}
	}
	// Squared distances are not inner products.
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out).WantCode(t, cli.ExitWrong)
}

// TestVerifyEpsilonOfDistances: a gap between squared distances is twice that between search
// scores.
func TestVerifyEpsilonOfDistances(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[10]\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[4]\n"))
	answers := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[1],"scores":[36]}`+"\n")) // 16 would be correct
	for epsilon, code := range map[string]int{"19.9": cli.ExitWrong, "20.1": cli.ExitOK} {
		thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", queries, "--answers", answers,
			"--guarantee", "certain", "--epsilon", epsilon).WantCode(t, code)
	}
}

// TestVerifyForeignMatrices: ids as other programs save them are checked like thresher's own.
func TestVerifyForeignMatrices(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	npy := func(name string, change int64) string {
		dict := "{'descr': '<i8', 'fortran_order': False, 'shape': (200, 3)}"
		b := append([]byte("\x93NUMPY\x01\x00"), byte(len(dict)), 0)
		b = append(b, dict...)
		for j, r := range answersOf(t, answers) {
			if j == 17 {
				r.Rows[2] += change
			}
			for _, id := range r.Rows {
				b = binary.LittleEndian.AppendUint64(b, uint64(id))
			}
		}
		return clitest.WriteFile(t, dir, name, b)
	}
	for _, c := range []struct {
		answers string
		code    int
	}{{npy("good.npy", 0), cli.ExitOK}, {npy("bad.npy", 60), cli.ExitWrong}} {
		thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", c.answers, "--guarantee", "exact").WantCode(t, c.code)
	}
}

// TestVerifyNamedAtoms: answers that name atoms by a column are checked, and names that are not
// one atom's are errors.
func TestVerifyNamedAtoms(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1,0]\n[0,1]\n"))
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"id":"a","key":20,"v":[3,1]}`+"\n"+`{"id":"b","key":10,"v":[2,4]}`+"\n"+`{"id":"c","key":30,"v":[1,2]}`+"\n"))
	twins := clitest.WriteFile(t, dir, "t.jsonl", []byte(`{"id":"a","v":[3,1]}`+"\n"+`{"id":"a","v":[2,4]}`+"\n"))
	bare := clitest.WriteFile(t, dir, "bare.jsonl", []byte("[3,1]\n[2,4]\n[1,2]\n"))
	built := filepath.Join(dir, "a.thresher")
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--out", built).WantCode(t, cli.ExitOK)
	builtBare := filepath.Join(dir, "bare.thresher")
	thresher(t, "build", "--vectors", bare, "--metric", "ip", "--out", builtBare).WantCode(t, cli.ExitOK)
	qdrant := func(ids ...string) string {
		text := `{"result":[[{"id":` + ids[0] + `,"score":3},{"id":` + ids[1] + `,"score":2}],[{"id":` + ids[2] + `,"score":4},{"id":` + ids[3] + `,"score":2}]]}`
		return clitest.WriteFile(t, dir, strings.ReplaceAll(strings.Join(ids, ""), `"`, "_")+".json", []byte(text))
	}
	texts := []string{`"a"`, `"b"`, `"b"`, `"c"`}
	distances := []byte("query_id,distance,id\n0,-3,a\n0,-2,b\n1,-2,c\n1,-4,b\n")
	for _, c := range []struct {
		name, atoms, answers string
		args                 []string
		code                 int
		want                 string // on stderr, or stdout for exitOK
	}{
		{"texts", atoms, qdrant(texts...), nil, cli.ExitOK, "2 of 2 answers"},
		{"integers of a column", atoms, qdrant("20", "10", "10", "30"), []string{"--ids", "key"}, cli.ExitOK, "2 of 2 answers"},
		{"row numbers", atoms, qdrant("0", "1", "1", "2"), nil, cli.ExitOK, "2 of 2 answers"},
		{"wrong vector", atoms, qdrant(`"c"`, `"b"`, `"b"`, `"c"`), nil, cli.ExitWrong, "lacks vector 0"},
		{"unknown", atoms, qdrant(`"a"`, `"x"`, `"b"`, `"c"`), nil, cli.ExitInput, `query 0: rank 2: no vector of ` + atoms + ` has the id "x"`},
		{"of two vectors", twins, qdrant(texts...), nil, cli.ExitInput, `several vectors of ` + twins + ` have the id "a"`},
		{"no ids", bare, qdrant(texts...), nil, cli.ExitInput, "has no column id; --ids names"},
		{"no column", atoms, qdrant(texts...), []string{"--ids", "isbn"}, cli.ExitInput, "isbn"},
		{"collection", built, qdrant(texts...), nil, cli.ExitOK, "2 of 2 answers"},
		{"collection without ids", builtBare, qdrant(texts...), nil, cli.ExitInput, "has no column id"},
		{"column of a collection", built, qdrant(texts...), []string{"--ids", "key"}, cli.ExitInput, "prepared collection"},
		{"scores of another scale", atoms, clitest.WriteFile(t, dir, "d.csv", distances), nil, cli.ExitOK, "negative inner products; 0 of 4"},
		{"one that is not", atoms, clitest.WriteFile(t, dir, "o.csv", []byte("query_id,distance,id\n0,-3,a\n0,-2,b\n1,-1,c\n1,-4,b\n")), nil, cli.ExitWrong, "query 1: states a score that is not its vector's"},
		{"a scale that is not known", atoms, clitest.WriteFile(t, dir, "s.csv", []byte("query_id,distance,id\n0,-33,a\n0,-22,b\n1,-22,c\n1,-44,b\n")), nil, cli.ExitOK, "on a scale that is not known"},
		{"scores ignored", atoms, clitest.WriteFile(t, dir, "d.csv", distances), []string{"--ignore-scores"}, cli.ExitOK, "2 of 2 answers"},
		{"a query without hits", atoms, clitest.WriteFile(t, dir, "m.csv", []byte("query,id\n1,b\n")), nil, cli.ExitWrong, "0 vectors where 1 were asked for"},
		{"a query beyond", atoms, clitest.WriteFile(t, dir, "y.csv", []byte("query,id\n2,a\n")), nil, cli.ExitInput, "a row is of query 2, and there are 2 queries"},
		{"texts that are row numbers", bare, qdrant(`"0"`, `"1"`, `"1"`, `"2"`), nil, cli.ExitOK, "2 of 2 answers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"verify", "--vectors", c.atoms, "--metric", "ip", "--queries", queries, "--answers", c.answers, "--guarantee", "exact"}
			r := thresher(t, append(args, c.args...)...)
			r.WantCode(t, c.code)
			if !strings.Contains(r.Out+r.Err, c.want) {
				t.Errorf("stdout %s\nstderr %s\nlack %q", r.Out, r.Err, c.want)
			}
		})
	}
}

// shorten returns a change of the answer to query j, which then lacks its best atom.
func shorten(j int) func(int, *dataset.Result) {
	return func(i int, r *dataset.Result) {
		if i == j {
			r.Rows, r.Scores, r.Scores64 = r.Rows[1:], r.Scores[1:], r.Scores64[1:]
		}
	}
}

// TestVerifyExcludesSelf: the query that an answer may not contain is found in every chunk, and
// in a sample.
func TestVerifyExcludesSelf(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 60, 12)
	out := filepath.Join(dir, "r.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", atoms, "--exclude-self", "-k3", "--out", out).WantCode(t, cli.ExitOK)
	selfish := rewrite(t, out, filepath.Join(dir, "selfish.jsonl"), func(j int, r *dataset.Result) {
		if j == 40 {
			r.Rows[0], r.Scores, r.Scores64 = 40, nil, nil
		}
	})
	for _, args := range [][]string{{"--chunk", "7"}, {"--chunk", "7", "--sample", "59"}} {
		args = append([]string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", atoms, "--exclude-self", "--ignore-scores"}, args...)
		thresher(t, append(args, "--answers", out)...).WantCode(t, cli.ExitOK)
		r := thresher(t, append(args, "--answers", selfish)...)
		if r.WantCode(t, cli.ExitWrong); !strings.Contains(r.Out, "query 40: vector 40 at rank 1 is the query itself") {
			t.Error(r.Out)
		}
	}
}

// TestVerifyRefusesOtherQueries: with --exclude-self query j is atom j, as search has it, and the
// first query that is not is named. Otherwise answers that lack an atom, which they were not
// allowed, would be right.
func TestVerifyRefusesOtherQueries(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	dir := t.TempDir()
	rows, _, _ := farVectors(1000, 60, 1, 12, 1)
	shifted := slices.Clone(rows)
	shifted[41*12+3]++
	atoms, others := clitest.WriteFile(t, dir, "a.npy", npyOf64(rows, 12)), clitest.WriteFile(t, dir, "o.npy", npyOf64(shifted, 12))
	more := clitest.WriteFile(t, dir, "m.npy", npyOf64(slices.Concat(rows, rows[:12]), 12))
	for _, metric := range []string{"ip", "cosine", "l2"} {
		prepared := filepath.Join(dir, metric+".thresher")
		thresher(t, "build", "--vectors", atoms, "--metric", metric, "--out", prepared).WantCode(t, cli.ExitOK)
		for _, from := range []string{atoms, prepared} {
			answers := func(queries, name string, flags ...string) string {
				out := filepath.Join(dir, name)
				args := append([]string{"search", "--vectors", from, "--metric", metric, "--queries", queries, "-k3", "--out", out, "--overwrite"}, flags...)
				thresher(t, args...).WantCode(t, cli.ExitOK)
				return out
			}
			own, theirs, longer := answers(atoms, "r.jsonl", "--exclude-self"), answers(others, "o.jsonl"), answers(more, "m.jsonl")
			verify := []string{"verify", "--vectors", from, "--metric", metric, "--exclude-self", "--chunk", "7"}
			thresher(t, append(verify, "--queries", atoms, "--answers", own)...).WantCode(t, cli.ExitOK)
			for _, flags := range [][]string{nil, {"--sample", "1"}} {
				verify := append(verify, flags...)
				thresher(t, append(verify, "--queries", others, "--answers", theirs, "--ignore-scores")...).WantError(t, "--exclude-self", "query 41 of", "o.npy is not vector 41 of", from)
				thresher(t, append(verify, "--queries", more, "--answers", longer)...).WantError(t, "--exclude-self", "m.npy has more queries than the 60 vectors of", from)
			}
		}
	}
}
