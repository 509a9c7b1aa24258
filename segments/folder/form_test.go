package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/batch"
	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// TestFolderOfVersion1: a folder that a program before types and columns has written is opened, searched and written, and
// stays one that such a program reads.
func TestFolderOfVersion1(t *testing.T) {
	b, ctx, path := newBackend(t), context.Background(), copied(t, filepath.Join("testdata", "plain"))
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	if got, want := f.Form(), (Form{Metric: collection.Cosine, Dim: 3, Seed: 5}); !cmp.Equal(got, want) {
		t.Errorf("form %+v, want %+v", got, want)
	}
	held := newModel(3)
	for i := range 24 {
		if !slices.Contains([]int{0, 3, 4, 22}, i) {
			held.rows[fmt.Sprintf("id %d", i)] = []float32{float32(i%5 + 1), float32(i % 3), -float32(i%7) / 2}
		}
	}
	held.check(t, f, b, true, 1)
	held.apply(t, f, Change{IDs: idsOf([]string{"new", "id 5"}, true), Rows: []float32{1, 2, 3, 4, 5, 6}})
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	f = opened(t, path, Options{Backend: b, ByHand: true})
	held.check(t, f, b, true, 2)
	closed(t, f)
	manifest, err := os.ReadFile(filepath.Join(path, ManifestName))
	if err != nil || !bytes.Contains(manifest, []byte(`"thresher_folder": 1`)) || bytes.Contains(manifest, []byte("columns")) {
		t.Errorf("the manifest has become\n%s, %v", manifest, err)
	}
}

// TestTypes: segments, logs and copies keep vectors in the type of the folder, in fewer bytes, and no other values are taken.
func TestTypes(t *testing.T) {
	b, ctx := newBackend(t), context.Background()
	const dim, n = 64, 40
	rows := make([]float32, n*dim)
	for i := range rows {
		rows[i] = float32(i % 7)
	}
	for _, elem := range []dataset.Elem{dataset.ElemInt8, dataset.ElemUint8, dataset.ElemFloat16, dataset.ElemBFloat16} {
		path := filepath.Join(t.TempDir(), "vectors")
		if err := Create(path, Form{Metric: collection.Euclidean, Dim: dim, Elem: elem}); err != nil {
			t.Fatal(err)
		}
		f := opened(t, path, Options{Backend: b, SealRows: n, ByHand: true})
		for _, bad := range []float32{.1, 5000.5} {
			wrong := slices.Clone(rows[:2*dim])
			wrong[dim+3] = bad
			_, err := f.Upsert(ctx, idsFrom(0, 2), wrong)
			var row *collection.RowError
			if !errors.As(err, &row) || row.Row != 1 || row.Column != 3 || !strings.Contains(err.Error(), fmt.Sprintf("value %g is no %v", bad, elem)) {
				t.Errorf("%v: %v", elem, err)
			}
		}
		if _, err := f.Upsert(ctx, idsFrom(0, n), rows); err != nil {
			t.Fatal(err)
		}
		if size := f.logEnd; size > int64(logHeader+frameHeader+16+n*8+n*dim*elem.Size()) {
			t.Errorf("%v: the log has %d bytes", elem, size)
		}
		closed(t, f)
		f = opened(t, path, Options{Backend: b, SealRows: n, ByHand: true})
		if err := f.Maintain(ctx); err != nil {
			t.Fatal(err)
		}
		now := f.Snapshot()
		if parts := now.Holdings(); len(parts) != 1 || parts[0].Segment.Collection().Elem() != elem {
			t.Errorf("%v: %d segments", elem, len(parts))
		}
		if !slices.Equal(now.Vector(17), rows[17*dim:18*dim]) {
			t.Errorf("%v: vector 17 is %v", elem, now.Vector(17))
		}
		if err := now.Release(); err != nil {
			t.Fatal(err)
		}
		if got := f.Info(); got.Elem != elem || f.Form().Elem != elem {
			t.Errorf("%v: %+v", elem, got)
		}
		closed(t, f)
	}
}

// TestColumnsBadInput: columns that the folder cannot have are named, and nothing is written.
func TestColumnsBadInput(t *testing.T) {
	b, ctx, path := newBackend(t), context.Background(), created(t, collection.InnerProduct, 1)
	f := opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	for json, want := range map[string]string{
		`{"year":["x","y"]}`:     `column "year" is text, where the rows before have int64`,
		`{"year":[1.5,2]}`:       `column "year" is float64, where the rows before have int64`,
		`{"lang":[1,null]}`:      `column "lang" is int64, where the rows before have text`,
		`{"colour":["r","g"]}`:   `there is no column "colour"; the columns are year, lang, tags, seen`,
		`{"year":[1999]}`:        "columns of 1 rows for 2 vectors",
		`{"year":[1999,2,2001]}`: "columns of 3 rows for 2 vectors",
	} {
		c, err := columns.FromJSON([]byte(json))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Apply(ctx, Change{IDs: idsFrom(0, 2), Rows: []float32{1, 2}, Columns: c})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", json, err)
		}
		if _, err = f.Apply(ctx, Change{IDs: idsFrom(0, c.Rows()), Columns: c}); err == nil || !strings.Contains(err.Error(), "for 0 vectors to write") {
			t.Errorf("%s, deletion: %v", json, err)
		}
	}
	if got := f.Info(); got.Version != 0 || !slices.Equal(got.Columns, drawnFields) {
		t.Errorf("%+v", got)
	}
	for _, fields := range [][]columns.Field{{{Name: "", Type: columns.Text}}, {{Name: "a"}}, {{Name: "a", Type: columns.Bool}, {Name: "a", Type: columns.Text}}} {
		if err := Create(filepath.Join(t.TempDir(), "vectors"), Form{Metric: collection.Cosine, Dim: 2, Columns: fields}); err == nil {
			t.Errorf("%v: created", fields)
		}
	}
}

// TestSelectIDs: an expression calls vectors by the ids that their user gave them.
func TestSelectIDs(t *testing.T) {
	b, ctx := newBackend(t), context.Background()
	for _, texts := range []bool{false, true} {
		f := opened(t, created(t, collection.InnerProduct, 1), Options{Backend: b, ByHand: true})
		ids := idsOf([]string{"7", "18446744073709551614", "9"}, texts)
		if _, err := f.Upsert(ctx, ids, []float32{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		expr, err := columns.ParseJSON([]byte(`{"must":[{"has_id":[9,7,8,-7]}],"must_not":[{"has_id":["9"]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		now := f.Snapshot()
		found, err := now.Select(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := now.IDs(found.IDs()); got.Len() != 1 || got.Text(0) != "7" {
			t.Errorf("texts %v: %d ids", texts, got.Len())
		}
		resp, err := found.Search(ctx, batch.Request{Queries: []float32{1}, K: 3})
		if err != nil || len(resp.Answers[0].IDs) != 1 {
			t.Errorf("texts %v: %+v, %v", texts, resp, err)
		}
		if expr, err = columns.Parse("colour = 'red'"); err != nil {
			t.Fatal(err)
		}
		var wrong *columns.ExprError
		if _, err := now.Select(expr); !errors.As(err, &wrong) {
			t.Errorf("no column: %v", err)
		}
		if err := now.Release(); err != nil {
			t.Fatal(err)
		}
		closed(t, f)
	}
}
