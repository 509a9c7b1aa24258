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
	"go.etcd.io/bbolt"

	"thresher/batch"
	"thresher/dataset"
	"thresher/service/wire"
	"thresher/store"
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
					if covers := i == 0; covers != (r.Covers != nil) {
						t.Errorf("result %d covers %s", i, r.Covers)
					}
					r.Covers = nil
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

// TestMatrixQueryIDs: the ids of a file's rows are beside their answers, in every output format.
func TestMatrixQueryIDs(t *testing.T) {
	for _, c := range []struct {
		id   func(i int) string // as JSON
		want string             // of row 7
	}{
		{func(i int) string { return fmt.Sprint(40 + i) }, "47"},
		{func(i int) string { return fmt.Sprintf("%q", fmt.Sprint("é", i)) }, "é7"},
	} {
		var text strings.Builder
		for i := range 9 {
			v, err := json.Marshal(gaussian(uint64(i), 1))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "{\"id\":%s,\"vector\":%s}\n", c.id(i), v)
		}
		for _, format := range []string{"jsonl", "npz", "parquet"} {
			l := newLab(t, Options{Chunk: 4, Slice: 3})
			b := l.wait(l.submit("q.jsonl", text.String(), Spec{OutputFormat: format, Search: json.RawMessage(`{"k":2}`)}).ID)
			if b.Status != Completed {
				t.Fatalf("%s: %+v", format, b.Errors)
			}
			if r := results(t, l, &b); len(r) != 9 || r[7].QueryID != c.want || r[7].Rows == nil || r[7].IDs != nil {
				t.Errorf("%s: %+v", format, r)
			}
		}
	}
}

// TestMatrixBegunBefore: a batch whose first answers are in the form of an older release, with ids in the place
// of row numbers, answers all of its rows again.
func TestMatrixBegunBefore(t *testing.T) {
	queries := gaussian(5, 20)
	for _, x := range []struct {
		format string
		sealed bool
	}{{"npz", false}, {"npz", true}, {"jsonl", false}} {
		l := newLab(t, Options{Chunk: 8, Slice: 4})
		s := l.atlas.shelf["numbers"]
		ids := s.ids
		s.ids = wire.Naming{} // answers have no ids beside row numbers
		g := block(s)
		id := l.submit("q.fvecs", fvecs(queries), Spec{Endpoint: "/v1/collections/numbers/search", OutputFormat: x.format, Search: json.RawMessage(`{"k":4}`)}).ID
		g.pass(3) // a chunk and a half
		l.close()
		s.before, s.ids = nil, ids
		l.change(id, func(rec *record) {
			rec.AnswersVersion = 0
			if x.sealed {
				rec.Outcome, rec.Batch.Status = Completed, Finalizing
			}
		})
		l.open()
		b := l.wait(id)
		if b.Status != Completed || b.RequestCounts != (Counts{Total: 20, Completed: 20}) || b.Progress.Queries != 20 {
			t.Fatalf("%+v", b)
		}
		for _, r := range results(t, l, &b) {
			if len(r.IDs) != 4 || r.IDs[0] != fmt.Sprint(1000+r.Rows[0]) {
				t.Errorf("%+v: %+v", x, r)
			}
		}
	}
}

// change changes the record of a batch of a closed lab.
func (l *lab) change(id string, change func(*record)) {
	l.t.Helper()
	db, err := bbolt.Open(filepath.Join(l.dir, "meta.db"), 0o600, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	ledger, err := openLedger(filepath.Join(l.dir, "batches"), db, store.Disk{})
	if err != nil {
		l.t.Fatal(err)
	}
	rec, err := ledger.get(id)
	if err != nil {
		l.t.Fatal(err)
	}
	change(rec)
	if err := ledger.save(rec); err != nil {
		l.t.Fatal(err)
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
		var row []float64 // whose digits say all of a float32
		for _, x := range queries[i*dim : (i+1)*dim] {
			row = append(row, float64(x))
		}
		text, err := json.Marshal(row)
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
