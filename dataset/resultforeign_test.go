package dataset

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// namedResults are bareResults with texts in the place of ids.
func namedResults() []Result {
	rs := bareResults(true)
	rs[0].Rows, rs[0].IDs = nil, []string{"c", "a", "bé"}
	rs[1].Rows, rs[1].IDs = nil, []string{"d", "e"}
	return rs
}

func writeTemp(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

type hitDocument struct {
	text string
	want []Result
}

func hitDocuments() []hitDocument {
	both, names := bareResults(true), namedResults()
	distances := bareResults(true)
	unscored := bareResults(false)
	first := bareResults(true)[:1]
	empty := []Result{{Rows: []int64{}}, {Query: 1, Rows: []int64{}}}
	return []hitDocument{
		{`{"usage":{"cpu":1},"result":[[{"id":3,"version":0,"score":2.5},{"id":1,"version":0,"score":1.0},{"id":2,"version":0,"score":0.25}],` +
			`[{"id":4,"version":0,"score":7,"payload":{"a":[1,{}]},"vector":null},{"id":0,"version":0,"score":-1e0}]],"status":"ok","time":0.001}`, both},
		{"\xef\xbb\xbf" + `{
  "time": 0.1,
  "result": [
    {"points": [{"id": "c", "score": 2.5}, {"id": "a", "score": 1}, {"id": "b\u00e9", "score": 0.25}]},
    {"points": [{"id": "d", "score": 7}, {"id": "e", "score": -1}], "next": null}
  ]
}`, names},
		{`{"result":{"points":[{"id":3,"score":2.5},{"id":1,"score":1},{"id":2,"score":0.25}]},"status":"ok"}` + "\n" +
			`{"result":[{"id":4,"score":7},{"score":-1,"id":0}]}` + "\n", both},
		{`[[{"id":3,"distance":2.5,"entity":{}},{"id":1,"distance":1},{"id":2,"distance":0.25}],[{"id":4,"distance":7},{"id":0,"distance":-1}]]`, distances},
		{`[[{"id":3},{"id":1},{"id":2}],[{"id":4},{"id":0}]]`, unscored},
		{`{"result":[[{"id":3,"score":2.5},{"id":1,"score":1},{"id":2,"score":0.25}]]}`, first},
		{`{"result":[[],{"points":[]}]}`, empty},
	}
}

func TestHits(t *testing.T) {
	for i, c := range hitDocuments() {
		for _, name := range []string{"a.json", "a.jsonl"} {
			got, n, err := readResults(writeTemp(t, name, c.text))
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			if d := cmp.Diff(c.want, got); d != "" || n != -1 {
				t.Errorf("%d: Len %d, (-want +got):\n%s", i, n, d)
			}
		}
	}
}

func TestMalformedHits(t *testing.T) {
	for _, c := range []struct {
		text     string
		row, col int64
		want     string
	}{
		{`{"result":[]}`, 0, -1, `write {"result":[[]]} for one query`},
		{`{"result":null,"status":{"error":"x"}}`, 0, -1, "is the response an error?"},
		{`{"result":[[{"id":1}],{"x":1}]}`, 1, 0, `hit has no field "id"`},
		{`{"result":[[{"id":1}],5]}`, 1, -1, "list of a query's hits is wanted"},
		{`{"result":{"found":[]}}`, 0, -1, `without "points" or "hits"`},
		{`{"result":[[{"id":1,"score":1},{"id":2}]]}`, 0, 1, "some vectors of the query have scores"},
		{`{"result":[[{"id":1,"score":null}]]}`, 0, 0, "a score, a finite number,"},
		{`{"result":[[{"id":1,"score":1e39}]]}`, 0, 0, "beyond the range of float32"},
		{`{"result":[[{"id":1,"score":1,"distance":1}]]}`, 0, 0, "both score and distance"},
		{`{"result":[[{"id":1},{"id":"a"}]]}`, 0, 1, "integers and others texts"},
		{`{"result":[[{"id":1}],[{"id":"a"}]]}`, 1, 0, "integers and others texts"},
		{`{"result":[[{"id":1,"id":2}]]}`, 0, 0, `field "id" appears twice`},
		{`{"result":[[{"id":1.5}]]}`, 0, 0, "an id, a string or an integer"},
		{`{"result":[[{"id":18446744073709551615}]]}`, 0, 0, "does not fit int64"},
		{`{"result":[[{"id":1}],[{"id":2}`, 1, -1, "truncated"},
		{`{"result":[[{"id":1}]],"result":[]}`, 1, -1, `"result" appears twice`},
		{`{"result":[[{"id":1}]]} x`, 1, -1, "near byte"},
		{`[1,2,3]`, 0, -1, "list of a query's hits is wanted"},
		{`[[{"id":1}],{"points":[]}]`, 1, -1, "list of a query's hits is wanted"},
		{`[[{"id":1,"_id":"a"}]]`, 0, 0, "both id and _id"},
		{`[[{"pk":1,"score":1}]]`, 0, 0, "it has pk"},
		{`{"found":[{"id":1}]}`, 0, -1, "of vector databases"},
	} {
		path := writeTemp(t, "a.json", c.text)
		_, _, err := readResults(path)
		checkError(t, nil, err, path, c.row, c.col, c.want)
	}
}

// longTexts are tables that hold bareResults or namedResults.
func longTexts(ext string) map[string]string {
	if ext == ".csv" {
		return map[string]string{
			"bare":  "query_id,id,score,note\n0,1,1,\"a,\nb\"\n0,3,2.5,\n0,2,0.25,\n1,0,-1,\n1,4,7,\n",
			"named": "\xef\xbb\xbfrank;id;score;query\n9;bé;0.25;0\n1;c;2.5;0\n2;a;1;0\n0;d;7;1\n1;e;-1;1",
		}
	}
	return map[string]string{
		"bare": `{"query":0,"id":1,"score":1,"x":{"id":9}}` + "\n\n" + `{"score":2.5,"query":0.0,"id":3}` + "\n" + `{"query":0,"id":2,"score":0.25}` + "\n" +
			`{"query":1,"id":0,"score":-1}` + "\n" + `{"query":1,"id":4,"score":7}`,
		"named": `{"id":"c","rank":1,"query_id":0,"similarity":2.5}` + "\n" + `{"id":"b\u00e9","rank":3,"query_id":0,"similarity":0.25}` + "\n" + `{"id":"a","rank":2,"query_id":0,"similarity":1}` + "\n" +
			`{"id":"d","rank":-1,"query_id":1,"similarity":7}` + "\n" + `{"id":"e","rank":0,"query_id":1,"similarity":-1}` + "\n",
	}
}

func TestLongForms(t *testing.T) {
	check := func(path, name string) {
		t.Helper()
		want := bareResults(true)
		if name == "named" {
			want = namedResults()
		}
		got, n, err := readResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" || n != -1 {
			t.Errorf("%s: Len %d, (-want +got):\n%s", path, n, d)
		}
	}
	for _, ext := range []string{".csv", ".jsonl"} {
		for name, text := range longTexts(ext) {
			check(writeTemp(t, "a"+ext, text), name)
		}
	}
	check("testdata/named.parquet", "named")

	// Distances ascend.
	want := bareResults(true)
	want[0].Scores, want[1].Scores = []float32{-2.5, -1, -0.25}, []float32{-7, 1}
	got, _, err := readResults("testdata/rows.parquet")
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("rows.parquet: %v, (-want +got):\n%s", err, d)
	}
}

func TestMalformedLongForms(t *testing.T) {
	for _, c := range []struct {
		file, text string
		row, col   int64
		want       string
	}{
		{"a.csv", "id,score\n1,2\n", -1, -1, "no column query or query_id or query_index or query-id or qid; the file has id, score"},
		{"a.csv", "query,id,score,distance\n", -1, -1, "columns score and distance: one of them is wanted"},
		{"a.csv", "query,query_id,id\n", -1, -1, "columns query and query_id"},
		{"a.csv", "query,id\n0,1\n0\n", 1, -1, "row has 1 fields, the header has 2"},
		{"a.csv", "query,id\n-1,1\n", 0, 0, "query -1 is negative"},
		{"a.csv", "query,id\nx,1\n", -1, -1, `query "x" is no row number, and the queries have no ids`},
		{"a.csv", "query,id\n0,\n", 0, 1, "id is empty"},
		{"a.csv", "query,id\n0,7\n0,a7\n", 1, -1, "integers and others texts"},
		{"a.csv", "query,id,score\n0,7,nan\n", 0, 2, "NaN"},
		{"a.csv", "query,id,rank\n0,7,1\n0,8,1\n", -1, -1, "query 0: rank 1 appears twice"},
		{"a.jsonl", `{"id":1}`, 0, -1, "no column query"},
		{"a.jsonl", `{"id":1,"query":0,"score":1}` + "\n" + `{"id":1,"query":0}`, 1, -1, `line 2: object has no field "score"`},
		{"a.jsonl", `{"id":1,"query":1.5}`, 0, -1, "query: not an integer"},
		{"a.jsonl", `{"id":1,"query":99999999999999999999}`, 0, -1, "does not fit int64"},
		{"a.jsonl", `{"id":1,"query":-1}`, 0, -1, "query -1 is negative"},
		{"a.jsonl", `{"id":1,"query":0,"id":2}`, 0, -1, "columns id and id"},
		{"a.jsonl", `{"id":1,"query":0}` + "\n[1]", 1, -1, "an object"},
		{"a.jsonl", `{"id":1,"query":0} x`, 0, -1, "the end of the line"},
		{"a.jsonl", `{"id":1,"query":0,"score":"x"}`, 0, -1, "score: "},
	} {
		path := writeTemp(t, c.file, c.text)
		_, _, err := readResults(path)
		checkError(t, nil, err, path, c.row, c.col, c.want)
	}
}

// TestLongFormQueries: rows may be in any order, queries be called by ids, and lack hits, if the queries are known.
func TestLongFormQueries(t *testing.T) {
	both := bareResults(true)
	gap := []Result{both[0], {Query: 1, Rows: []int64{}}, {Query: 2, Rows: both[1].Rows, Scores: both[1].Scores}, {Query: 3, Rows: []int64{}}}
	queries := func(n int64, ids []string) *Queries {
		return &Queries{
			Len: func() (int64, error) { return n, nil },
			IDs: func() (*IDs, error) {
				if ids == nil {
					return nil, nil
				}
				return IDsOf(ids), nil
			},
		}
	}
	const rows = "\n%[2]s,0,-1\n%[1]s,1,1\n%[2]s,4,7\n%[1]s,3,2.5\n%[1]s,2,.25\n"
	table := func(column, first, second string) string {
		return column + ",id,score" + fmt.Sprintf(rows, first, second)
	}
	for _, c := range []struct {
		text    string
		queries *Queries
		want    []Result
		err     string
	}{
		{table("query", "0", "1"), nil, both, ""},
		{table("query", "0", "2"), nil, []Result{gap[0], gap[2]}, ""},
		{table("query", "0", "2"), queries(4, nil), gap, ""},
		{table("query", "0", "2"), queries(4, []string{"2", "3", "0", "1"}), gap, ""},
		{table("query_id", "0", "2"), queries(4, nil), gap, ""},
		{table("query_id", "0", "2"), queries(4, []string{"a", "b", "0", "d"}), gap, ""},
		{table("query_id", "9", "7"), queries(4, []string{"9", "8", "7", "6"}), gap, ""},
		{table("query_id", "0", "2"), queries(4, []string{"2", "3", "0", "1"}), nil, "can be row numbers of the queries, or their ids: call the column query"},
		{table("query-id", "q0", "q2"), queries(4, []string{"q0", "q1", "q2", "q3"}), gap, ""},
		{table("qid", "q0", "7"), queries(4, []string{"q0", "q1", "7", "q3"}), gap, ""},
		{table("query", "q0", "q9"), queries(4, []string{"q0", "q1", "q2", "q3"}), nil, `no query has the id "q9"`},
		{table("query", "q0", "q1"), queries(4, []string{"q0", "q1", "q0", "q3"}), nil, `several queries have the id "q0"`},
		{table("query", "0", "4"), queries(4, nil), nil, "a row is of query 4, and there are 4 queries"},
	} {
		r, err := OpenResultsOf(writeTemp(t, "a.csv", c.text), nil, c.queries)
		if err != nil {
			t.Fatal(err)
		}
		got, err := allResults(r)
		if c.err != "" {
			checkError(t, nil, err, r.(*longResults).file, -1, -1, c.err)
		} else if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%q: %v, (-want +got):\n%s", c.text, err, d)
		}
		r.Close()
	}
}

// TestLongFormHeld: rows beyond what may be held are read in their order, or refused.
func TestLongFormHeld(t *testing.T) {
	const queries, each = 400, 1000 // more than 16 MiB of rows
	for _, sorted := range []bool{true, false} {
		text := strings.Builder{}
		text.WriteString("query,id\n")
		for i := range queries * each {
			q := i / each
			if !sorted && i == 0 {
				q = 1
			}
			fmt.Fprintf(&text, "%d,%d\n", q, i%each)
		}
		r, err := OpenResultsOf(writeTemp(t, "a.csv", text.String()), BudgetOf(1, "--read-limit"), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := allResults(r)
		r.Close()
		switch {
		case !sorted:
			if err == nil || !strings.Contains(err.Error(), "must be sorted by query") || !strings.Contains(err.Error(), "--read-limit") {
				t.Error(err)
			}
		case err != nil || len(got) != queries:
			t.Errorf("%d answers, %v", len(got), err)
		default:
			for q := range got {
				if len(got[q].Rows) != each || got[q].Query != int64(q) {
					t.Fatalf("query %d has %d rows", got[q].Query, len(got[q].Rows))
				}
			}
		}
	}
}

// allResults reads results to their end.
func allResults(r ResultReader) (all []Result, err error) {
	for {
		one, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

// TestLongFormRoundTrip: shuffled rows of a query come back in the order of their ranks or
// scores, whatever the table.
func TestLongFormRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []Result
		csv, lines := "query,rank,id,score\n", ""
		for q := range rapid.IntRange(1, 4).Draw(t, "queries") {
			n := rapid.IntRange(1, 5).Draw(t, "ids")
			r := Result{Query: int64(q)}
			rows := make([]int, n)
			for j := range n {
				rows[j] = j
				r.Rows = append(r.Rows, rapid.Int64().Draw(t, "id"))
				r.Scores = append(r.Scores, rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, "score"))
			}
			for _, j := range rapid.Permutation(rows).Draw(t, "order") {
				csv += fmt.Sprintf("%d,%d,%d,%v\n", q, j, r.Rows[j], r.Scores[j])
				lines += fmt.Sprintf(`{"query":%d,"rank":%d,"id":%d,"score":%v}`+"\n", q, j, r.Rows[j], r.Scores[j])
			}
			want = append(want, r)
		}
		for name, text := range map[string]string{"a.csv": csv, "a.jsonl": lines} {
			format, _ := FormatOf(name)
			r, err := openResultsAs(memorySource(name, []byte(text)), format)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				got, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want[i], got); d != "" {
					t.Fatalf("%s, query %d (-want +got):\n%s", name, i, d)
				}
			}
		}
	})
}

// TestHitsMemory: a document with an endless value is refused at the limit.
func TestHitsMemory(t *testing.T) {
	text := `{"result":[[{"id":1,"payload":"` + strings.Repeat("x", 4<<20)
	j := openHits(newSource(strings.NewReader(text), "a.json"))
	j.limit = 1 << 20
	_, err := j.Next()
	checkError(t, nil, err, "a.json", 0, -1, "longer than")
}
