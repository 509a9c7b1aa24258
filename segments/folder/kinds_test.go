package folder

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/dataset"
)

// TestKindIsKept: what ids are is kept when no vector is left.
func TestKindIsKept(t *testing.T) {
	numbers, digits := dataset.IDsOf([]uint64{1, 2}), idsOf([]string{"3", "4"}, true)
	for _, c := range []struct {
		name  string
		first *dataset.IDs
		after []*dataset.IDs
		texts bool
	}{
		{"texts", idsOf([]string{"a", "b", "c", "d"}, true), []*dataset.IDs{numbers, idsOf([]string{"apple"}, true)}, true},
		{"row numbers", idsFrom(0, 4), []*dataset.IDs{digits, numbers}, false},
		{"numbers", idsFrom(1<<62, 4), []*dataset.IDs{digits, numbers}, false},
	} {
		b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
		f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
		reopen := func() {
			t.Helper()
			closed(t, f)
			f = opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
		}
		upserted(t, f, c.first)
		if err := f.Maintain(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Delete(ctx, c.first); err != nil {
			t.Fatal(err)
		}
		if err := f.Maintain(ctx); err != nil {
			t.Fatal(err)
		}
		if got := f.Info(); len(got.Segments) > 0 || got.Vectors > 0 {
			t.Fatalf("%s: it is not empty: %+v", c.name, got)
		}
		reopen()
		if err := f.table.Check("ids", idsOf([]string{"word"}, true)); (err == nil) != c.texts {
			t.Errorf("%s: a text is taken after opening again: %v", c.name, err)
		}
		for i, ids := range c.after {
			upserted(t, f, ids)
			reopen()
			now := f.Snapshot()
			if now.Textual() != c.texts || now.Len() == 0 {
				t.Errorf("%s, write %d: texts %v, %d vectors", c.name, i, now.Textual(), now.Len())
			}
			for row, number := range now.Numbers(ids) {
				if v := now.Vector(number); v == nil || v[0] != float32(1+2*row) {
					t.Errorf("%s, write %d: vector %s is %v", c.name, i, ids.Text(int64(row)), v)
				}
			}
			now.Release()
		}
		closed(t, f)
	}
}

// TestOlderManifest: a manifest that does not say that ids are numbers says what its segments do.
func TestOlderManifest(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	upserted(t, f, idsFrom(0, 4))
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	m, err := readManifest(path)
	if err != nil || !m.Numbers || m.Texts {
		t.Fatalf("%+v, %v", m, err)
	}
	m.Numbers = false
	if raw, err := json.Marshal(m); err != nil || strings.Contains(string(raw), `"numbers"`) {
		t.Fatalf("%s, %v", raw, err)
	}
	if err := writeManifest(files{}, path, m); err != nil {
		t.Fatal(err)
	}
	f = opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	if !f.table.Numeric() || f.Info().Vectors != 4 {
		t.Errorf("%+v", f.Info())
	}
}

// TestTextsAlone: texts that look like numbers are texts in company, and when the others are gone.
func TestTextsAlone(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	odd := idsOf([]string{"-1", "1.5", "18446744073709551615", "7"}, true)
	upserted(t, f, idsOf([]string{"word", "-1", "1.5", "18446744073709551615", "7"}, true))
	if _, err := f.Delete(ctx, idsOf([]string{"word"}, true)); err != nil {
		t.Fatal(err)
	}
	upserted(t, f, odd)
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	if got := f.Info(); len(got.Segments) != 1 || got.Segments[0].Rows != 4 {
		t.Fatalf("%+v", got)
	}
	closed(t, f)
	f = opened(t, path, Options{Backend: b, ByHand: true, Verify: VerifyNow})
	defer closed(t, f)
	now := f.Snapshot()
	defer now.Release()
	got := now.IDs(now.Numbers(odd))
	for row := range int64(odd.Len()) {
		if got.Text(row) != odd.Text(row) || now.Len() != odd.Len() {
			t.Errorf("%d vectors, and id %s is %s", now.Len(), odd.Text(row), got.Text(row))
		}
	}
	if got, err := f.Delete(ctx, idsOf([]string{"-1"}, true)); err != nil || got.Deleted != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNoneAmongNumbers: 2^64-1 is no number, also as digits.
func TestNoneAmongNumbers(t *testing.T) {
	b, path := newBackend(t), created(t, collection.InnerProduct, 2)
	f := opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	upserted(t, f, idsFrom(1, 1))
	_, err := f.Upsert(context.Background(), idsOf([]string{"3", "18446744073709551615"}, true), []float32{1, 2, 3, 4})
	if err == nil || !strings.Contains(err.Error(), "row 1 (0-based): id is 2^64 - 1") {
		t.Errorf("taken: %v", err)
	}
	if n := f.Info().Vectors; n != 1 {
		t.Errorf("%d vectors", n)
	}
}

// TestVerifiedOnceRead: a new segment is verified when it is opened, not when it is made.
func TestVerifiedOnceRead(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	upserted(t, f, idsFrom(1, 4))
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	for i, want := range []bool{false, true} {
		if m, err := readManifest(path); err != nil || len(m.Segments) != 1 || (m.Segments[0].Verified != nil) != want {
			t.Fatalf("opened %d times: %+v, %v", i, m, err)
		}
		closed(t, opened(t, path, Options{Backend: b, ByHand: true}))
	}
}
