package catalog

import (
	"context"
	"os"
	"strings"
	"testing"

	"thresher/service/problem"
)

// TestStoredFileMayGo deletes a file that a collection is being built from.
func TestStoredFileMayGo(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open})
	if _, err := f.c.Create(ctx, "first", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""); err != nil {
		t.Fatal(err)
	}
	<-g.arrived // so that the next build waits
	file, err := f.store.Create(ctx, "m.jsonl", "", "", strings.NewReader("[1,2]\n[3,4]\n"))
	if err != nil {
		t.Fatal(err)
	}
	i, err := f.c.Create(ctx, "a", Source{File: file.ID}, CreateOptions{Metric: "ip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.store.Delete(file.ID); err != nil {
		t.Fatal(err)
	}
	g.pass <- nil
	<-g.arrived
	g.pass <- nil
	if i = f.ready(i, nil); i.Count != 2 {
		t.Error(i)
	}

	_, err = f.c.Create(ctx, "b", Source{File: file.ID}, CreateOptions{Metric: "ip"}, "")
	want{problem.UnknownFile, "source.file_id", -1, file.ID}.check(t, err)
	if file, err = f.store.Create(ctx, "m.jsonl", "", "", strings.NewReader("[1,2]\n")); err != nil {
		t.Fatal(err)
	}
	path, _, err := f.store.Path(file.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // as when it is deleted between two checks
		t.Fatal(err)
	}
	_, err = f.c.Create(ctx, "b", Source{File: file.ID}, CreateOptions{Metric: "ip"}, "")
	want{problem.UnknownFile, "source.file_id", -1, file.ID}.check(t, err)
}
