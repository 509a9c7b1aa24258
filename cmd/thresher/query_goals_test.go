package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
	"thresher/internal/race"
	"thresher/tasks"
)

// wish is a query and what it asks for; nil asks for nothing.
type wish struct {
	Vector []float32 `parquet:"vector,list" json:"vector"`
	K      *int64    `parquet:"k,optional" json:"k"`
	Floor  *float64  `parquet:"floor,optional" json:"floor"`
	Most   *float64  `parquet:"most,optional" json:"most"`
}

// npyDoubles encodes numbers as an npy of one dimension.
func npyDoubles(values ...float64) []byte {
	bits := make([]int64, len(values))
	for i, v := range values {
		bits[i] = int64(math.Float64bits(v))
	}
	return bytes.Replace(npyInts(bits...), []byte("'<i8'"), []byte("'<f8'"), 1)
}

// wishes writes queries with their k and floors in every format that has columns. The npz
// lacks nulls, so limited lists the formats without it.
func wishes(t *testing.T, dir string, all []wish) (files []string) {
	t.Helper()
	var table bytes.Buffer
	w := parquet.NewGenericWriter[wish](&table)
	if _, err := w.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(line), "null", "")
	}
	lines, csv := []byte{}, []byte("k,floor,most")
	for i := range all[0].Vector {
		csv = fmt.Appendf(csv, ",x%d", i)
	}
	vectors, ks := []float32{}, []int64{}
	var floors, most []float64
	for _, q := range all {
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
		csv = fmt.Appendf(csv, "\n%s,%s,%s", text(q.K), text(q.Floor), text(q.Most))
		for _, x := range q.Vector {
			csv = fmt.Appendf(csv, ",%v", x)
		}
		vectors = append(vectors, q.Vector...)
		if q.K != nil && q.Floor != nil && q.Most != nil {
			ks = append(ks, *q.K)
			floors, most = append(floors, *q.Floor), append(most, *q.Most)
		}
	}
	files = []string{
		clitest.WriteFile(t, dir, "q.parquet", table.Bytes()), clitest.WriteFile(t, dir, "q.jsonl", lines), clitest.WriteFile(t, dir, "q.csv", csv),
	}
	if len(ks) == len(all) {
		files = append(files, npzFile(t, dir, "q.npz", map[string][]byte{"vector": npy(vectors, len(all[0].Vector)), "k": npyInts(ks...), "floor": npyDoubles(floors...), "most": npyDoubles(most...)}))
	}
	return files
}

// TestGoalColumns: each query has the atoms that a search for it alone would give, in every
// format of queries and of answers, and verify agrees.
func TestGoalColumns(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, m, dim = 400, 30, 20
	dir := t.TempDir()
	atomRows, queryRows := gaussian(1, n*dim), gaussian(2, m*dim)
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(atomRows, dim))
	for _, nulls := range []bool{false, true} {
		all := make([]wish, m)
		for j := range all {
			all[j].Vector = queryRows[j*dim : (j+1)*dim]
			if k := int64(1 + j*j%13); !nulls || j%3 > 0 {
				all[j].K = &k
			}
			if floor := float64(j%7) * 1.5; !nulls || j%4 > 0 {
				all[j].Floor = &floor
			}
			if most := 9.5 + float64(j%5); !nulls || j%5 > 0 {
				all[j].Most = &most
			}
		}
		want := make([][]int64, m)
		for j := range want {
			k := 6 // of -k
			if all[j].K != nil {
				k = int(*all[j].K)
			}
			for _, id := range ranked(atomRows, queryRows, dim, j) {
				score := 0.0
				for d := range dim {
					score += float64(atomRows[int(id)*dim+d]) * float64(all[j].Vector[d])
				}
				if len(want[j]) < k && (all[j].Floor == nil || score >= *all[j].Floor) && (all[j].Most == nil || score <= *all[j].Most) {
					want[j] = append(want[j], id)
				}
			}
		}
		for i, queries := range wishes(t, dir, all) {
			for _, name := range formats() {
				if i > 0 && name != "r.npz" {
					continue
				}
				for _, method := range []string{"exact", "certain"} {
					out := filepath.Join(dir, name)
					args := []string{"--vectors", atoms, "--metric", "ip", "--queries", queries, "-k6", "--k-column", "k", "--min-score-column", "floor", "--max-score-column", "most"}
					s := summaryOf(t, thresher(t, append([]string{"search", "--out", out, "--overwrite", "--json", "--chunk", "11", "--method", method}, args...)...))
					if s.K != 13 || s.KColumn != "k" || s.Queries != m {
						t.Errorf("summary %+v", s)
					}
					for j, r := range answersOf(t, out) {
						if diff := cmp.Diff(want[j], r.Rows); len(want[j])+len(r.Rows) > 0 && diff != "" {
							t.Errorf("%s, %s, %s, query %d (-want +got):\n%s", filepath.Base(queries), name, method, j, diff)
						}
					}
					v := thresher(t, append([]string{"verify", "--answers", out, "--guarantee", "certain"}, args...)...)
					v.WantCode(t, cli.ExitOK)
					if name != "r.jsonl" {
						continue
					}
					if j := slices.IndexFunc(want, func(ids []int64) bool { return len(ids) > 1 }); j >= 0 {
						short := rewrite(t, out, filepath.Join(dir, "short.jsonl"), shorten(j))
						thresher(t, append([]string{"verify", "--answers", short}, args...)...).WantCode(t, cli.ExitWrong)
					}
				}
			}
		}
	}
}

// TestFloorColumnAlone: without -k each query has all atoms that reach its floor.
func TestFloorColumnAlone(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n[4]\n"))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("x,limit\n1,2.5\n-1,\n2,9\n2,4\n"))
	for metric, want := range map[string][][]int64{
		"ip": {{4, 3}, {0, 1}, nil, {4, 3, 2}},                   // at least; the second, of all: -1
		"l2": {{1, 0, 2}, {0}, {2, 1, 3, 0, 4}, {2, 1, 3, 0, 4}}, // at most
	} {
		out := filepath.Join(dir, metric+".ibin")
		args := []string{"--vectors", atoms, "--queries", queries, "--metric", metric, "--" + nearFlag(t, metric) + "-column", "limit", "--" + nearFlag(t, metric), map[string]string{"ip": "-1", "l2": "1"}[metric]}
		s := summaryOf(t, thresher(t, append([]string{"search", "--out", out, "--json"}, args...)...))
		if s.K != 0 {
			t.Errorf("k = %d", s.K)
		}
		for j, r := range answersOf(t, out) {
			if diff := cmp.Diff(want[j], r.Rows); len(want[j])+len(r.Rows) > 0 && diff != "" {
				t.Errorf("%s, query %d (-want +got):\n%s", metric, j, diff)
			}
		}
		v := thresher(t, append([]string{"verify", "--answers", out}, args...)...)
		if v.WantCode(t, cli.ExitOK); !strings.Contains(v.Out, "all that reach the least score") {
			t.Error(v.Out)
		}
		v = thresher(t, append([]string{"verify", "-k5", "--answers", out}, args...)...) // there are no more atoms
		if v.WantCode(t, cli.ExitOK); !strings.Contains(v.Out, "k = 5") {
			t.Error(v.Out)
		}
	}
}

// nearFlag is the name of the flag for the limit that lets the best scores through first, by a metric.
func nearFlag(t *testing.T, metric string) string {
	t.Helper()
	m, err := collection.ParseMetric(metric)
	if err != nil {
		t.Fatal(err)
	}
	near, _ := tasks.LimitNames(m)
	return strings.ReplaceAll(near, "_", "-")
}

func TestGoalColumnsRefuseBadInput(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0,1]\n[1,0]\n"))
	bare := vectorFile(t, dir, "bare.npy", 1, 3, 2)
	out := filepath.Join(dir, "r.npz")
	files := 0
	query := func(content string) string {
		files++
		return clitest.WriteFile(t, dir, fmt.Sprintf("q%d.jsonl", files), []byte(`{"v":[1,2],"k":1,"f":0,"c":5}`+"\n"+content+"\n"))
	}
	for _, c := range []struct {
		name    string
		queries string
		args    []string
		want    []string
	}{
		{"no such column", query(`{"v":[1,2],"k":1}`), []string{"--k-column", "n"}, []string{"q1.jsonl", "row 0", `"n"`}},
		{"missing", query(`{"v":[1,2]}`), []string{"--k-column", "k"}, []string{"q2.jsonl", "row 1", `no field "k"`, "null"}},
		{"k of 0", query(`{"v":[1,2],"k":0}`), []string{"--k-column", "k"}, []string{"q3.jsonl", "row 1", `column "k"`, "0", "from 1 to 2147483647"}},
		{"k of one and a half", query(`{"v":[1,2],"k":1.5}`), []string{"--k-column", "k"}, []string{"row 1", `column "k"`, "1.5", "integer from 1"}},
		{"k below 0", query(`{"v":[1,2],"k":-3}`), []string{"--k-column", "k"}, []string{"row 1", `column "k"`, "-3", "integer from 1"}},
		{"k beyond every collection", query(`{"v":[1,2],"k":1e30}`), []string{"--k-column", "k"}, []string{"row 1", `column "k"`, "1e+30", "2147483647"}},
		{"NaN", query(`{"v":[1,2],"f":NaN}`), []string{"--min-score-column", "f"}, []string{"row 1", `column "f"`, "N"}},
		{"infinite", query(`{"v":[1,2],"f":1e999}`), []string{"--min-score-column", "f"}, []string{"row 1", `column "f"`, "1e999"}},
		{"text", query(`{"v":[1,2],"f":"1"}`), []string{"--min-score-column", "f"}, []string{"row 1", `column "f"`}},
		{"null floor without k", query(`{"v":[1,2],"f":null}`), []string{"--min-score-column", "f", "--out", filepath.Join(dir, "r.jsonl")}, []string{"row 1", `column "f"`, "without -k"}},
		{"null k without k to verify", query(`{"v":[1,2],"k":null}`), nil, []string{"row 1", `column "k"`, "no -k"}},
		{"ceiling below floor", query(`{"v":[1,2],"f":1,"c":0.5}`), []string{"--min-score-column", "f", "--max-score-column", "c"}, []string{"row 1", `column "c"`, "0.5", "least score is 1"}},
		{"ceiling below that of all", query(`{"v":[1,2],"c":0.5}`), []string{"--min-score", ".7", "--max-score-column", "c"}, []string{"row 1", `column "c"`, "0.5", "least score is 0.7"}},
		{"floor above the ceiling of all", query(`{"v":[1,2],"f":1}`), []string{"--min-score-column", "f", "--max-score", ".5"}, []string{"row 1", `column "f"`, "1", "--max-score is 0.5"}},
		{"distances", query(`{"v":[1,2],"f":1,"c":0.5}`), []string{"--metric", "l2", "--max-distance-column", "f", "--min-distance-column", "c"}, []string{"row 0", `column "c"`, "5", "least score is 0"}},
		{"limits of all", query(`{"v":[1,2]}`), []string{"--min-score", "1", "--max-score", ".5"}, []string{"--min-score 1 and --max-score 0.5"}},
		{"infinite ceiling", bare, []string{"--max-score", "inf"}, []string{"--max-score", "Inf"}},
		{"any number in a matrix", query(`{"v":[1,2],"f":1}`), []string{"--min-score-column", "f"}, []string{"r.npz", "varying length"}},
		{"a format without columns", bare, []string{"--k-column", "k"}, []string{"bare.npy", "format npy has no columns", "npz, csv, parquet, arrow file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"search", "--vectors", atoms, "--metric", "ip", "--queries", c.queries, "--out", out}, c.args...)
			if c.args == nil {
				answers := clitest.WriteFile(t, t.TempDir(), "r.jsonl", []byte(`{"query":0,"ids":[0]}`+"\n"+`{"query":1,"ids":[0]}`+"\n"))
				args = []string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", c.queries, "--answers", answers, "--k-column", "k"}
			}
			thresher(t, args...).WantError(t, c.want...)
			if clitest.Exists(out) || clitest.Exists(out+".progress") {
				t.Error("an output was written")
			}
		})
	}
	arrays := npzFile(t, dir, "q.npz", map[string][]byte{"v": npy([]float32{1, 2, 3, 4}, 2), "k": npyInts(1, 2, 3)})
	thresher(t, "search", "--vectors", atoms, "--metric", "ip", "--queries", arrays, "--k-column", "k").WantError(t, "q.npz", `"k"`, "3 rows", "2 queries")
}

// TestGoalColumnsResume: a run that was killed goes on with the goals of the queries left.
func TestGoalColumnsResume(t *testing.T) {
	const m, dim = 2000, 8
	dir := t.TempDir()
	atoms := vectorFile(t, dir, "a.npy", 1, 120, dim)
	rows := gaussian(2, m*dim)
	all := make([]wish, m)
	for j := range all {
		k, floor, most := int64(1+j%5), float64(j%3), float64(4-j%2)
		all[j] = wish{Vector: rows[j*dim : (j+1)*dim], K: &k, Floor: &floor, Most: &most}
	}
	queries := wishes(t, dir, all)[0]
	args := func(out string) []string {
		return []string{"search", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--k-column", "k", "--min-score-column", "floor", "--max-score-column", "most", "--out", out}
	}
	whole, out := filepath.Join(dir, "whole.npz"), filepath.Join(dir, "out.npz")
	thresher(t, args(whole)...).WantCode(t, cli.ExitOK)
	child(t, func(p *os.Process) { p.Kill() }, args(out)...)
	thresher(t, append(args(out), "--resume", "--max-score-column", "k", "--min-score-column", "")...).WantError(t, "other vectors or settings")
	thresher(t, append(args(out), "--resume")...).WantCode(t, cli.ExitOK)
	if !bytes.Equal(clitest.ReadFile(t, whole), clitest.ReadFile(t, out)) {
		t.Error("the answers differ from those of an uninterrupted run")
	}
}

// TestHardNegatives: of 10,000 queries, each gets the 50 best atoms that score at most .95 of its
// positive's score, or all of them where there are fewer.
func TestHardNegatives(t *testing.T) {
	race.Skip(t, "what commands say of files; TestEveryMethodAnswers and TestGraphResumes run the same goroutines")
	const n, dim, k = 1500, 24, 50
	m := 10_000
	if testing.Short() {
		m = 1000
	}
	dir := t.TempDir()
	atomRows, queryRows := gaussian(1, n*dim), gaussian(2, m*dim)
	for _, rows := range [][]float32{atomRows, queryRows} { // positive scores, and 20 clusters
		for i := range rows {
			rows[i] = float32(math.Abs(float64(rows[i])))
			if i/dim%20 == i%dim%20 {
				rows[i] += 3
			}
		}
	}
	wide := make([]float64, len(atomRows))
	for i, v := range atomRows {
		wide[i] = float64(v)
	}
	scores := func(j int, out []float64) {
		query := make([]float64, dim)
		for d := range query {
			query[d] = float64(queryRows[j*dim+d])
		}
		for i := range out {
			out[i] = 0
			for d, v := range wide[i*dim : (i+1)*dim] {
				out[i] += v * query[d]
			}
		}
	}
	ceilings := make([]float64, m)
	row := make([]float64, n)
	for j := range ceilings {
		scores(j, row)
		positive := row[(j*7919)%n]
		if j%50 == 0 { // of few atoms that score less
			sorted := slices.Sorted(slices.Values(row))
			positive = sorted[j/50%60]
		}
		ceilings[j] = .95 * positive
	}
	atoms := clitest.WriteFile(t, dir, "a.npy", npy(atomRows, dim))
	queries := npzFile(t, dir, "q.npz", map[string][]byte{"vector": npy(queryRows, dim), "ceiling": npyDoubles(ceilings...)})
	out := filepath.Join(dir, "negatives.npz")
	thresher(t, "search", "--method", "certain", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k50", "--max-score-column", "ceiling", "--out", out).WantCode(t, cli.ExitOK)
	short := 0
	got := answersOf(t, out)
	for j, r := range got {
		scores(j, row)
		within := func(s float64) bool { return s <= ceilings[j] }
		below := 0
		for _, s := range row {
			if within(s) {
				below++
			}
		}
		if len(r.Rows) != min(k, below) {
			t.Fatalf("query %d: %d vectors, and %d are below %g", j, len(r.Rows), below, ceilings[j])
		}
		if below < k {
			short++
		}
		worst, found := math.Inf(1), map[int64]bool{}
		for _, id := range r.Rows {
			if !within(row[id]) || found[id] {
				t.Fatalf("query %d: vector %d twice, or of score %g above %g", j, id, row[id], ceilings[j])
			}
			found[id] = true
			worst = min(worst, row[id])
		}
		for i, s := range row {
			if len(r.Rows) == k && s > worst && within(s) && !found[int64(i)] {
				t.Fatalf("query %d: lacks vector %d of score %.17g; the worst has %.17g", j, i, s, worst)
			}
		}
	}
	if len(got) != m || short < m/100 || short > m/2 {
		t.Errorf("%d answers, %d of them short", len(got), short)
	}
	args := []string{"verify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "-k50", "--guarantee", "certain", "--answers", out, "--sample", "500"}
	thresher(t, append(args, "--max-score-column", "ceiling")...).WantCode(t, cli.ExitOK)
	thresher(t, args...).WantCode(t, cli.ExitWrong)
}

// TestHardNegativesOfRealData: sentence embeddings of films, whose positives are their nearest.
func TestHardNegativesOfRealData(t *testing.T) {
	atoms := filepath.Join("..", "..", "..", "shared", "data", "bert-mpnet-movies", "mpnet_embeddings.npy")
	if _, err := os.Stat(atoms); err != nil {
		t.Skip("needs ../shared/data/bert-mpnet-movies beside the module")
	}
	if testing.Short() {
		t.Skip("TestHardNegatives does the same on fewer coordinates")
	}
	dir := t.TempDir()
	nearest := filepath.Join(dir, "nearest.jsonl")
	thresher(t, "search", "--metric", "cosine", "--vectors", atoms, "--queries", atoms, "--exclude-self", "-k1", "--out", nearest).WantCode(t, cli.ExitOK)
	m, err := dataset.ReadAll(t.Context(), atoms, nil)
	if err != nil {
		t.Fatal(err)
	}
	ceilings, lists := []float64{}, [][]int64{}
	for _, r := range answersOf(t, nearest) {
		ceilings, lists = append(ceilings, .95*float64(r.Scores[0])), append(lists, r.Rows)
	}
	queries := npzFile(t, dir, "q.npz", map[string][]byte{"vector": npy(m.Data, m.Dim), "ceiling": npyDoubles(ceilings...)})
	known := csrFile(t, dir, "known.npz", int64(m.Rows), lists)
	for _, method := range []string{"certain", "adaptive", "exact"} {
		out := filepath.Join(dir, method+".parquet")
		args := []string{"--metric", "cosine", "--vectors", atoms, "--queries", queries, "--exclude-self", "-k50", "--max-score-column", "ceiling", "--exclude", known}
		thresher(t, append([]string{"search", "--method", method, "--out", out}, args...)...).WantCode(t, cli.ExitOK)
		thresher(t, append([]string{"verify", "--strict-delta", "--guarantee", map[string]string{"certain": "certain", "adaptive": "probabilistic", "exact": "exact"}[method], "--answers", out}, args...)...).WantCode(t, cli.ExitOK)
		for j, r := range answersOf(t, out) {
			if len(r.Rows) != 50 {
				t.Errorf("%s, query %d: %d vectors", method, j, len(r.Rows))
			}
		}
	}
}

// TestCertifyOfColumns: an atom above the ceiling, and one beyond the query's k, are no hits.
func TestCertifyOfColumns(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n[4]\n"))
	queries := clitest.WriteFile(t, dir, "q.jsonl", []byte(`{"v":[1],"k":2,"c":3}`+"\n"+`{"v":[1],"k":2,"c":3}`+"\n"+`{"v":[1],"k":null,"c":null}`+"\n"))
	answers := clitest.WriteFile(t, dir, "r.jsonl", []byte(`{"query":0,"ids":[4,3,2]}`+"\n"+`{"query":1,"ids":[3,2,1]}`+"\n"+`{"query":2,"ids":[4,3,2]}`+"\n"))
	out := filepath.Join(dir, "proven.jsonl")
	s := summaryOf(t, thresher(t, "certify", "--vectors", atoms, "--metric", "ip", "--queries", queries, "--answers", answers, "--k-column", "k", "--max-score-column", "c", "--out", out, "--json"))
	if s.Certified.Right != 2 || s.Certified.Missed != 1 || s.K != 3 {
		t.Errorf("%+v", s)
	}
	want := [][]int64{{3, 2}, {3, 2}, {4, 3, 2}}
	for j, r := range answersOf(t, out) {
		if diff := cmp.Diff(want[j], r.Rows); diff != "" {
			t.Errorf("query %d (-want +got):\n%s", j, diff)
		}
	}
}

// TestMaxScore: no atom above the limit of all is returned, for scores and distances, with k
// and without.
func TestMaxScore(t *testing.T) {
	dir := t.TempDir()
	atoms := clitest.WriteFile(t, dir, "a.jsonl", []byte("[0]\n[1]\n[2]\n[3]\n[4]\n"))
	queries := clitest.WriteFile(t, dir, "q.csv", []byte("x\n1\n-1\n"))
	for _, c := range []struct {
		args []string
		want [][]int64
	}{
		{[]string{"-k2", "--max-score", "2.5"}, [][]int64{{2, 1}, {0, 1}}},
		{[]string{"-k2", "--max-score", "-1"}, [][]int64{nil, {1, 2}}},
		{[]string{"--min-score", "-2", "--max-score", "1"}, [][]int64{{1, 0}, {0, 1, 2}}},
		{[]string{"--metric", "l2", "-k2", "--min-distance", "1"}, [][]int64{{0, 2}, {0, 1}}},                    // 1 away, at least
		{[]string{"--metric", "l2", "--max-distance", "4", "--min-distance", "1"}, [][]int64{{0, 2, 3}, {0, 1}}}, // 1 to 4
	} {
		out := filepath.Join(dir, "r.ibin")
		args := append([]string{"--vectors", atoms, "--metric", "ip", "--queries", queries}, c.args...)
		thresher(t, append([]string{"search", "--out", out, "--overwrite"}, args...)...).WantCode(t, cli.ExitOK)
		for j, r := range answersOf(t, out) {
			if diff := cmp.Diff(c.want[j], r.Rows); len(c.want[j])+len(r.Rows) > 0 && diff != "" {
				t.Errorf("%q, query %d (-want +got):\n%s", c.args, j, diff)
			}
		}
		thresher(t, append([]string{"verify", "--answers", out}, args...)...).WantCode(t, cli.ExitOK)
	}
}
