package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/dataset"
)

// rowsOf counts the answers in the output of a batch.
func rowsOf(t *testing.T, l *lab, b *Batch) int {
	t.Helper()
	if b.OutputFormat == "" {
		return len(answersOf(t, l.content(b.OutputFileID)))
	}
	return len(results(t, l, b))
}

// results reads the output of a matrix.
func results(t *testing.T, l *lab, b *Batch) []dataset.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out."+b.OutputFormat)
	if err := os.WriteFile(path, []byte(l.content(b.OutputFileID)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := dataset.OpenResults(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []dataset.Result
	for {
		one, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
}

// TestMatrix compares the answers in every output format and for every kind of ids with those
// of a search.
func TestMatrix(t *testing.T) {
	const n = 30
	queries := gaussian(5, n)
	for _, collection := range []string{"films", "numbers", "names"} {
		for _, format := range []string{"", "jsonl", "npz", "parquet"} {
			t.Run(collection+" "+format, func(t *testing.T) {
				l := newLab(t, Options{Chunk: 8, Slice: 3})
				spec := Spec{Endpoint: "/v1/collections/" + collection + "/search", OutputFormat: format, Search: json.RawMessage(`{"k":4,"include":["certificate"]}`)}
				b := l.wait(l.submit("q.fvecs", fvecs(queries), spec).ID)
				if b.Status != Completed || b.RequestCounts != (Counts{Total: n, Completed: n, Failed: 0}) || b.ErrorFileID != nil {
					t.Fatalf("%+v", b)
				}
				s := l.atlas.shelf[collection]
				resp, err := s.engine.Search(context.Background(), batch.Request{Queries: queries, K: 4, SearchScores: true})
				if err != nil {
					t.Fatal(err)
				}
				got := results(t, l, &b)
				if len(got) != n {
					t.Fatalf("%d results", len(got))
				}
				for i, r := range got {
					a := resp.Answers[i]
					want := dataset.Result{Query: int64(i), Rows: a.IDs, Scores: a.Scores, Scores64: a.SearchScores, Pulls: a.Certificate.Pulls, Exact: a.Certificate.Exact, Guarantee: string(a.Certificate.Guarantee)}
					if s.ids.Int != nil {
						for _, row := range a.IDs {
							want.IDs = append(want.IDs, fmt.Sprint(s.ids.Int(row)))
						}
					}
					if s.ids.Name != nil {
						for _, row := range a.IDs {
							want.IDs = append(want.IDs, s.ids.Name(row))
						}
					}
					if jsonl := b.OutputFormat == "jsonl"; jsonl != (r.Certificate != nil) {
						t.Errorf("result %d: certificate %s", i, r.Certificate)
					}
					r.Certificate = nil
					if d := cmp.Diff(want, r); d != "" {
						t.Errorf("result %d (-want +got)\n%s", i, d)
					}
				}
				if f, err := l.files.Get(*b.OutputFileID); err != nil || f.Purpose != "batch_output" || f.Name != b.ID+"_output."+b.OutputFormat {
					t.Errorf("%+v, %v", f, err)
				}
			})
		}
	}
}

// TestMatrixRowFails: a row that the engine refuses keeps its position and does not affect
// others.
func TestMatrixRowFails(t *testing.T) {
	queries := gaussian(5, 12)
	for i := range dim {
		queries[7*dim+i] = 3e38 // scores would overflow
	}
	for _, format := range []string{"jsonl", "npz"} {
		l := newLab(t, Options{Chunk: 5, Slice: 4})
		b := l.wait(l.submit("q.fvecs", fvecs(queries), Spec{OutputFormat: format}).ID)
		if b.Status != Completed || b.RequestCounts != (Counts{Total: 12, Completed: 11, Failed: 1}) {
			t.Fatalf("%+v", b)
		}
		for i, r := range results(t, l, &b) {
			if r.Query != int64(i) || (len(r.Rows) == 0) != (i == 7) {
				t.Errorf("result %d: %+v", i, r)
			}
		}
		if text := l.content(b.ErrorFileID); !strings.HasPrefix(text, `{"query":7,"error":{"code":"invalid-value","message":"`) || strings.Count(text, "\n") != 1 {
			t.Errorf("errors: %s", text)
		}
	}
}

// TestMatrixForms reads matrices of other formats by the names of their files.
func TestMatrixForms(t *testing.T) {
	queries := gaussian(5, 7)
	var lines strings.Builder
	for i := range 7 {
		text, err := json.Marshal(queries[i*dim : (i+1)*dim])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", text)
	}
	var npy bytes.Buffer
	if err := dataset.WriteNPY(&npy, 7, dim, queries); err != nil {
		t.Fatal(err)
	}
	var want string
	for _, c := range []struct{ name, content string }{
		{"q.fvecs", fvecs(queries)}, {"q.npy", npy.String()}, {"q", npy.String()}, {"Q.JSONL", lines.String()},
	} {
		l := newLab(t, Options{})
		b := l.wait(l.submit(c.name, c.content, Spec{Search: json.RawMessage(`{"k":3}`)}).ID)
		got := l.content(b.OutputFileID)
		if want == "" {
			want = got
		}
		if b.Status != Completed || got != want || got == "" {
			t.Errorf("%s: %+v\n%s", c.name, b, got)
		}
	}
}
