package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// recallOf runs recall with --json.
func recallOf(t *testing.T, args ...string) (r recallSummary) {
	t.Helper()
	out := thresher(t, append([]string{"recall", "--json"}, args...)...)
	out.WantCode(t, cli.ExitOK)
	if err := json.Unmarshal([]byte(out.Out), &r); err != nil {
		t.Fatalf("%v: %s", err, out.Out)
	}
	return r
}

// TestRecallFailUnder: a recall of exactly the limit passes.
func TestRecallFailUnder(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	for i := range 30 {
		fmt.Fprintf(&rows, "[%d]\n", i)
	}
	atoms, queries := clitest.WriteFile(t, dir, "a.jsonl", []byte(rows.String())), clitest.WriteFile(t, dir, "q.jsonl", []byte("[1]\n"))
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprint(29 - i)
	}
	ids[19] = "0" // 19 of 20 are right
	answers := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[`+strings.Join(ids, ",")+"]}\n"))
	for limit, code := range map[string]int{"0": cli.ExitOK, "0.95": cli.ExitOK, "0.9500001": cli.ExitWrong, "1": cli.ExitWrong, "1.01": cli.ExitInput, "NaN": cli.ExitInput, "-0.5": cli.ExitInput} {
		r := thresher(t, "recall", "--vectors", atoms, "--queries", queries, "--metric", "ip", "--answers", answers, "--fail-under", limit)
		if r.WantCode(t, code); code == cli.ExitWrong && (!strings.Contains(r.Out, "0.9500") || !strings.Contains(r.Err, "recall 0.95, less than --fail-under "+limit)) {
			t.Errorf("%s%s", r.Out, r.Err)
		}
	}
}

func TestRecall(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	files := []string{"--vectors", atoms, "--metric", "ip", "--queries", queries}
	worse := worsen(t, atoms, queries, answers, filepath.Join(dir, "worse.jsonl"), 4) // 50 of 200 lack their best atom

	if r := recallOf(t, append(files, "--answers", answers)...); r.Recall != 1 || r.Complete != 200 || r.Method != "certain" || r.Scores.Wrong != 0 || r.Gaps != nil {
		t.Errorf("right answers: %+v, %+v", r, r.RecallReport)
	}
	misses := filepath.Join(dir, "misses.jsonl")
	r := recallOf(t, append(files, "--answers", worse, "--missed", misses)...)
	if math.Abs(r.Recall-(1-50./600)) > 1e-12 || r.Complete != 150 || r.Ranks[0].Missed != 50 || r.Ranks[1].Missed != 0 || r.K != 3 || r.Answers != 200 {
		t.Errorf("%+v, %+v", r, r.RecallReport)
	}
	lines := strings.Split(strings.TrimSpace(string(clitest.ReadFile(t, misses))), "\n")
	right := answersOf(t, answers)
	if want := fmt.Sprintf(`{"answers_version":2,"query":4,"recall":0.6666666666666666,"missed":[%d],"rows":[%[1]d]}`, right[4].Rows[0]); len(lines) != 50 || lines[1] != want {
		t.Errorf("%d misses, the second %s; want 50, %s", len(lines), lines[1], want)
	}
	if r := recallOf(t, append(files, "--answers", worse, "--sample", "60", "--method", "exact")...); r.Queries != 60 || r.Answers != 200 || r.Method != "exact" || r.Low >= r.Recall || r.High <= r.Recall {
		t.Errorf("sample: %+v, %+v", r, r.RecallReport)
	}
	text := thresher(t, append([]string{"recall"}, append(files, "--answers", worse, "-k2")...)...)
	text.WantCode(t, cli.ExitOK)
	for _, want := range []string{"200 of 200 answers, ip, k = 2", "0.8750; 95% interval 0.", "rank 1: 50 of 200 (25.00%)", "rank 2: 0 of 200", "inner products; 0 of 400 are not the vectors'"} {
		if !strings.Contains(text.Out, want) {
			t.Errorf("report lacks %q:\n%s", want, text.Out)
		}
	}
}

// TestRecallExcludesSelf: the query itself is neither wanted nor found.
func TestRecallExcludesSelf(t *testing.T) {
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 60, 12)
	answers := filepath.Join(dir, "r.npz")
	thresher(t, "search", "--vectors", atoms, "--queries", atoms, "-k3", "--method", "exact", "--metric", "l2", "--exclude-self", "--out", answers).WantCode(t, cli.ExitOK)
	files := []string{"--vectors", atoms, "--queries", atoms, "--answers", answers, "--metric", "l2"}
	if r := recallOf(t, append(files, "--exclude-self")...); r.Recall != 1 || r.Queries != 60 {
		t.Errorf("%+v", r.RecallReport)
	}
	if r := recallOf(t, files...); math.Abs(r.Recall-2./3) > 1e-12 || r.Ranks[0].Missed != 60 {
		t.Errorf("with selves: %+v", r.RecallReport)
	}
	// Answers of whoever does not exclude the query have it as their first atom.
	selves := filepath.Join(dir, "selves.jsonl")
	thresher(t, "search", "--vectors", atoms, "--queries", atoms, "-k4", "--method", "exact", "--metric", "l2", "--out", selves).WantCode(t, cli.ExitOK)
	none := clitest.WriteFile(t, dir, "none.jsonl", []byte(`{"query":59,"ids":[]}`+"\n"))
	files[5] = selves
	for _, c := range []struct {
		args                     []string
		recall                   float64
		right, missing, unwanted int64
	}{
		{nil, .75, 0, 60, 60},
		{[]string{"-k3"}, 1, 0, 0, 60}, // nothing is missing, but the query may not be returned
		{[]string{"--exclude", none}, .75, 0, 60, 60},
		{[]string{"--exclude", none, "-k3"}, 1, 0, 0, 60},
	} {
		args := append(append(files, "--exclude-self"), c.args...)
		if r := recallOf(t, args...); math.Abs(r.Recall-c.recall) > 1e-12 || r.Scores.Wrong != 0 {
			t.Errorf("%q: %+v", c.args, r.RecallReport)
		}
		out := filepath.Join(dir, "proven.npz")
		s := summaryOf(t, thresher(t, append([]string{"certify", "--out", out, "--overwrite", "--json"}, args...)...)).Certified
		if s.Right != c.right || s.Missed != c.missing || s.Unwanted != c.unwanted || s.Scores.Wrong != 0 {
			t.Errorf("%q: certify finds %+v", c.args, s)
		}
	}
	others := vectorFile(t, dir, "o.npy", 2, 60, 12)
	thresher(t, "recall", "--vectors", atoms, "--queries", others, "--answers", answers, "--metric", "l2", "--exclude-self").
		WantError(t, "--exclude-self", "query 0 of", "o.npy", "is not vector 0 of")
}

// TestRecallByNames: answers name atoms by their id column.
func TestRecallByNames(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte(`{"id":"x7","vector":[1,0]}
{"id":"x8","vector":[0,1]}
{"id":"x9","vector":[1,1]}
`))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte("[2,1]\n[1,3]\n"))
	answers := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[0,0],"names":["x9","x7"]}
{"query":1,"ids":[0,0],"names":["x9","x7"]}
`))
	misses := filepath.Join(dir, "m.jsonl")
	if r := recallOf(t, "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--missed", misses); r.Recall != .75 {
		t.Errorf("%+v", r.RecallReport)
	}
	if got := string(clitest.ReadFile(t, misses)); got != `{"answers_version":2,"query":1,"recall":0.5,"missed":["x8"],"rows":[1]}`+"\n" {
		t.Error(got)
	}
	unknown := clitest.WriteFile(t, dir, "u.jsonl", []byte(`{"query":0,"ids":[2,0],"names":["x9","x6"]}`))
	thresher(t, "recall", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", unknown).WantError(t, "u.jsonl", "query 0", `"x6"`, "rank 2")

	// Texts cannot be found among atoms without ids, and an id of two atoms is refused.
	hits := clitest.WriteFile(t, dir, "h.json", []byte(`{"result":[[{"id":"x9","score":3}],[{"id":"x9","score":4}]]}`))
	bare := clitest.WriteFile(t, dir, "bare.jsonl", []byte("[1,0]\n[0,1]\n[1,1]\n"))
	thresher(t, "recall", "--vectors", bare, "--metric", "ip", "--queries", queries, "--answers", hits).WantError(t, "h.json", "query 0", "rank 1", "has no column id")
	twins := clitest.WriteFile(t, dir, "t.jsonl", []byte(`{"id":"x9","vector":[1,0]}`+"\n"+`{"id":"x9","vector":[1,1]}`+"\n"))
	thresher(t, "recall", "--vectors", twins, "--metric", "ip", "--queries", queries, "--answers", hits).WantError(t, "row 1", `"x9"`, "row 0 has already")
	for _, args := range [][]string{{"search", "--queries", queries}, {"truth", "--queries", queries, "--out", filepath.Join(dir, "t.ibin")}, {"certify", "--queries", queries, "--answers", hits}, {"graph", "-k1", "--out", filepath.Join(dir, "g.jsonl")}, {"pairs", "--min-score", "0", "--out", filepath.Join(dir, "p.jsonl")}} {
		thresher(t, append(args, "--vectors", twins, "--metric", "ip")...).WantError(t, "t.jsonl", "row 1", `"x9"`, "row 0 has already")
	}
	if r := recallOf(t, "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", hits); r.Recall != 1 {
		t.Errorf("%+v", r.RecallReport)
	}
}

// TestRecallOfTables: a table of hits may have any order, call queries by their ids, and have none of some, for every verb
// that reads answers.
func TestRecallOfTables(t *testing.T) {
	dir := t.TempDir()
	vectors := clitest.WriteFile(t, dir, "a.jsonl", []byte("[1,0]\n[0,1]\n[1,1]\n"))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("id,x,y\nq0,2,1\nq1,1,3\nq2,1,0\n"))
	table := clitest.WriteFile(t, dir, "t.csv", []byte("query_id,id,score\nq2,0,1\nq0,0,2\nq2,2,1\nq0,2,3\n"))
	run := clitest.WriteFile(t, dir, "t.trec", []byte("q2 Q0 0 1 1 x\nq2 Q0 2 2 1 x\nq0 Q0 2 1 3 x\nq0 Q0 0 2 2 x\n"))
	for _, answers := range []string{table, run} {
		files := []string{"--vectors", vectors, "--queries", queries, "--metric", "ip", "--answers", answers}
		if r := recallOf(t, files...); r.Answers != 3 || r.Recall != 2./3 {
			t.Errorf("%s: %d answers, recall %g", answers, r.Answers, r.Recall)
		}
		out := filepath.Join(dir, "proven.jsonl")
		thresher(t, append([]string{"certify", "--out", out, "--overwrite"}, files...)...).WantCode(t, cli.ExitOK)
		thresher(t, append([]string{"verify", "--guarantee", "exact"}, files...)...).WantCode(t, cli.ExitWrong)
	}
	of := clitest.WriteFile(t, dir, "u.csv", []byte("query_id,id\nq7,0\n"))
	thresher(t, "recall", "--vectors", vectors, "--queries", queries, "--metric", "ip", "--answers", of).WantError(t, "u.csv", `no query has the id "q7"`)
}

// TestTextOnStandardInput: comma-separated values, and what gzip made of them, are recognised without a name.
func TestTextOnStandardInput(t *testing.T) {
	dir := t.TempDir()
	vectors := clitest.WriteFile(t, dir, "a.csv", []byte("d0,d1\n1,0\n0,1\n1,1\n"))
	var zipped strings.Builder
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("d0,d1\n2,1\n1,3\n"))
	z.Close()
	want := ""
	for _, text := range []string{"d0,d1\n2,1\n1,3\n", zipped.String()} {
		r := thresherWith(t, t.Context(), text, "search", "--vectors", vectors, "--queries", "-", "--metric", "ip", "-k1", "--method", "exact")
		r.WantCode(t, cli.ExitOK)
		if want == "" {
			want = r.Out
		}
		if !strings.Contains(r.Out, `"ids":[2]`) || r.Out != want {
			t.Errorf("%s\nwant %s", r.Out, want)
		}
	}
}

func TestRecallRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	outside := rewrite(t, answers, filepath.Join(dir, "outside.jsonl"), func(j int, r *dataset.Result) {
		if j == 17 {
			r.Rows[2] = 60
		}
	})
	fewer := vectorFile(t, dir, "fewer.npy", 2, 199, 12)
	wide := vectorFile(t, dir, "wide.npy", 2, 200, 13)
	gaps := clitest.WriteFile(t, dir, "gaps.jsonl", []byte(`{"query":0,"ids":[1]}`+"\n"+`{"query":2,"ids":[1]}`+"\n"))
	empty := clitest.WriteFile(t, dir, "empty.jsonl", nil)
	existing := clitest.WriteFile(t, dir, "there.jsonl", []byte("kept"))
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"no answers named", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries}, []string{"--answers"}},
		{"two from standard input", []string{"--vectors", "-", "--metric", "ip", "--queries", queries, "--answers", "-"}, []string{"only one"}},
		{"a negative sample", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--sample", "-1"}, []string{"--sample -1"}},
		{"another k", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "-k4"}, []string{"-k 4", "r.jsonl", "3 vectors"}},
		{"another metric", []string{"--vectors", atoms, "--queries", queries, "--answers", answers, "--metric", "l2"}, []string{"r.jsonl", "inner products", "l2"}},
		{"a vector of another collection", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", outside}, []string{"outside.jsonl", "query 17", "rank 3", "[0, 60)"}},
		{"fewer queries than answers", []string{"--vectors", atoms, "--metric", "ip", "--queries", fewer, "--answers", answers}, []string{"200 answers", "199 queries"}},
		{"another dimension", []string{"--vectors", atoms, "--metric", "ip", "--queries", wide, "--answers", answers}, []string{"12", "13", "wide.npy"}},
		{"answers with gaps", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", gaps}, []string{"gaps.jsonl", "answer 1", "query 2"}},
		{"no answers", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", empty}, []string{"empty.jsonl", "empty"}},
		{"misses by another name", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--missed", filepath.Join(dir, "m.csv")}, []string{"--missed", "m.csv", ".jsonl"}},
		{"an output that exists", []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--missed", existing}, []string{"there.jsonl"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			thresher(t, append([]string{"recall"}, c.args...)...).WantError(t, c.want...)
		})
	}
	if string(clitest.ReadFile(t, existing)) != "kept" {
		t.Error("the file of --missed was overwritten")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*tmp*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestMissedHasQueryIDs: the list of what answers lack has the queries' own ids, as answers have them.
func TestMissedHasQueryIDs(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n"))
	theirs := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[2]}`+"\n"+`{"query":1,"ids":[0]}`+"\n"+`{"query":2,"ids":[1]}`+"\n"))
	for kind, ids := range map[string][]string{"texts": {`"x"`, `"y"`, `"z"`}, "numbers": {"7", "8", "18446744073709551615"}} {
		queries := clitest.WriteFile(t, dir, kind+".jsonl", fmt.Appendf(nil, `{"id":%s,"v":[1]}`+"\n"+`{"id":%s,"v":[1]}`+"\n"+`{"id":%s,"v":[1]}`+"\n", ids[0], ids[1], ids[2]))
		missed := filepath.Join(dir, kind+".missed.jsonl")
		recallOf(t, "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", theirs, "--missed", missed, "--chunk", "2")
		want := fmt.Sprintf(`{"answers_version":2,"query":1,"query_id":%s,"recall":0,"missed":[2],"rows":[2]}`+"\n"+
			`{"answers_version":2,"query":2,"query_id":%s,"recall":0,"missed":[2],"rows":[2]}`+"\n", ids[1], ids[2])
		if diff := cmp.Diff(want, string(clitest.ReadFile(t, missed))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

// TestRecallOfGoals: what counts are the atoms that a search with the same flags finds; atoms that
// a query excludes or that are above its ceiling, and those beyond its k, are no hits.
func TestRecallOfGoals(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n[4]\n"))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("x,k,c\n1,2,3\n1,2,3\n1,,\n1,1,\n"))
	seen := clitest.WriteFile(t, dir, "seen.jsonl", []byte("[]\n[]\n[4,4]\n[0,1,2,3,4]\n"))
	theirs := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[4,3,2],"scores":[4,3,2]}`+"\n"+`{"query":1,"ids":[3,2,1],"scores":[3,2,9]}`+"\n"+
		`{"query":2,"ids":[4,3,2],"scores":[4,3,2]}`+"\n"+`{"query":3,"ids":[0],"scores":[0]}`+"\n"))
	args := []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", theirs, "--k-column", "k", "--max-score-column", "c", "--exclude", seen}
	misses := filepath.Join(dir, "misses.jsonl")
	r := recallOf(t, append(args, "--missed", misses)...)
	// The atoms wanted: 3 2, 3 2, 3 2 1, none.
	if r.Queries != 4 || r.K != 3 || math.Abs(r.Recall-(.5+1+2./3)/3) > 1e-15 || r.Complete != 2 {
		t.Errorf("%+v", r)
	}
	want := `{"answers_version":2,"query":0,"recall":0.5,"missed":[2],"rows":[2]}` + "\n" + `{"answers_version":2,"query":2,"recall":0.6666666666666666,"missed":[1],"rows":[1]}` + "\n"
	if diff := cmp.Diff(want, string(clitest.ReadFile(t, misses))); diff != "" {
		t.Errorf("misses (-want +got):\n%s", diff)
	}
	own := filepath.Join(dir, "own.jsonl")
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--k-column", "k", "--max-score-column", "c", "--exclude", seen, "-k3", "--out", own).WantCode(t, cli.ExitOK)
	if r := recallOf(t, append(args, "--answers", own)...); r.Recall != 1 || r.Scores.Wrong > 0 {
		t.Errorf("of a search itself: %+v", r)
	}
	selves := clitest.WriteFile(t, dir, "s.csv", []byte("x,k\n0,2\n1,1\n2,2\n3,\n4,2\n"))
	same := []string{"--vectors", atoms, "--metric", "ip", "--queries", selves, "--k-column", "k", "--exclude-self"}
	thresher(t, append([]string{"search", "-k3", "--out", own, "--overwrite"}, same...)...).WantCode(t, cli.ExitOK)
	if r := recallOf(t, append(same, "--answers", own, "--sample", "3")...); r.Queries != 3 || r.Recall != 1 {
		t.Errorf("of a sample: %+v", r)
	}
	thresher(t, append([]string{"recall"}, append(args, "--exclude", "-", "--answers", "-")...)...).WantError(t, "recall", "only one")
	fewer := clitest.WriteFile(t, dir, "fewer.jsonl", []byte("[]\n"))
	thresher(t, append([]string{"recall"}, append(args, "--exclude", fewer)...)...).WantError(t, "fewer.jsonl has 1 lists", "4 queries")
}

// TestRecallOfFloat64SaysWhy: reasons are found of vectors kept in float64, too; for one, ids that are no rows.
func TestRecallOfFloat64SaysWhy(t *testing.T) {
	dir := t.TempDir()
	var rows []float64
	for _, x := range gaussian(1, 300*4) {
		rows = append(rows, float64(x)+1e-12)
	}
	atoms := clitest.WriteFile(t, dir, "a.npy", npyOf64(rows, 4))
	kept, answers := filepath.Join(dir, "a.thresher"), filepath.Join(dir, "answers.jsonl")
	thresher(t, "build", "--vectors", atoms, "--metric", "ip", "--dtype", "float64", "--out", kept).WantCode(t, cli.ExitOK)
	queries := clitest.WriteFile(t, dir, "q.npy", npyOf64(rows[:40*4], 4))
	thresher(t, "search", "--vectors", kept, "--queries", queries, "-k", "5", "--out", answers).WantCode(t, cli.ExitOK)
	for by, code := range map[int64]int{1: cli.ExitOK, 1e6: cli.ExitInput} {
		var text strings.Builder
		for _, a := range answersOf(t, answers) {
			moved := make([]string, len(a.Rows))
			for i, row := range a.Rows {
				moved[i] = fmt.Sprint(row + by)
			}
			fmt.Fprintf(&text, "{\"query\":%d,\"ids\":[%s]}\n", a.Query, strings.Join(moved, ","))
		}
		file := clitest.WriteFile(t, dir, "moved.jsonl", []byte(text.String()))
		r := thresher(t, "recall", "--vectors", kept, "--queries", queries, "--answers", file)
		r.WantCode(t, code)
		if want := fmt.Sprintf("%d row", by); !strings.Contains(r.Out+r.Err, want) || !strings.Contains(r.Out+r.Err, "after the right one") {
			t.Errorf("moved by %d:\n%s%s", by, r.Out, r.Err)
		}
	}
}

// TestRecallSaysWhy: ids that count from 1, answers by another metric, a filter that was not applied; and nothing where
// an answer is only worse.
func TestRecallSaysWhy(t *testing.T) {
	dir := t.TempDir()
	atoms, queries, answers := searched(t, dir)
	files := []string{"recall", "--vectors", atoms, "--queries", queries, "--answers"}
	right := answersOf(t, answers)
	write := func(name string, change func(int64) int64) string {
		var text strings.Builder
		for j := range right {
			ids := make([]string, 0, 3)
			for _, row := range right[j].Rows {
				ids = append(ids, fmt.Sprint(change(row)))
			}
			fmt.Fprintf(&text, "{\"query\":%d,\"ids\":[%s]}\n", j, strings.Join(ids, ","))
		}
		return clitest.WriteFile(t, dir, name, []byte(text.String()))
	}
	why := func(r clitest.Result, code int, want string) {
		t.Helper()
		if r.WantCode(t, code); !strings.Contains(r.Out+r.Err, want) {
			t.Errorf("no %q in\n%s%s", want, r.Out, r.Err)
		}
	}
	last := int64(0)
	for _, r := range right {
		last = max(last, slices.Max(r.Rows))
	}
	from1 := "each vector is 1 row after the right one: the ids seem to count from 1"
	within := write("within.jsonl", func(row int64) int64 { return min(row, last-1) + 1 })
	why(thresher(t, append(files, within, "--metric", "ip")...), cli.ExitOK, "why       "+from1)
	why(thresher(t, append(files, write("beyond.jsonl", func(row int64) int64 { return row + 1e6 }), "--metric", "ip")...), cli.ExitInput, "each vector is 1000000 rows after the right one (explains 32 of 32")
	if r := recallOf(t, append(files[1:], within, "--metric", "ip")...); len(r.Reasons) != 1 || r.Reasons[0].Kind != "shifted" || r.Reasons[0].Of != 32 || r.Reasons[0].Recall < .9 {
		t.Errorf("%+v", r.Reasons)
	}
	if r := recallOf(t, append(files[1:], answers, "--metric", "ip")...); r.Reasons != nil {
		t.Errorf("right answers: %+v", r.Reasons)
	}
	ids := write("ids.jsonl", func(row int64) int64 { return row })
	why(thresher(t, append(files, ids, "--metric", "l2")...), cli.ExitOK, "they are the best by inner product (explains 32 of 32")
	why(thresher(t, append(files, worsen(t, atoms, queries, answers, filepath.Join(dir, "worse.jsonl"), 4), "--metric", "ip")...), cli.ExitOK, "why       not known")

	none := clitest.WriteFile(t, dir, "none.jsonl", []byte(exclusionsOf(right)))
	why(thresher(t, append(files, ids, "--metric", "ip", "--exclude", none)...), cli.ExitOK, "seems not to apply the filter or the exclusions (explains 32 of 32")
}

// exclusionsOf excludes of each query its best vector.
func exclusionsOf(answers []dataset.Result) string {
	var text strings.Builder
	for j := range answers {
		fmt.Fprintf(&text, "{\"query\":%d,\"ids\":[%d]}\n", j, answers[j].Rows[0])
	}
	return text.String()
}
