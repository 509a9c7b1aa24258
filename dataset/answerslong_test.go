package dataset

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAnswersLongRoundTrip: answers as rows of CSV come back as they were, those without vectors too.
func TestAnswersLongRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		named, exactly, asked := rapid.IntRange(0, 3).Draw(t, "named"), rapid.Bool().Draw(t, "exactly"), rapid.Bool().Draw(t, "asked by")
		text := rapid.StringOf(rapid.RuneFrom([]rune("aé7, \"\n\r;\t\\.-"))).Filter(func(s string) bool { return !strings.Contains(s, "\r\n") })
		var want []Result
		for i := range rapid.IntRange(1, 4).Draw(t, "queries") {
			k := rapid.IntRange(0, 3).Draw(t, "k")
			r := Result{
				Query: int64(i) * 3, Pulls: rapid.Int64Range(-1, math.MaxInt64).Draw(t, "pulls"),
				Exact: rapid.Bool().Draw(t, "exact"), Partial: rapid.Bool().Draw(t, "partial"),
				Guarantee: rapid.SampledFrom([]string{"", "bound", "exact"}).Draw(t, "guarantee"), Delta: rapid.Float64Range(0, .5).Draw(t, "delta"),
			}
			if asked {
				r.QueryID = text.Draw(t, "query id")
			}
			for range k {
				r.Scores = append(r.Scores, rapid.Float32().Draw(t, "score"))
				if exactly {
					r.Scores64 = append(r.Scores64, rapid.Float64().Draw(t, "score64"))
				}
				if named != 3 {
					r.Rows = append(r.Rows, rapid.Int64Range(0, math.MaxInt64).Draw(t, "row"))
				}
				switch named {
				case 1:
					r.IDs = append(r.IDs, strconv.FormatUint(rapid.Uint64().Draw(t, "number"), 10))
				case 2, 3:
					r.IDs = append(r.IDs, text.Draw(t, "id"))
				}
			}
			want = append(want, r)
		}
		if rapid.Bool().Draw(t, "covering") {
			want[0].Covers = json.RawMessage(`{"rows":"5, or \"6\""}`)
		}
		var b bytes.Buffer
		if err := writeAnswersLong(CSV, eachOf(want), &b); err != nil {
			t.Fatal(err)
		}
		got, err := readLong(b.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, &b)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s\n%s", diff, &b)
		}
	})
}

// readLong reads the bytes of a CSV of answers.
func readLong(text []byte) (all []Result, err error) {
	r, err := openResultsAs(memorySource("a.csv", text), CSV)
	if err != nil {
		return nil, err
	}
	for {
		answer, err := r.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, answer)
	}
}

// TestAnswersLong: what a reader of CSV sees, and what is refused of a file that was changed.
func TestAnswersLong(t *testing.T) {
	answers := []Result{
		{Query: 0, QueryID: "q,0", Rows: []int64{3, 1}, IDs: []string{"30", "10"}, Scores: []float32{2.5, float32(math.Inf(-1))}, Scores64: []float64{2.5000000001, math.Inf(-1)}, Pulls: 7, Exact: true, Guarantee: "exact", Covers: json.RawMessage(`{"k":2}`)},
		{Query: 1, QueryID: "q1", Pulls: 9, Partial: true, Guarantee: "bound"},
	}
	var b bytes.Buffer
	if err := writeAnswersLong(CSV, eachOf(answers), &b); err != nil {
		t.Fatal(err)
	}
	want := `query,query_id,rank,id,row,score,score64,count,pulls,exact,complete,guarantee,delta,epsilon,answers_version,covers
0,"q,0",1,30,3,2.5,2.5000000001,2,7,true,true,exact,0,0,2,"{""k"":2}"
0,"q,0",2,10,1,,,2,7,true,true,exact,0,0,2,
1,q1,,,,,,0,9,false,false,bound,0,0,2,
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := readLong(b.Bytes()); err != nil || cmp.Diff(answers, got) != "" {
		t.Errorf("%v\n%s", err, cmp.Diff(answers, got))
	}
	for _, c := range []struct{ old, new, err string }{
		{"0,\"q,0\",2,10,1,,,2,7,true,true,exact,0,0,2,\n1", "1", "query 0 has 1 rows and the count 2"},
		{"\n1,q1,,,,,,0,9,false,false,bound,0,0,2,", "\n0,a,1,5,5,1,1,2,7,true,true,exact,0,0,2,", "the file ends after 1 of the 2 rows of query 0"},
		{",2,10,1,", ",3,10,1,", "query 0: rank 2 is expected, of count 2"},
		{",2,10,1,", ",2,10,,", "some vectors of the query have row numbers or ids, and others none"},
		{",2,10,1,", ",2,10,-4,", "row -4 is negative"},
		{",2,10,1,,", ",2,10,1,NaN,", "score is NaN"},
		{",0,9,false", ",-1,9,false", "query 1 or count -1 is negative"},
		{",0,9,false", ",0,9,maybe", `exact: "maybe" is neither true nor false`},
		{",0,9,false", ",,9,false", `count: "" is no integer`},
		{"bound,0,0,2", "bound,0,0,3", "answers_version 3: versions up to 2 are read"},
		{"bound,0,0,2", "bound,0,0,1", "begin with version 2"},
		{"bound,0,0,2", "bound,2,0,2", "delta 2 or epsilon 0 is out of range"},
	} {
		text := strings.Replace(want, c.old, c.new, 1)
		if c.old == c.new || text == want {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := readLong([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "a.csv") {
			t.Errorf("%q: %v, want %q", c.new, err, c.err)
		}
	}
	if err := writeAnswersLong(CSV, eachOf([]Result{{Rows: []int64{1}, IDs: []string{"a\r\nb"}}}), &b); err == nil || !strings.Contains(err.Error(), "CR LF") {
		t.Errorf("an id that would come back as another: %v", err)
	}
}
