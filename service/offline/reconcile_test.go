package offline

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loseDatabase closes everything and opens it again without the database and without pins.
func (l *lab) loseDatabase() {
	l.t.Helper()
	l.close()
	if err := os.Remove(filepath.Join(l.dir, "meta.db")); err != nil {
		l.t.Fatal(err)
	}
	l.atlas.pins = map[string][]string{}
	l.open()
}

// TestDatabaseIsLost: final batches are listed as before, and a running one continues where
// it was without repeating a search.
func TestDatabaseIsLost(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	ended := l.wait(l.submit("z.jsonl", manyFilms(3), Spec{}).ID)
	g := block(l.atlas.shelf["films"])
	first := l.submit("a.jsonl", manyFilms(40), Spec{})
	second := l.submit("b.jsonl", manyFilms(1), Spec{})
	g.pass(2)
	<-g.entered
	l.loseDatabase()
	<-g.entered
	if d := cmp.Diff(ended, l.get(ended.ID)); d != "" {
		t.Error(d)
	}
	if got, want := l.m.Found().Adopted, []string{ended.ID, first.ID, second.ID}; !slices.Equal(got, want) {
		t.Error(got, want)
	}
	if pins := l.atlas.pins; len(pins) != 2 {
		t.Error(pins)
	}
	if err := l.files.Delete(first.InputFileID); err == nil {
		t.Error("the input of a batch at work is gone")
	}
	g.release <- nil
	g.pass(3)
	b := l.wait(first.ID)
	if b.Status != Completed || b.RequestCounts != (Counts{Total: 40, Completed: 40, Failed: 0}) || len(answersOf(t, l.content(b.OutputFileID))) != 40 {
		t.Errorf("%+v", b)
	}
	l.wait(second.ID)
	for _, id := range []string{ended.ID, first.ID, second.ID} {
		if err := l.m.Delete(id); err != nil {
			t.Error(err)
		}
	}
	l.loseDatabase()
	if page, err := l.m.List("", 0, nil); err != nil || len(page.Data) != 0 {
		t.Error(page, err)
	}
}

// TestWhatABatchNeedsIsLost: the batch has failed with a reason, and its answers are kept.
func TestWhatABatchNeedsIsLost(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	g := block(l.atlas.shelf["films"])
	b := l.submit("a.jsonl", manyFilms(40), Spec{})
	g.pass(2)
	<-g.entered
	l.close()
	l.atlas.shelf["films"].version++ // the version that it needs is gone
	if err := os.Remove(filepath.Join(l.dir, "meta.db")); err != nil {
		t.Fatal(err)
	}
	l.open()
	b = l.get(b.ID)
	if b.Status != Failed || b.Errors == nil || b.Errors.Data[0].Code != "unknown-collection" {
		t.Errorf("%+v", b)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "lost+found", "batches", b.ID, "progress")); err != nil || len(l.m.Found().Kept) != 1 {
		t.Error(err, l.m.Found())
	}
	if err := l.files.Delete(b.InputFileID); err != nil {
		t.Error("nobody needs it:", err)
	}
}

// TestDatabaseIsOlder: a batch that ended after the database's copy was made has ended.
func TestDatabaseIsOlder(t *testing.T) {
	l := newLab(t, Options{})
	g := block(l.atlas.shelf["films"])
	b := l.submit("a.jsonl", manyFilms(1), Spec{})
	<-g.entered
	l.close()
	meta := filepath.Join(l.dir, "meta.db")
	old, err := os.ReadFile(meta)
	if err != nil {
		t.Fatal(err)
	}
	l.open()
	<-g.entered
	g.release <- nil
	want := l.wait(b.ID)
	l.close()
	if err := os.WriteFile(meta, old, 0o600); err != nil {
		t.Fatal(err)
	}
	l.open()
	got := l.get(b.ID)
	if d := cmp.Diff(want, got); d != "" || got.Status != Completed {
		t.Error(d)
	}
	if len(answersOf(t, l.content(got.OutputFileID))) != 1 {
		t.Error(got)
	}
}

// TestWhatABatchHoldsIsLost: a batch that is to go on holds its input and pins its collections again,
// and what is held for an unknown owner is released.
func TestWhatABatchHoldsIsLost(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	g := block(l.atlas.shelf["films"])
	b := l.submit("a.jsonl", manyFilms(40), Spec{})
	<-g.entered
	if err := errors.Join(l.files.Release(b.ID), l.files.Hold(b.InputFileID, LostOwner)); err != nil {
		t.Fatal(err)
	}
	l.close()
	l.atlas.pins = map[string][]string{LostOwner: {"films"}}
	l.open()
	<-g.entered
	if d := cmp.Diff(map[string][]string{b.ID: {"films"}}, l.atlas.pins); d != "" {
		t.Error(d)
	}
	if owners, err := l.files.Owners(idPrefix); err != nil || !slices.Equal(owners, []string{b.ID}) {
		t.Error(owners, err)
	}
	g.release <- nil
	g.pass(4)
	if b = l.wait(b.ID); b.Status != Completed {
		t.Errorf("%+v", b)
	}
}
