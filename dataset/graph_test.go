package dataset

import (
	"archive/zip"
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	_ "thresher/internal/draws"
)

// graphRows are the rows of testdata/graph.npz.
func graphRows() []Result {
	return []Result{
		{Query: 0, Rows: []int64{3, 2}, Scores: []float32{2.5, .25}}, {Query: 1, Rows: []int64{1}, Scores: []float32{0}}, {Query: 2},
		{Query: 3, Rows: []int64{0, 4}, Scores: []float32{1, -7}}, {Query: 4},
	}
}

func eachOf(rows []Result) EachResult {
	return func(do func(i int64, r *Result) error) error {
		for i := range rows {
			if err := do(int64(i), &rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// npzArrays returns the npy files of an npz by name.
func npzArrays(t testing.TB, b []byte) map[string][]byte {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if arrays[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return arrays
}

// TestWriteCSR: the arrays are those that scipy writes, byte for byte.
func TestWriteCSR(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "graph.npz"))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := WriteCSR(eachOf(graphRows()), 5, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(npzArrays(t, want), npzArrays(t, got.Bytes())); diff != "" {
		t.Errorf("(-scipy +thresher):\n%s", diff)
	}
}

// TestCSRIntegers: indices have 64 bits where 32 do not suffice for the rows or for the edges.
func TestCSRIntegers(t *testing.T) {
	for _, c := range []struct {
		n, edges int64
		want     string
	}{{math.MaxInt32, math.MaxInt32, "<i4"}, {math.MaxInt32 + 1, 1, "<i8"}, {5, math.MaxInt32 + 1, "<i8"}} {
		descr, add := csrInteger(c.n, c.edges)
		if got := len(add(nil, 1)); descr != c.want || strconv.Itoa(got) != c.want[2:] {
			t.Errorf("%d rows, %d edges: %s of %d bytes", c.n, c.edges, descr, got)
		}
	}
}

func TestWriteCSRRefuses(t *testing.T) {
	for want, rows := range map[string][]Result{
		"row 7 of a graph where row 0": {{Query: 7}},
		"1 weights for 2 edges":        {{Query: 0, Rows: []int64{0, 1}, Scores: []float32{1}}, {Query: 1}},
		"edge to 2, there are 2 rows":  {{Query: 0, Rows: []int64{2}, Scores: []float32{1}}, {Query: 1}},
		"1 rows of a graph of 2":       {{Query: 0}},
	} {
		if err := WriteCSR(eachOf(rows), 2, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// edgeRow is a row of a graph's Parquet file; namedEdgeRow has the atoms' ids too.
type edgeRow struct {
	Source int64   `parquet:"source"`
	Target int64   `parquet:"target"`
	Score  float32 `parquet:"score"`
}

type namedEdgeRow struct {
	Source   int64   `parquet:"source"`
	Target   int64   `parquet:"target"`
	Score    float32 `parquet:"score"`
	SourceID string  `parquet:"source_id"`
	TargetID string  `parquet:"target_id"`
}

// TestWriteEdges: tables hold the edges in the order of the rows.
func TestWriteEdges(t *testing.T) {
	var table bytes.Buffer
	if err := WriteEdges(&table, Parquet, eachOf(graphRows()), 0, nil); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[edgeRow](bytes.NewReader(table.Bytes()), int64(table.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]edgeRow{{0, 3, 2.5}, {0, 2, .25}, {1, 1, 0}, {3, 0, 1}, {3, 4, -7}}, got); diff != "" {
		t.Error(diff)
	}
	names := IDsOf([]string{"a", "b", "c", "d\"", "e"})
	table.Reset()
	if err := WriteEdges(&table, Parquet, eachOf(graphRows()), 0, names); err != nil {
		t.Fatal(err)
	}
	named, err := parquet.Read[namedEdgeRow](bytes.NewReader(table.Bytes()), int64(table.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(namedEdgeRow{0, 3, 2.5, "a", "d\""}, named[0]); diff != "" {
		t.Error(diff)
	}
	var lines bytes.Buffer
	if err := WriteEdges(&lines, JSONL, eachOf(graphRows()[3:4]), 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := WriteEdges(&lines, JSONL, eachOf(graphRows()[:1]), 0, names); err != nil {
		t.Fatal(err)
	}
	want := `{"source":3,"target":0,"score":1}
{"source":3,"target":4,"score":-7}
{"source":0,"target":3,"score":2.5,"source_id":"a","target_id":"d\""}
{"source":0,"target":2,"score":0.25,"source_id":"a","target_id":"c"}
`
	if diff := cmp.Diff(want, lines.String()); diff != "" {
		t.Error(diff)
	}
}

// TestEdgesOfManyRows: row groups and buffers lose no edge.
func TestEdgesOfManyRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		degrees := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 60).Draw(t, "degrees")
		n := int64(len(degrees))
		rows := make([]Result, n)
		var want []edgeRow
		for i, d := range degrees {
			rows[i].Query = int64(i)
			for range d {
				e := edgeRow{int64(i), rapid.Int64Range(0, n-1).Draw(t, "target"), rapid.Float32().Draw(t, "score")}
				rows[i].Rows, rows[i].Scores = append(rows[i].Rows, e.Target), append(rows[i].Scores, e.Score)
				want = append(want, e)
			}
		}
		var table bytes.Buffer
		if err := WriteEdges(&table, Parquet, eachOf(rows), 0, nil); err != nil {
			t.Fatal(err)
		}
		got, err := parquet.Read[edgeRow](bytes.NewReader(table.Bytes()), int64(table.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d edges, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("edge %d: %v, want %v", i, got[i], want[i])
			}
		}
	})
}
