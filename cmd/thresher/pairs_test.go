package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// pairRows returns the rows of a CSV file, without the header.
func pairRows(t *testing.T, path, header string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(clitest.ReadFile(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns, wide := strings.CutSuffix(strings.Join(rows[0], ","), ",score64")
	if columns != header || wide != strings.Contains(header, "score") {
		t.Fatalf("%s has the columns %v, want %s", path, rows[0], header)
	}
	for i, row := range rows[1:] {
		if !wide {
			break
		}
		last := len(row) - 1
		score, err := strconv.ParseFloat(row[last], 64)
		if err != nil || strconv.FormatFloat(float64(float32(score)), 'f', -1, 32) != row[2] {
			t.Fatalf("%s: row %v: score64 is not the score before it is rounded (%v)", path, row, err)
		}
		rows[i+1] = row[:last]
	}
	return rows[1:]
}

// nearRows returns rows of which every fourth is a duplicate of another, and some are zero.
func nearRows(seed uint64, n, dim int) []float32 {
	rows := gaussian(seed, n*dim)
	for i := 0; i < n; i += 4 {
		copy(rows[i*dim:(i+1)*dim], rows[(i*i/7%n)*dim:])
	}
	clear(rows[5*dim : 6*dim])
	return rows
}

// near returns the pairs at most this far apart, as text.
func near(a, b []float32, dim int, most float64) (pairs [][]string) {
	self := b == nil
	if self {
		b = a
	}
	for i := range len(a) / dim {
		for j := range len(b) / dim {
			far := 0.
			for k := range dim {
				d := float64(a[i*dim+k]) - float64(b[j*dim+k])
				far += d * d
			}
			if far <= most && (!self || i < j) {
				pairs = append(pairs, []string{strconv.Itoa(i), strconv.Itoa(j), strconv.FormatFloat(float64(float32(far)), 'f', -1, 32)})
			}
		}
	}
	return pairs
}

func pairsSummaryOf(t *testing.T, r clitest.Result) (s pairsSummary) {
	t.Helper()
	r.WantCode(t, cli.ExitOK)
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
		t.Fatalf("%v: %s", err, r.Out)
	}
	return s
}

func TestPairs(t *testing.T) {
	const n, dim = 400, 12
	dir := t.TempDir()
	rows := nearRows(1, n, dim)
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(rows, dim))
	out, components := filepath.Join(dir, "p.csv"), filepath.Join(dir, "c.csv")
	args := []string{"pairs", "--vectors", atoms, "--metric", "l2", "--max-distance", "5", "--out", out, "--components", components}
	s := pairsSummaryOf(t, thresher(t, append(args, "--json")...))
	want := near(rows, nil, dim, 5)
	if len(want) < 100 {
		t.Fatalf("%d pairs", len(want))
	}
	if d := cmp.Diff(want, pairRows(t, out, "a,b,score")); d != "" {
		t.Error(d)
	}
	var root [n]int // the least row of each component
	for i := range root {
		root[i] = i
	}
	var counts [n]uint32
	for _, p := range want {
		a, _ := strconv.Atoi(p[0])
		b, _ := strconv.Atoi(p[1])
		counts[a]++
		counts[b]++
		x, y := root[a], root[b]
		for i := range root {
			if root[i] == x || root[i] == y {
				root[i] = min(x, y)
			}
		}
	}
	var members [][]string
	size, kept := map[int]int{}, 0
	for _, r := range root {
		size[r]++
	}
	for i, r := range root {
		members = append(members, []string{strconv.Itoa(i), strconv.Itoa(r), strconv.Itoa(size[r]), strconv.FormatBool(r == i)})
		if r == i {
			kept++
		}
	}
	if d := cmp.Diff(members, pairRows(t, components, "row,component,size,keep")); d != "" {
		t.Error(d)
	}
	if s.Pairs != int64(len(want)) || s.Atoms != n || s.Rows != n || s.RowsExact != n || s.Guarantee != "exact" || s.Pulls == 0 ||
		s.PairsPerRow.Max != slices.Max(counts[:]) || s.Components.Count != int64(kept) || s.Components.Surplus != int64(n-kept) {
		t.Errorf("summary %+v", s)
	}
	if math.Abs(s.Expected-float64(s.Pairs)) > float64(s.Pairs)/2 {
		t.Errorf("%g pairs expected of %d", s.Expected, s.Pairs)
	}
	for _, left := range []string{out + ".progress", out + ".spool"} {
		if clitest.Exists(left) {
			t.Errorf("%s was left behind", left)
		}
	}

	thresher(t, args...).WantError(t, "p.csv", "--overwrite")
	r := thresher(t, append(args, "--overwrite")...)
	r.WantCode(t, cli.ExitOK)
	for _, text := range []string{fmt.Sprintf("%d that are at most 5 apart", len(want)), "exact: no pair is missing", "p.csv, "} {
		if !strings.Contains(r.Err, text) {
			t.Errorf("no %q in\n%s", text, r.Err)
		}
	}
}

// TestPairsOfTwoFiles: --with, with ids in both, one of them a pipe.
func TestPairsOfTwoFiles(t *testing.T) {
	const n, m, dim = 150, 90, 8
	dir := t.TempDir()
	a, b := nearRows(1, n, dim), nearRows(2, m, dim)
	copy(b[:30*dim], a[50*dim:])
	lines := func(rows []float32, prefix string) []byte {
		var text bytes.Buffer
		for i := range len(rows) / dim {
			vector, _ := json.Marshal(rows[i*dim : (i+1)*dim])
			fmt.Fprintf(&text, `{"id":"%s%d","v":%s}`+"\n", prefix, i, vector)
		}
		return text.Bytes()
	}
	atoms := clitest.WriteFile(t, dir, "a.jsonl", lines(a, "x"))
	out, components := filepath.Join(dir, "p.csv"), filepath.Join(dir, "c.csv")
	want := near(a, b, dim, 4)
	if len(want) < 30 {
		t.Fatalf("%d pairs", len(want))
	}
	for i, p := range want {
		want[i] = append(p, "x"+p[0], "y"+p[1])
	}
	r := thresherWith(t, t.Context(), string(lines(b, "y")), "pairs", "--vectors", atoms, "--with", "-", "--metric", "l2", "--max-distance", "4",
		"--out", out, "--components", components, "--json", "--chunk", "7")
	s := pairsSummaryOf(t, r)
	if d := cmp.Diff(want, pairRows(t, out, "a,b,score,a_id,b_id")); d != "" {
		t.Error(d)
	}
	members := pairRows(t, components, "side,id,row,component,size,keep")
	if len(members) != n+m || members[50][0] != "a" || members[n][0] != "b" || members[n+3][1] != "y3" || members[n+3][2] != "3" {
		t.Errorf("%v", members)
	}
	if got := members[n][3]; got != members[50][3] { // row 0 of b is row 50 of a
		t.Errorf("row 0 of b is in component %s, row 50 of a in %s", got, members[50][3])
	}
	if s.Rows != m || s.PairsPerRowWith == nil || s.Components.Count == 0 {
		t.Errorf("summary %+v", s)
	}
}

// TestPairsFormats: every format is written; --max-pairs and --method matter.
func TestPairsFormats(t *testing.T) {
	dir := t.TempDir()
	rows := nearRows(1, 300, 16)
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(rows, 16))
	args := []string{"pairs", "--vectors", atoms, "--metric", "cosine", "--min-score", ".6"}
	for pairs, components := range map[string]string{"p.parquet": "c.parquet", "p.jsonl": "c.jsonl", "p.npz": "c.npz", "p.csv": "c.npy"} {
		r := thresher(t, append(args, "--out", filepath.Join(dir, pairs), "--components", filepath.Join(dir, components))...)
		r.WantCode(t, cli.ExitOK)
		for _, name := range []string{pairs, components} {
			if len(clitest.ReadFile(t, filepath.Join(dir, name))) < 100 {
				t.Errorf("%s is too short", name)
			}
		}
	}
	certain := pairRows(t, filepath.Join(dir, "p.csv"), "a,b,score")
	for _, method := range []string{"exact", "adaptive", "auto"} {
		out := filepath.Join(dir, method+".csv")
		thresher(t, append(args, "--method", method, "--delta", "1e-9", "--out", out)...).WantCode(t, cli.ExitOK)
		if d := cmp.Diff(certain, pairRows(t, out, "a,b,score")); d != "" {
			t.Errorf("%s: %s", method, d)
		}
	}
}

// TestPairsTooMany: a limit below the estimate refuses, one above it stops the run, and a greater
// one continues it.
func TestPairsTooMany(t *testing.T) {
	const n, copies, dim = 2000, 40, 8
	dir := t.TempDir()
	rows := gaussian(3, n*dim)
	for i := range copies {
		copy(rows[(1500+i)*dim:], rows[:dim])
	}
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(rows, dim))
	out, whole := filepath.Join(dir, "p.csv"), filepath.Join(dir, "whole.csv")
	args := func(out string, more ...string) []string {
		return append([]string{"pairs", "--vectors", atoms, "--metric", "cosine", "--min-score", "1", "--chunk", "50", "--out", out}, more...)
	}
	thresher(t, "pairs", "--vectors", atoms, "--metric", "ip", "--min-score=-1e9", "--out", out, "--max-pairs", "100000").
		WantError(t, "--max-pairs 100000", "by a sample of 256 vectors about 2e+06 pairs", "a.npy", "--min-score")
	if clitest.Exists(out + ".progress") {
		t.Fatal("a refused run has begun")
	}
	s := pairsSummaryOf(t, thresher(t, args(whole, "--json")...))
	thresher(t, args(out, "--max-pairs", "500")...).WantError(t, "--max-pairs 500", "score at least 1", "of 2000 rows", "--resume", "rows are answered and safe")
	if !clitest.Exists(out+".progress") || clitest.Exists(out) {
		t.Fatal("the run that was stopped cannot be resumed, or has written pairs")
	}
	thresher(t, args(out, "--max-pairs", "900", "--resume")...).WantCode(t, cli.ExitOK)
	if s.Pairs != copies*(copies+1)/2 || !bytes.Equal(clitest.ReadFile(t, out), clitest.ReadFile(t, whole)) {
		t.Errorf("%d pairs, or the files differ", s.Pairs)
	}
}

// TestPairsForeseen: with another file the first rows tell that there will be too many.
func TestPairsForeseen(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 50, 8)
	with := vectorFile(t, dir, "b.npy", 2, 1000, 8)
	r := thresher(t, "pairs", "--vectors", atoms, "--metric", "ip", "--with", with, "--min-score=-100", "--out", filepath.Join(dir, "p.csv"), "--chunk", "20", "--max-pairs", "30000")
	r.WantCode(t, cli.ExitInput)
	for _, text := range []string{`the run will stop at --max-pairs" pairs="about 5e+04" rows=20`, "among the first", "of 1000 rows"} {
		if !strings.Contains(r.Err, text) {
			t.Errorf("no %q in\n%s", text, r.Err)
		}
	}
}

// TestPairsResumeAfterKills kills runs again and again until one ends: the outputs are those of an
// undisturbed run.
func TestPairsResumeAfterKills(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(nearRows(1, 600, 24), 24))
	with := clitest.WriteFile(t, dir, "b.npy", npy(nearRows(2, 500, 24), 24))
	for name, more := range map[string][]string{"p.parquet": nil, "p.npz": nil, "p.csv": {"--with", with}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole, out := filepath.Join(dir, "whole-"+name), filepath.Join(dir, name)
			args := func(out string) []string {
				return append([]string{"pairs", "--vectors", atoms, "--metric", "l2", "--max-distance", "30", "--out", out, "--components", out + ".c.parquet"}, more...)
			}
			thresher(t, args(whole)...).WantCode(t, cli.ExitOK)
			kills := 0
			next := args(out)
			for kills < 3 {
				cmd := child(t, func(p *os.Process) { p.Kill() }, next...)
				if cmd.ProcessState.Exited() || !clitest.Exists(out+".progress") || clitest.Exists(out) {
					t.Fatalf("the child was not killed on its way: %v", cmd.ProcessState)
				}
				appendTo(t, out+".spool", []byte("torn"))
				next = append(args(out), "--resume")
				kills++
			}
			thresher(t, args(out)...).WantError(t, "--resume", "--overwrite")
			thresher(t, append(args(out), "--resume", "--max-distance", "31")...).WantError(t, "other vectors or settings", "--overwrite")
			s := pairsSummaryOf(t, thresher(t, append(args(out), "--resume", "--json")...))
			if s.Resumed == 0 {
				t.Error("nothing was resumed")
			}
			for _, suffix := range []string{"", ".c.parquet"} {
				if !bytes.Equal(clitest.ReadFile(t, out+suffix), clitest.ReadFile(t, whole+suffix)) {
					t.Errorf("%s%s differs from that of an uninterrupted run", name, suffix)
				}
			}
			if clitest.Exists(out + ".spool") {
				t.Error("the spool was left behind")
			}
			again := pairsSummaryOf(t, thresher(t, append(args(out), "--resume", "--json")...))
			if again.Pairs != s.Pairs || again.Resumed != again.Rows || again.PairsPerRow != nil || !bytes.Equal(clitest.ReadFile(t, out), clitest.ReadFile(t, whole)) {
				t.Errorf("the finished run, given again, says %+v", again)
			}
			if err := os.Remove(out + ".c.parquet"); err != nil {
				t.Fatal(err)
			}
			thresher(t, append(args(out), "--resume")...).WantError(t, "says that all is done", out+".c.parquet", "--overwrite")
		})
	}
}

func TestPairsStopCleanly(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 2000, 40)
	out := filepath.Join(dir, "p.parquet")
	cmd := child(t, func(p *os.Process) { p.Signal(syscall.SIGINT) }, "pairs", "--vectors", atoms, "--metric", "ip", "--min-score", "10", "--out", out)
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitInterrupted {
		t.Fatalf("exit code %d, want %d", code, cli.ExitInterrupted)
	}
	thresher(t, "pairs", "--vectors", atoms, "--metric", "ip", "--min-score", "10", "--out", out, "--resume").WantCode(t, cli.ExitOK)
}

func TestPairsBadInput(t *testing.T) {
	dir := t.TempDir()
	good := vectorFile(t, dir, "good.npy", 1, 20, 4)
	wide := vectorFile(t, dir, "wide.npy", 1, 20, 5)
	none := clitest.WriteFile(t, dir, "none.npy", npy(nil, 4))
	nan := gaussian(1, 40)
	nan[4*3+2] = float32(math.NaN())
	holes := clitest.WriteFile(t, dir, "nan.npy", npy(nan, 4))
	far := gaussian(1, 40)
	far[4*7] = 3e38
	long := clitest.WriteFile(t, dir, "long.npy", npy(far, 4))
	there := clitest.WriteFile(t, dir, "there.csv", []byte("x"))
	prepared := filepath.Join(dir, "prepared.thresher")
	thresher(t, "build", "--vectors", good, "--metric", "ip", "--out", prepared).WantCode(t, cli.ExitOK)
	before := clitest.FolderOf(t, dir)
	out := filepath.Join(dir, "p.csv")
	pairs := func(more ...string) []string { return append([]string{"pairs"}, more...) }
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"no vectors", pairs("--min-score", "1", "--out", out), []string{"--vectors"}},
		{"no limit", pairs("--vectors", good, "--metric", "ip", "--out", out), []string{"--min-score"}},
		{"NaN limit", pairs("--vectors", good, "--metric", "ip", "--min-score", "nan", "--out", out), []string{"--min-score NaN"}},
		{"infinite limit", pairs("--vectors", good, "--metric", "ip", "--min-score", "inf", "--out", out), []string{"--min-score +Inf"}},
		{"distance below 0", pairs("--vectors", good, "--metric", "l2", "--max-distance", "-1", "--out", out), []string{"--max-distance -1: squared distances are at least 0"}},
		{"cosine above 1", pairs("--vectors", good, "--metric", "cosine", "--min-score", "1.5", "--out", out), []string{"--min-score 1.5: cosines are at most 1"}},
		{"no output", pairs("--vectors", good, "--metric", "ip", "--min-score", "1"), []string{"--out"}},
		{"output of unknown form", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", filepath.Join(dir, "p.ivecs")), []string{"p.ivecs", ".parquet"}},
		{"output compressed", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", filepath.Join(dir, "p.csv.gz")), []string{".gz"}},
		{"output in no folder", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", filepath.Join(dir, "none", "p.csv")), []string{"no folder"}},
		{"output exists", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", there), []string{"there.csv", "--overwrite"}},
		{"components exist", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", out, "--components", there), []string{"there.csv", "--overwrite"}},
		{"components of unknown form", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", out, "--components", filepath.Join(dir, "c.ivecs")), []string{"--components", "c.ivecs", ".npy"}},
		{"one file for both", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", out, "--components", out), []string{"pairs and components"}},
		{"output is an input", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", good, "--overwrite"), []string{"good.npy is an input"}},
		{"nothing to resume", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", there, "--resume"), []string{"nothing to resume"}},
		{"resume and force", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", out, "--resume", "--overwrite"), []string{"exclude"}},
		{"both from stdin", pairs("--vectors", "-", "--metric", "ip", "--with", "-", "--min-score", "1", "--out", out), []string{"only one"}},
		{"negative limit of pairs", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", out, "--max-pairs", "-1"), []string{"--max-pairs -1"}},
		{"another dimension", pairs("--vectors", good, "--metric", "ip", "--with", wide, "--min-score", "1", "--out", out), []string{"good.npy", "dimension 4", "wide.npy", "dimension 5"}},
		{"NaN among the others", pairs("--vectors", good, "--metric", "ip", "--with", holes, "--min-score", "1", "--out", out), []string{"nan.npy", "row 3", "column 2"}},
		{"a row too long", pairs("--vectors", good, "--metric", "ip", "--with", long, "--min-score", "1", "--out", out), []string{"long.npy: row 7 (0-based)", "overflow"}},
		{"a collection of others", pairs("--vectors", good, "--metric", "ip", "--with", prepared, "--min-score", "1", "--out", out), []string{"--with", "prepared.thresher", "--vectors"}},
		{"no others", pairs("--vectors", good, "--metric", "ip", "--with", none, "--min-score", "1", "--out", out), []string{"none.npy", "no rows"}},
		{"a method of the k best", pairs("--vectors", good, "--metric", "ip", "--min-score", "1", "--out", out, "--method", "banditmips"), []string{"--method", "pairs takes no banditmips"}},
	} {
		t.Run(c.name, func(t *testing.T) { thresher(t, c.args...).WantError(t, c.want...) })
	}
	if d := cmp.Diff(before, clitest.FolderOf(t, dir)); d != "" {
		t.Errorf("a refused command changed files: %s", d)
	}
}
