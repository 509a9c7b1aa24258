package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/service/catalog"
	"thresher/service/files"
	"thresher/service/problem"
)

// TestCatalog creates a batch over a real catalog, replaces the collection before it is
// answered, and restarts: the pinned version answers, and is removed when the batch is final.
func TestCatalog(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	backend := cpu.New(cpu.Options{Threads: 1})
	defer backend.Close()
	opener := func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
		return batch.Open(ctx, c, backend, nil)
	}
	var (
		db    *bbolt.DB
		store *files.Store
		c     *catalog.Catalog
		m     *Manager
	)
	ended := make(chan string, 10)
	var answered atomic.Int64 // queries
	begin := func(o Options) {
		t.Helper()
		var err error
		if db, err = bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true}); err != nil {
			t.Fatal(err)
		}
		if store, err = files.Open(filepath.Join(dir, "files"), db, nil); err != nil {
			t.Fatal(err)
		}
		if c, err = catalog.Open(ctx, filepath.Join(dir, "collections"), db, &catalog.Options{Open: opener, Files: store}); err != nil {
			t.Fatal(err)
		}
		o.Catalog, o.Files, o.ended = c, store, func(id string) { ended <- id }
		o.Answered = func(collection string, m batch.Method, resp *batch.Response) {
			answered.Add(int64(len(resp.Answers)))
			if collection != "films" || m != "" {
				t.Errorf("told of %q by method %q", collection, m)
			}
		}
		if m, err = Open(filepath.Join(dir, "batches"), db, &o); err != nil {
			t.Fatal(err)
		}
	}
	end := func() {
		t.Helper()
		if err := errors.Join(m.Close(ctx), c.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	put := func(rows []float32, ids []string) {
		t.Helper()
		src := catalog.Source{Rows: rows, Dim: dim}
		if ids != nil {
			src.IDs = &catalog.Keys{Names: ids}
		}
		info, err := c.Create(ctx, "films", src, catalog.CreateOptions{Metric: "ip", Replace: true, Seed: 1}, "")
		if err == nil {
			info, err = c.Wait(ctx, "films", info.Version)
		}
		if err != nil || info.State != catalog.Ready {
			t.Fatalf("%+v, %v", info, err)
		}
	}
	var ids []string
	for i := range 50 {
		ids = append(ids, fmt.Sprint("first-", i))
	}

	begin(Options{})
	put(gaussian(1, 50), ids)
	upload := func(name, content string) string {
		f, err := store.Create(ctx, name, "batch", "", bytes.NewReader([]byte(content)))
		if err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	create := func(spec Spec) Batch {
		t.Helper()
		b, err := m.Create(ctx, spec, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	m.mu.Lock() // nothing starts
	m.running = 1
	m.mu.Unlock()
	content := line("a", "films", body(0, 1, `,"k":2,"allow":["first-3","first-7"]`)) +
		line("b", "films", body(0, 1, `,"k":2,"deny":["second-1"]`)) + line("c", "films", body(0, 1, `,"k":60`))
	b := create(Spec{InputFileID: upload("a.jsonl", content), Endpoint: films})
	n := create(Spec{InputFileID: upload("a.fvecs", fvecs(gaussian(2, 3))), Endpoint: films, Search: json.RawMessage(`{"k":1}`)})
	put(gaussian(2, 60), nil)
	end()
	begin(Options{})
	<-ended
	<-ended
	b, err := m.Get(b.ID)
	if err != nil || b.Status != Completed || b.RequestCounts != (Counts{Total: 3, Completed: 1, Failed: 2}) || len(b.Collections) != 1 || b.Collections[0].Version != 1 {
		t.Fatalf("%+v, %v", b, err)
	}
	l := &lab{t: t, files: store}
	answers := answersOf(t, l.content(b.OutputFileID))
	if len(answers) != 1 || answers[0].Response.Body.Version != 1 || len(answers[0].Response.Body.Results[0].IDs) != 2 {
		t.Fatalf("%+v", answers)
	}
	for _, id := range answers[0].Response.Body.Results[0].IDs {
		if id != "first-3" && id != "first-7" {
			t.Errorf("id %v", id)
		}
	}
	if n, err = m.Get(n.ID); err != nil || n.Status != Completed || n.OutputFileID == nil {
		t.Errorf("%+v, %v", n, err)
	}
	if got := answered.Load(); got != 4 {
		t.Errorf("told of answers to %d queries, want 4", got)
	}
	if owners, err := c.Owners(""); err != nil || len(owners) > 0 {
		t.Errorf("pins are left: %v, %v", owners, err)
	}
	if _, err := m.Create(ctx, Spec{InputFileID: b.InputFileID, Endpoint: "/v1/collections/none/search"}, "", ""); kindOf(err) != problem.UnknownCollection {
		t.Errorf("error %v", err)
	}
	end()
}

// TestWaitsForTheFirstBuild: a batch waits for the first build of a collection.
func TestWaitsForTheFirstBuild(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, "meta.db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	backend := cpu.New(cpu.Options{Threads: 1})
	defer backend.Close()
	built := make(chan struct{})
	c, err := catalog.Open(ctx, filepath.Join(dir, "collections"), db, &catalog.Options{
		Open: func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			<-built
			return batch.Open(ctx, c, backend, nil)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(ctx, "films", catalog.Source{Rows: gaussian(1, 50), Dim: dim}, catalog.CreateOptions{Metric: "ip"}, ""); err != nil {
		t.Fatal(err)
	}
	l := inCatalog{c: c}
	if _, err := l.pin(ctx, "films", "batch_a"); !notReady(err) {
		t.Errorf("pinned before it is built: %v", err)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if err := l.wait(ended, "films"); !errors.Is(err, context.Canceled) {
		t.Errorf("does not wait: %v", err)
	}
	close(built)
	if err := l.wait(ctx, "films"); err != nil {
		t.Error(err)
	}
	if version, err := l.pin(ctx, "films", "batch_a"); err != nil || version != 1 {
		t.Errorf("version %d, %v", version, err)
	}
	if err := l.wait(ctx, "none"); kindOf(err) != problem.UnknownCollection {
		t.Error(err)
	}
	if err := errors.Join(c.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}
