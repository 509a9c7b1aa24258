package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// answersOf reads a file of answers.
func answersOf(t *testing.T, path string) []dataset.Result {
	t.Helper()
	r, err := dataset.OpenResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []dataset.Result
	for {
		x, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
}

func summaryOf(t *testing.T, r clitest.Result) summary {
	t.Helper()
	r.WantCode(t, cli.ExitOK)
	var s summary
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil {
		t.Fatalf("summary %q: %v", r.Out, err)
	}
	return s
}

// formats lists the names of outputs.
func formats() []string {
	return []string{"r.jsonl", "r.npz", "r.parquet", "r.ivecs", "r.ibin", "r.neighbors.ibin"}
}

func TestSearchWritesEveryFormat(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 48), vectorFile(t, dir, "q.npy", 2, 25, 48)
	var first []dataset.Result
	for _, name := range formats() {
		out := filepath.Join(dir, name)
		s := summaryOf(t, thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k7", "--out", out, "--chunk", "10", "--json"))
		if s.Atoms != 300 || s.Dimension != 48 || s.Queries != 25 || s.K != 7 || s.Pulls <= 0 || s.Saving <= 0 ||
			s.Threads < 1 || s.Backend != "cpu" || s.Delta != .01 || s.SearchSeconds <= 0 || s.QueriesPerSecond <= 0 {
			t.Errorf("%s: summary %+v", name, s)
		}
		got := answersOf(t, out)
		if len(got) != 25 {
			t.Fatalf("%s: %d answers, want 25", name, len(got))
		}
		if first == nil {
			first = got
		}
		for j := range got {
			if !slices.Equal(got[j].Rows, first[j].Rows) || got[j].Scores != nil && !slices.Equal(got[j].Scores, first[j].Scores) {
				t.Errorf("%s: query %d is answered otherwise than in %s", name, j, formats()[0])
			}
		}
		if clitest.Exists(out+".progress") || clitest.Exists(out+".spool") {
			t.Errorf("%s: left its progress or its spool behind", name)
		}
		v := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out)
		v.WantCode(t, cli.ExitOK)
	}
}

func TestSummaryForPeople(t *testing.T) {
	dir := t.TempDir()
	r := thresher(t, "search", "--vectors", vectorFile(t, dir, "a.npy", 1, 200, 500), "--metric", "ip", "--queries", vectorFile(t, dir, "q.npy", 2, 5, 500),
		"--method", "strict", "--out", filepath.Join(dir, "r.npz"))
	r.WantCode(t, cli.ExitOK)
	for _, part := range []string{"200 x 500", "queries/s", "of the data", "strict", "probability at most 0.01", "load", "build", "search", "r.npz"} {
		if !strings.Contains(r.Err, part) {
			t.Errorf("summary lacks %q:\n%s", part, r.Err)
		}
	}
	if r.Out != "" {
		t.Errorf("stdout: %q", r.Out)
	}
}

func TestSearchToStdout(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 90, 24), vectorFile(t, dir, "q.npy", 2, 11, 24)
	out := filepath.Join(dir, "r.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", out).WantCode(t, cli.ExitOK)
	for _, args := range [][]string{{}, {"--out", "-"}, {"--chunk", "2"}} {
		r := thresher(t, append([]string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries}, args...)...)
		r.WantCode(t, cli.ExitOK)
		if r.Out != string(clitest.ReadFile(t, out)) {
			t.Errorf("%v: stdout is not what the file holds", args)
		}
	}
}

func TestAnswersDoNotDependOnChunksOrThreads(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 400, 64), vectorFile(t, dir, "q.npy", 2, 30, 64)
	var want string
	for _, args := range [][]string{{}, {"--chunk", "1"}, {"--chunk", "7"}, {"--threads", "3"}, {"--threads", "1", "--chunk", "29"}} {
		r := thresher(t, append([]string{"search", "--method", "adaptive", "--vectors", atoms, "--metric", "ip", "--queries", queries}, args...)...)
		r.WantCode(t, cli.ExitOK)
		if want == "" {
			want = r.Out
		}
		if r.Out != want {
			t.Errorf("%v changes the answers", args)
		}
	}
}

func TestStdinIsSpooled(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 16), vectorFile(t, dir, "q.npy", 2, 4, 16)
	want := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries)
	want.WantCode(t, cli.ExitOK)
	for flag, path := range map[string]string{"--vectors": atoms, "--queries": queries} {
		args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, flag, "-"}
		r := thresherWith(t, context.Background(), string(clitest.ReadFile(t, path)), args...)
		r.WantCode(t, cli.ExitOK)
		if r.Out != want.Out {
			t.Errorf("%s -: other answers than from a file", flag)
		}
	}
	bad := thresherWith(t, context.Background(), "[1,2\n", "search", "--vectors", atoms, "--metric", "ip", "--queries", "-")
	bad.WantError(t, "standard input")
	thresherWith(t, context.Background(), "", "search", "--vectors", atoms, "--metric", "ip", "--queries", "-").WantError(t, "standard input", "empty")
}

func TestExcludeSelf(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 80, 20)
	out := filepath.Join(dir, "r.npz")
	thresher(t, "search", "--metric", "l2", "--vectors", atoms, "--queries", atoms, "-k3", "--exclude-self", "--chunk", "32", "--out", out).WantCode(t, cli.ExitOK)
	for j, a := range answersOf(t, out) {
		if slices.Contains(a.Rows, int64(j)) || len(a.Rows) != 3 {
			t.Errorf("query %d: %v", j, a.Rows)
		}
	}
	thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", atoms, "--exclude-self", "--answers", out).WantCode(t, cli.ExitOK)
	// Without the flag the nearest neighbour is missing from every answer.
	r := thresher(t, "verify", "--metric", "l2", "--vectors", atoms, "--queries", atoms, "--guarantee", "certain", "--answers", out)
	r.WantCode(t, cli.ExitWrong)

	other := vectorFile(t, dir, "q.npy", 2, 80, 20)
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", other, "--exclude-self").WantError(t, "--exclude-self", "query 0", "vector 0")
	more := vectorFile(t, dir, "m.npy", 1, 81, 20)
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", more, "--exclude-self").WantError(t, "81 queries", "80 vectors")
}

func TestLeastScore(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[1]\n[4]\n[2]\n[3]\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[1]\n[-1]\n"))
	out := filepath.Join(dir, "r.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "--out", out).WantCode(t, cli.ExitOK)
	got := answersOf(t, out)
	if !slices.Equal(got[0].Rows, []int64{1, 3, 2}) || len(got[1].Rows) != 0 {
		t.Errorf("answers %v and %v, want [1 3 2] and none", got[0].Rows, got[1].Rows)
	}
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "--answers", out).WantCode(t, cli.ExitOK)
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "0.5", "--answers", out).WantCode(t, cli.ExitWrong)
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "--out", filepath.Join(dir, "r.npz")).WantError(t, "-k")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "-k2", "--out", filepath.Join(dir, "r.npz")).WantCode(t, cli.ExitOK)

	ranged := filepath.Join(dir, "r.ibin")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "--out", ranged).WantCode(t, cli.ExitOK)
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "--answers", ranged).WantCode(t, cli.ExitOK)
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--min-score", "2", "--out", filepath.Join(dir, "r.neighbors.ibin")).WantError(t, "-k")
}

func TestIDsBecomeNames(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"isbn":"x-1","v":[1,0]}`+"\n"+`{"isbn":"y-2","v":[0,1]}`+"\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[0,1]\n"))
	for _, name := range []string{"r.jsonl", "r.parquet"} {
		out := filepath.Join(dir, name)
		thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k2", "--ids", "isbn", "--out", out).WantCode(t, cli.ExitOK)
		got := answersOf(t, out)[0]
		if !slices.Equal(got.IDs, []string{"y-2", "x-1"}) || !slices.Equal(got.Rows, []int64{1, 0}) {
			t.Errorf("%s: names %q, ids %v", name, got.IDs, got.Rows)
		}
	}
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--ids", "ean").WantError(t, "ean")
	thresher(t, "search", "--vectors", vectorFile(t, dir, "a.npy", 1, 3, 2), "--metric", "ip", "--queries", queries, "--ids", "isbn").WantError(t, "isbn")
}

func TestCertificatesBesideAnswers(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 48), vectorFile(t, dir, "q.npy", 2, 12, 48)
	out, certs := filepath.Join(dir, "r.npz"), filepath.Join(dir, "c.jsonl")
	args := []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--method", "exact", "--out", out, "--certificates", certs}
	thresher(t, args...).WantCode(t, cli.ExitOK)
	lines := bytes.Split(bytes.TrimSpace(clitest.ReadFile(t, certs)), []byte("\n"))
	if len(lines) != 12 {
		t.Fatalf("%d certificates, want 12", len(lines))
	}
	for j, line := range lines {
		var c struct {
			Query       int
			Certificate struct{ Guarantee string }
		}
		if err := json.Unmarshal(line, &c); err != nil || c.Query != j || c.Certificate.Guarantee != "exact" {
			t.Errorf("certificate %d: %s (%v)", j, line, err)
		}
	}
	r := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out, "--certificates", certs)
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(r.Out, "exact") {
		t.Error(r.Out)
	}
	thresher(t, args...).WantError(t, "r.npz", "--overwrite")
	thresher(t, append(args, "--overwrite")...).WantCode(t, cli.ExitOK)
}

func TestCollectionsAreSearched(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 300, 48), vectorFile(t, dir, "q.npy", 2, 12, 48)
	built := filepath.Join(dir, "a.thresher")
	thresher(t, "build", "--vectors", atoms, "--metric", "cosine", "--out", built).WantCode(t, cli.ExitOK)
	want := thresher(t, "search", "--vectors", atoms, "--metric", "cosine", "--queries", queries, "--method", "exact")
	want.WantCode(t, cli.ExitOK)
	r := thresher(t, "search", "--vectors", built, "--queries", queries, "--method", "exact")
	r.WantCode(t, cli.ExitOK)
	if !strings.Contains(want.Out, `"plan":"dense, no building"`) || strings.Contains(r.Out, "no building") {
		t.Errorf("plans: %s without a build, %s with one", want.Out, r.Out)
	}
	if r.Out != strings.ReplaceAll(want.Out, ", no building", "") {
		t.Error("a prepared collection is answered otherwise than its vectors")
	}
	thresher(t, "search", "--vectors", built, "--queries", queries, "--metric", "cosine", "--basis", "auto").WantCode(t, cli.ExitOK)
	thresher(t, "search", "--vectors", built, "--queries", queries, "--metric", "l2").WantError(t, "a.thresher", "cosine", "--metric", "l2")
	thresher(t, "search", "--vectors", built, "--queries", queries, "--seed", "2").WantError(t, "seed")
	thresher(t, "search", "--vectors", built, "--queries", queries, "--ids", "x").WantError(t, "columns")
}

func TestEveryMethodAnswers(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 150, 64), vectorFile(t, dir, "q.npy", 2, 4, 64)
	for _, m := range choices()["method"] {
		t.Run(m, func(t *testing.T) {
			out := filepath.Join(dir, m+".jsonl")
			thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k3", "--method", m, "--out", out).WantCode(t, cli.ExitOK)
			thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", out, "--strict-delta").WantCode(t, cli.ExitOK)
		})
	}
}

func TestCutK(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 6, 3), vectorFile(t, dir, "q.npy", 2, 2, 3)
	s := summaryOf(t, thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k50", "--json", "--out", filepath.Join(dir, "r.npz")))
	if s.K != 6 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "50") {
		t.Errorf("summary %+v", s)
	}
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k50", "--answers", filepath.Join(dir, "r.npz")).WantCode(t, cli.ExitOK)
	for _, k := range []string{"-k6", "-k5"} {
		out := filepath.Join(dir, k+".npz")
		s = summaryOf(t, thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", atoms, k, "--exclude-self", "--json", "--out", out))
		if s.K != 5 || (len(s.Warnings) == 1) != (k == "-k6") || len(answersOf(t, out)[0].Rows) != 5 {
			t.Errorf("%s of the 5 other vectors: summary %+v", k, s)
		}
	}
	r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k50")
	if !strings.Contains(r.Err, "warning") {
		t.Errorf("no warning in the summary:\n%s", r.Err)
	}
}

func TestConfigurationReachesTheSearch(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 60, 20), vectorFile(t, dir, "q.npy", 2, 3, 20)
	t.Setenv("THRESHER_K", "4")
	file := clitest.WriteFile(t, dir, "c.toml", []byte("k = 2\nmethod = \"certain\"\nmetric = \"l2\"\n"))
	s := summaryOf(t, thresher(t, "search", "--config", file, "--vectors", atoms, "--queries", queries, "--json", "--metric", "cosine", "--out", filepath.Join(dir, "r.jsonl")))
	if s.K != 4 || s.Method != "certain" || s.Metric != "cosine" {
		t.Errorf("summary %+v", s)
	}
}

func TestDeadline(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 500, 64), vectorFile(t, dir, "q.npy", 2, 60, 64)
	out := filepath.Join(dir, "r.jsonl")
	r := thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--chunk", "20", "--deadline", "1ns", "--json", "--out", out)
	r.WantCode(t, cli.ExitDeadline)
	var s summary
	if err := json.Unmarshal([]byte(r.Out), &s); err != nil || s.Complete != 0 || s.Queries != 60 {
		t.Errorf("summary %+v (%v)", s, err)
	}
	if !strings.Contains(r.Err, "60 of 60 answers partial") {
		t.Error(r.Err)
	}
	if s.QueriesPerSecond != 0 || s.Saving != 1 {
		t.Errorf("no answer was finished, and the summary says %+v", s)
	}
	for _, a := range answersOf(t, out) {
		if !bytes.Contains(a.Certificate, []byte(`"stopped_by":"deadline"`)) || bytes.Contains(a.Certificate, []byte(`"open_bound":null`)) {
			t.Fatalf("certificate %s", a.Certificate)
		}
	}
	// The open bound must hold, and an answer with a wrong one is refused.
	verify := []string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k10", "--answers", out}
	v := thresher(t, verify...)
	v.WantCode(t, cli.ExitOK)
	if !strings.Contains(v.Out, "60, held to their open bound") {
		t.Error(v.Out)
	}
	lied := strings.ReplaceAll(string(clitest.ReadFile(t, out)), `"open_bound":`, `"open_bound":-`)
	clitest.WriteFile(t, dir, "lied.jsonl", []byte(lied))
	verify[len(verify)-1] = filepath.Join(dir, "lied.jsonl")
	thresher(t, append(verify, "--strict-delta")...).WantCode(t, cli.ExitWrong)

	// Only .jsonl contains certificates; without its open bound a stopped answer is malformed, and
	// verify says where to find it.
	matrix, certificates := filepath.Join(dir, "r.npz"), filepath.Join(dir, "c.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--deadline", "1ns", "--out", matrix, "--certificates", certificates).WantCode(t, cli.ExitDeadline)
	bare := thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k10", "--answers", matrix)
	bare.WantCode(t, cli.ExitWrong)
	if !strings.Contains(bare.Err, "60 are of searches that were stopped") || !strings.Contains(bare.Err, "--certificates") {
		t.Error(bare.Err)
	}
	thresher(t, "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k10", "--answers", matrix, "--certificates", certificates).WantCode(t, cli.ExitOK)

	far := filepath.Join(dir, "far.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--deadline", "10m", "--out", far).WantCode(t, cli.ExitOK)
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	dir := t.TempDir()
	atoms, queries := vectorFile(t, dir, "a.npy", 1, 50, 8), vectorFile(t, dir, "q.npy", 2, 6, 8)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := thresherWith(t, ctx, "", "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--out", filepath.Join(dir, "r.npz"))
	r.WantCode(t, cli.ExitInterrupted)
	r = thresherWith(t, ctx, "", "verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", "none")
	if r.Code == cli.ExitOK {
		t.Error("an interrupted verify reports success")
	}
}

// TestInterruptedChunkIsNotKept: partial answers of an interrupted search are not stored as
// complete ones.
func TestInterruptedChunkIsNotKept(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	backend := cpu.New(cpu.Options{Threads: 1})
	c, err := collection.Build(ctx, gaussian(1, 500*64), 64, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	e, err := batch.Open(ctx, c, backend, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := &search{app: &app{App: &cli.App{}}, flags: &searchFlags{out: cli.Stdio}, engine: &engine{Engine: e, atoms: atomsOf(c)}, atoms: atomsOf(c),
		request: batch.Request{K: 3}, out: &answerFiles{out: cli.Stdio, form: dataset.AnswersForm{Format: dataset.JSONL, Lines: true}}}
	queries := gaussian(2, 5*64)
	if _, _, err := s.chunk(ctx, queryRows{values: queries}, 0, nil); err != nil {
		t.Fatal(err)
	}
	cancel()
	if out, _, err := s.chunk(ctx, queryRows{values: queries}, 0, nil); err == nil {
		t.Errorf("an interrupted chunk gives %d bytes of answers", len(out[0]))
	}
}

// TestDiskFull writes to a device that is always full, if there is one.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full, which only Linux has")
	}
	defer full.Close()
	dir := t.TempDir()
	var errs bytes.Buffer
	code := run(context.Background(), []string{"search", "--vectors", vectorFile(t, dir, "a.npy", 1, 50, 8), "--metric", "ip", "--queries", vectorFile(t, dir, "q.npy", 2, 6, 8)},
		strings.NewReader(""), full, &errs)
	if code != cli.ExitInput || !strings.Contains(errs.String(), "no space left") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("exit code %d, stderr %s", code, errs.String())
	}
}
