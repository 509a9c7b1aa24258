package offline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/files"
	"thresher/service/problem"
)

// goalMatrix is n rows with columns of their own goals, lists of ids for them, and the goals
// that these mean where k is 4 and the least score -1.
type goalMatrix struct {
	queries                      []float32
	rows, exclusions, candidates string
	goals                        []batch.QueryGoal
}

func newGoalMatrix(n int) *goalMatrix {
	g := &goalMatrix{queries: gaussian(5, n)}
	var rows, exclusions, candidates strings.Builder
	for j := range n {
		v, err := json.Marshal(g.queries[j*dim : (j+1)*dim])
		if err != nil {
			panic(err) // finite numbers have JSON
		}
		least := -1.
		goal := batch.QueryGoal{K: 4, MinScore: &least, Exclude: []int64{}, Candidates: []int64{int64(j), int64(3 * j % 50)}}
		k, floor, ceiling := "null", "null", "null"
		switch j % 4 {
		case 0:
			k, goal.K = "7", 7
		case 1:
			floor, least = "1.5", 1.5
		case 2:
			for i := range j + 1 {
				goal.Exclude = append(goal.Exclude, int64(i))
			}
		case 3:
			most := 3.25
			ceiling, goal.MaxScore = "3.25", &most
		}
		fmt.Fprintf(&rows, `{"v":%s,"k":%s,"floor":%s,"ceiling":%s}`+"\n", v, k, floor, ceiling)
		text, err := json.Marshal(goal.Exclude)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&exclusions, "%s\n", text)
		fmt.Fprintf(&candidates, `{"query":%d,"ids":[%d,%d],"scores":[2,1]}`+"\n", j, goal.Candidates[0], goal.Candidates[1])
		g.goals = append(g.goals, goal)
	}
	g.rows, g.exclusions, g.candidates = rows.String(), exclusions.String(), candidates.String()
	return g
}

// spec returns the spec of a batch of g, whose lists are files with these ids.
func (g *goalMatrix) spec(exclude, candidates string) Spec {
	return Spec{
		Search: json.RawMessage(`{"k":4,"min_score":-1,"include":["certificate"]}`),
		Goals: &BatchGoals{
			KColumn: "k", MinScoreColumn: "floor", MaxScoreColumn: "ceiling",
			ExcludeFileID: exclude, CandidatesFileID: candidates,
		},
	}
}

// uploaded is spec after uploading the lists.
func (g *goalMatrix) uploaded(l *lab) Spec {
	return g.spec(l.upload("seen.jsonl", g.exclusions), l.upload("theirs.jsonl", g.candidates))
}

// TestRowGoals: each row of a matrix gets what its columns and lists ask for, and the same bytes
// if the server is restarted, or loses its database, half-way.
func TestRowGoals(t *testing.T) {
	const n = 40
	g := newGoalMatrix(n)
	var text string
	for _, restart := range []func(*lab){nil, (*lab).reopen, (*lab).loseDatabase} {
		l := newLab(t, Options{Chunk: 8, Slice: 3})
		turnstile := block(l.atlas.shelf["films"])
		b := l.submit("q.jsonl", g.rows, g.uploaded(l))
		if restart != nil {
			turnstile.pass(5) // a chunk and a part
			<-turnstile.entered
			restart(l)
			for _, id := range []string{b.InputFileID, b.Goals.ExcludeFileID, b.Goals.CandidatesFileID} {
				if err := l.files.Delete(id); err == nil {
					t.Errorf("file %s of a batch at work is gone", id)
				}
			}
		}
		close(turnstile.release)
		go func() {
			for range turnstile.entered {
			}
		}()
		b = l.wait(b.ID)
		close(turnstile.entered)
		if b.Status != Completed || b.RequestCounts != (Counts{Total: n, Completed: n}) {
			t.Fatalf("%+v %+v", b, b.Errors)
		}
		got := l.content(b.OutputFileID)
		if restart != nil && got != text {
			t.Error("the output after a restart is another")
		}
		text = got
		resp, err := l.atlas.shelf["films"].engine.Search(context.Background(), batch.Request{Queries: g.queries, Goals: g.goals})
		if err != nil {
			t.Fatal(err)
		}
		for j, r := range results(t, l, &b) {
			if d := cmp.Diff(resp.Answers[j].IDs, r.Rows); d != "" {
				t.Errorf("row %d: %s", j, d)
			}
			if j%4 != 2 && !strings.Contains(string(r.Certificate), `"candidates":{"given":`) {
				t.Errorf("row %d: %s", j, r.Certificate)
			}
		}
		for _, id := range []string{b.InputFileID, b.Goals.ExcludeFileID, b.Goals.CandidatesFileID} {
			if err := l.files.Delete(id); err != nil {
				t.Errorf("after the end: %v", err)
			}
		}
	}
}

// TestRowGoalsHold: the files of lists cannot be deleted while their batch needs them, and their
// copies in a batch's folder have a format by their name.
func TestRowGoalsHold(t *testing.T) {
	l := newLab(t, Options{})
	g := newGoalMatrix(6)
	turnstile := block(l.atlas.shelf["films"])
	spec := g.uploaded(l)
	spec.OutputFormat = "npz"
	b := l.submit("q.jsonl", g.rows, spec)
	<-turnstile.entered
	for _, id := range []string{spec.Goals.ExcludeFileID, spec.Goals.CandidatesFileID} {
		if err := l.files.Delete(id); problem.Of(err).Kind != problem.Conflict {
			t.Errorf("deleted: %v", err)
		}
	}
	for _, name := range []string{"input.jsonl", "exclude.jsonl", "candidates.jsonl"} {
		if _, err := os.Stat(filepath.Join(l.dir, "batches", b.ID, name)); err != nil {
			t.Error(err)
		}
	}
	turnstile.release <- nil
	if b = l.wait(b.ID); b.Status != Completed {
		t.Fatalf("%+v", b.Errors)
	}
	if r := results(t, l, &b); len(r) != 6 || len(r[0].Rows) != 7 {
		t.Errorf("%+v", r) // the matrix has the columns of the greatest k
	}
	for name, want := range map[string]string{"a.npz": ".npz", "A.JSONL.GZ": ".jsonl.gz", "x": "", "a.b/../c": "", "a.☃": "", "q.parquet": ".parquet", "a.gz": ".gz"} {
		if got := files.Suffix(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestCandidatesOfBatches: answers of an earlier batch are candidates of a later one, in the form of now and in
// those of before version 2: ids that are integers in the place of row numbers, or texts beside them.
func TestCandidatesOfBatches(t *testing.T) {
	const n = 6
	queries := fvecs(gaussian(5, n))
	for _, collection := range []string{"films", "numbers", "names"} {
		l := newLab(t, Options{})
		spec := Spec{Endpoint: "/v1/collections/" + collection + "/search", Search: json.RawMessage(`{"k":3,"method":"certain","include":["certificate"]}`)}
		b := l.wait(l.submit("q.fvecs", queries, spec).ID)
		now := l.content(b.OutputFileID)
		var before strings.Builder
		for _, r := range results(t, l, &b) {
			rows, ids := idsAsJSON(t, r.Rows), ""
			switch collection {
			case "numbers":
				rows = "[" + strings.Join(r.IDs, ",") + "]"
			case "names":
				ids = `,"names":["` + strings.Join(r.IDs, `","`) + `"]`
			}
			fmt.Fprintf(&before, `{"query":%d,"ids":%s%s,"scores":[3,2,1],"pulls":7,"exact":true}`+"\n", r.Query, rows, ids)
		}
		for form, candidates := range map[string]string{"now": now, "before": before.String()} {
			spec.Goals = &BatchGoals{CandidatesFileID: l.upload("theirs.jsonl", candidates)}
			b := l.wait(l.submit("q.fvecs", queries, spec).ID)
			if b.Status != Completed {
				t.Fatalf("%s, %s: %+v", collection, form, b.Errors)
			}
			for _, r := range results(t, l, &b) {
				if !strings.Contains(string(r.Certificate), `"candidates":{"given":3,"right":3}`) {
					t.Errorf("%s, %s: %s", collection, form, r.Certificate)
				}
			}
		}
	}
}

// TestFewRowFiltersAreKept: expressions that no row fulfils take memory, too, and as few are kept as others.
func TestFewRowFiltersAreKept(t *testing.T) {
	l := newLab(t, Options{})
	path := filepath.Join(t.TempDir(), "q.jsonl")
	var rows strings.Builder
	for j := range 500 {
		fmt.Fprintf(&rows, `{"only":"number > %d"}`+"\n", 1000+j)
	}
	if err := os.WriteFile(path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	texts, err := dataset.OpenValues(path, "", nil, "only")
	if err != nil {
		t.Fatal(err)
	}
	f := &rowFilters{input: linked{path, "q.jsonl"}, column: "only", of: l.atlas.shelf["films"], texts: texts, known: map[string][]int64{}, most: 1000}
	defer f.close()
	for j := range 500 {
		rows, listed, err := f.row()
		if err != nil || rows == nil || len(rows) > 0 || listed != 0 {
			t.Fatalf("row %d: %v, %d (%v)", j, rows, listed, err)
		}
		if n := len(f.known); n > 1000*8/expressionBytes || n == 0 {
			t.Fatalf("%d expressions are kept at row %d", n, j)
		}
	}
}

// TestRowFilters: a column of the input says which vectors each row may have, and null what all may.
func TestRowFilters(t *testing.T) {
	l := newLab(t, Options{Chunk: 3})
	queries := gaussian(5, 4)
	filters := []string{`"number < 50"`, `"number in (7, 190)"`, "null", `"number > 1000"`}
	var rows strings.Builder
	for j, filter := range filters {
		v, err := json.Marshal(queries[j*dim : (j+1)*dim])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&rows, `{"v":%s,"only":%s}`+"\n", v, filter)
	}
	b := l.wait(l.submit("q.jsonl", rows.String(), Spec{
		Search: json.RawMessage(`{"k":3,"method":"exact","filter":"number >= 150","include":["certificate"]}`),
		Goals:  &BatchGoals{FilterColumn: "only"},
	}).ID)
	if b.Status != Completed {
		t.Fatalf("%+v", b.Errors)
	}
	between := func(from, to int64) (rows []int64) {
		for row := from; row < to; row++ {
			rows = append(rows, row)
		}
		return rows
	}
	allowed := [][]int64{between(0, 50), {7, 190}, between(150, 200), {}}
	goals := make([]batch.QueryGoal, len(allowed))
	for j := range goals {
		goals[j].Filter = allowed[j]
	}
	resp, err := l.atlas.shelf["films"].engine.Search(context.Background(), batch.Request{Queries: queries, K: 3, Method: batch.Exact, Goals: goals})
	if err != nil {
		t.Fatal(err)
	}
	for j, r := range results(t, l, &b) {
		if d := cmp.Diff(resp.Answers[j].IDs, r.Rows, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("row %d: %s", j, d)
		}
		if r.Covers != nil {
			t.Errorf("row %d states that it covers %s", j, r.Covers)
		}
	}
}

func idsAsJSON(t *testing.T, ids []int64) string {
	t.Helper()
	text, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBadRowGoals: what the rows ask for is checked before anything is searched.
func TestBadRowGoals(t *testing.T) {
	l := newLab(t, Options{})
	g := newGoalMatrix(3)
	row := `{"v":[1,2,3,4,5,6,7,8],"k":%s,"floor":1}` + "\n"
	for _, x := range []struct {
		name, rows, field, says string
		goals                   BatchGoals
		exclude, candidates     string
	}{
		{"no such column", g.rows, "goals", `q.jsonl`, BatchGoals{KColumn: "kk"}, "", ""},
		{"k 0", fmt.Sprintf(row, "2") + fmt.Sprintf(row, "0"), "goals.k_column", `q.jsonl: row 1 (0-based), column "k": k is 0; an integer from 1 to 2147483647`, BatchGoals{KColumn: "k"}, "", ""},
		{"k 1.5", fmt.Sprintf(row, "1.5"), "goals.k_column", "k is 1.5", BatchGoals{KColumn: "k"}, "", ""},
		{"limits apart", fmt.Sprintf(row, "2") + fmt.Sprintf(row, "0.5"), "goals.max_score_column", `q.jsonl: row 1 (0-based), column "k": 0.5, but min_score is 1: no score is within both`, BatchGoals{MinScoreColumn: "floor", MaxScoreColumn: "k"}, "", ""},
		{"k beyond the vectors", fmt.Sprintf(row, "201"), "goals.k_column", "k is 201 and the collection has 200 vectors; cut_k reduces k to that", BatchGoals{KColumn: "k"}, "", ""},
		{"k text", fmt.Sprintf(row, `"1"`), "goals", "q.jsonl", BatchGoals{KColumn: "k"}, "", ""},
		{"no column of filters", "[1,2,3,4,5,6,7,8]\n", "goals.filter_column", "q.jsonl", BatchGoals{FilterColumn: "only"}, "", ""},
		{"a number as filter", g.rows, "goals.filter_column", `q.jsonl: row 0 (0-based), column "k": a filter is a text`, BatchGoals{FilterColumn: "k"}, "", ""},
		{"a filter of no column", `{"v":[1,2,3,4,5,6,7,8]}` + "\n" + `{"v":[1,2,3,4,5,6,7,8],"only":"year > 1999"}` + "\n", "goals.filter_column", `q.jsonl: row 1 (0-based), column "only": filter, character 6: there is no column "year"`, BatchGoals{FilterColumn: "only"}, "", ""},
		{"a filter that is none", `{"v":[1,2,3,4,5,6,7,8],"only":"number >"}` + "\n", "goals.filter_column", `q.jsonl: row 0 (0-based), column "only": `, BatchGoals{FilterColumn: "only"}, "", ""},
		{"few lists", g.rows, "goals.exclude_file_id", "lists.jsonl has 2 lists, and there are more queries", BatchGoals{}, "[]\n[]\n", ""},
		{"many lists", g.rows, "goals.exclude_file_id", "lists.jsonl has more than 3 lists, and there are 3 queries", BatchGoals{}, "[]\n[]\n[]\n[1]\n", ""},
		{"unknown id", g.rows, "goals.exclude_file_id", "lists.jsonl: query 1: entry 1 (0-based): there is no vector 200", BatchGoals{}, "[]\n[1,200]\n[]\n", ""},
		{"damaged lists", g.rows, "goals.exclude_file_id", "lists.jsonl", BatchGoals{}, "[]\n[1,\n[]\n", ""},
		{"unknown candidate", g.rows, "goals.candidates_file_id", "query 2: entry 0 (0-based): there is no vector 777", BatchGoals{}, "", `{"query":0,"ids":[1]}` + "\n" + `{"query":1,"ids":[]}` + "\n" + `{"query":2,"ids":[777]}` + "\n"},
		{"answers in another order", g.rows, "goals.candidates_file_id", "answers must be in the order of the queries", BatchGoals{}, "", `{"query":1,"ids":[1]}` + "\n" + `{"query":0,"ids":[1]}` + "\n"},
	} {
		if x.exclude != "" {
			x.goals.ExcludeFileID = l.upload("lists.jsonl", x.exclude)
		}
		if x.candidates != "" {
			x.goals.CandidatesFileID = l.upload("lists.jsonl", x.candidates)
		}
		b := l.wait(l.submit("q.jsonl", x.rows, Spec{Goals: &x.goals}).ID)
		if b.Status != Failed || b.Errors == nil || b.RequestCounts.Completed != 0 {
			t.Errorf("%s: %+v", x.name, b)
			continue
		}
		e := b.Errors.Data[0]
		if e.Param == nil || *e.Param != x.field || !strings.Contains(e.Message, x.says) || strings.Contains(e.Message, l.dir) {
			t.Errorf("%s: %+v", x.name, e)
		}
	}
	_, err := l.m.Create(context.Background(), Spec{InputFileID: l.upload("q.jsonl", g.rows), Endpoint: films, Goals: &BatchGoals{ExcludeFileID: "file-x"}}, "", "")
	var p *problem.Problem
	if !errors.As(err, &p) || p.Kind != problem.UnknownFile || p.Field != excludeField {
		t.Errorf("%v", err)
	}
	if _, err := DecodeSpec([]byte(`{"input_file_id":"f","goals":{"k_column":7}}`)); problem.Of(err).Field != "goals.k_column" {
		t.Errorf("%v, field %q", err, problem.Of(err).Field)
	}
	s, err := DecodeSpec([]byte(`{"input_file_id":"f","goals":{"k_column":"k","candidates_file_id":"c"}}`))
	if d := cmp.Diff(&BatchGoals{KColumn: "k", CandidatesFileID: "c"}, s.Goals); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestRowLists: the rows of a chunk list a bounded number of ids.
func TestRowLists(t *testing.T) {
	l := rowLists(endless{}, newAtlas(t).shelf["films"])
	for range 4 {
		if _, err := l.Next(false); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Next(true)
	if err = (linked{name: "x"}).explain(err, l, "f"); problem.Of(err).Kind != problem.OverLimit || !strings.Contains(err.Error(), "x: query 4: 2097153 ids, at most 2097152") {
		t.Error(err)
	}
}

// endless is lists of more ids than a row may have.
type endless struct{}

func (endless) Next() (dataset.List, error) {
	return dataset.List{IDs: make([]int64, maxAtoms+1)}, nil
}
func (endless) Close() error { return nil }
