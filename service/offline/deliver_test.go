package offline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"thresher/service/files"
	"thresher/store"
)

// failingStore fails to adopt files a number of times.
type failingStore struct {
	*files.Store
	mu   sync.Mutex
	left int
}

func (f *failingStore) Adopt(ctx context.Context, path, name, purpose, key, maker string) (files.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left >= 0 {
		return files.File{}, errors.New("no room")
	}
	return f.Store.Adopt(ctx, path, name, purpose, key, maker)
}

// TestDeliveryFails: answers are delivered after failures.
func TestDeliveryFails(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{1}})
	l.m.store = &failingStore{Store: l.files, left: 5}
	b := l.wait(l.submit("a.fvecs", fvecs(gaussian(1, 9)), Spec{OutputFormat: "parquet"}).ID)
	if b.Status != Completed || b.Errors != nil {
		t.Errorf("%+v", b)
	}
	if n := rowsOf(t, l, &b); n != 9 {
		t.Errorf("%d answers", n)
	}
}

// linkingStore adopts a file and once fails before removing its first name, as a store that
// crashes.
type linkingStore struct {
	*files.Store
	t     *testing.T
	taken string // the second name
}

func (f *linkingStore) Adopt(ctx context.Context, path, name, purpose, key, maker string) (files.File, error) {
	if _, err := os.Stat(f.taken); err != nil {
		return files.File{}, errors.Join(os.Link(path, f.taken), errors.New("dead"))
	}
	one, err := os.Stat(path)
	other, err2 := os.Stat(f.taken)
	if err != nil || err2 != nil || os.SameFile(one, other) {
		f.t.Errorf("what was handed over is written again: %v, %v", err, err2)
	}
	return f.Store.Adopt(ctx, path, name, purpose, key, maker)
}

// TestDeliveredFileIsNotTouched: an output that may have been adopted is not opened for
// writing.
func TestDeliveredFileIsNotTouched(t *testing.T) {
	l := newLab(t, Options{Retry: []time.Duration{1}})
	l.m.store = &linkingStore{Store: l.files, t: t, taken: filepath.Join(l.dir, "taken")}
	b := l.wait(l.submit("a.fvecs", fvecs(gaussian(1, 9)), Spec{OutputFormat: "npz"}).ID)
	if n := rowsOf(t, l, &b); b.Status != Completed || n != 9 {
		t.Errorf("%d answers, %+v", n, b)
	}
}

// TestCancelAtTheEnd cancels a batch when everything is answered and before the end is
// recorded: a client that was told "cancelling" sees it cancelled.
func TestCancelAtTheEnd(t *testing.T) {
	l := newLab(t, Options{})
	l.m.mu.Lock()
	l.m.running++ // nothing starts
	l.m.mu.Unlock()
	id := l.submit("a.jsonl", manyFilms(1), Spec{}).ID
	j, _ := l.m.job(id)
	if err := errors.Join(j.cancel(), j.sealAt(Completed, nil, tally{})); err != nil {
		t.Fatal(err)
	}
	if b := l.get(id); b.Status != Cancelling {
		t.Errorf("%+v", b)
	}
	l.m.mu.Lock()
	l.m.conclude(j)
	l.m.mu.Unlock()
	if b := l.wait(id); b.Status != Cancelled || b.CancelledAt == nil || b.CompletedAt != nil {
		t.Errorf("%+v", b)
	}
}

// TestOutputsAreDamaged: a batch whose outputs were truncated while the server was down fails
// with that reason and delivers nothing.
func TestOutputsAreDamaged(t *testing.T) {
	l := newLab(t, Options{Chunk: 8})
	g := block(l.atlas.shelf["films"])
	b := l.submit("a.jsonl", manyFilms(40), Spec{})
	g.pass(2)
	<-g.entered
	l.close()
	if err := os.Truncate(filepath.Join(l.dir, "batches", b.ID, "output.jsonl"), 100); err != nil {
		t.Fatal(err)
	}
	l.open()
	if b = l.wait(b.ID); b.Status != Failed || b.OutputFileID != nil || b.Errors == nil || b.RequestCounts.Completed != 0 {
		t.Errorf("%+v", b)
	}
}

// TestWithoutLinks: without hard links the whole input is copied.
func TestWithoutLinks(t *testing.T) {
	var written []string
	l := newLab(t, Options{Retry: []time.Duration{}, disk: store.Disk{Step: func(step, path string) error {
		switch step {
		case "link":
			return syscall.EXDEV
		case "write":
			written = append(written, filepath.Base(path))
		}
		return nil
	}}})
	dir := filepath.Join(l.dir, "batches", idOf("key"))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "input.part"), []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := l.m.Create(context.Background(), Spec{InputFileID: l.upload("a.jsonl", manyLines(10)), Endpoint: films}, "key", "")
	if err != nil {
		t.Fatal(err)
	}
	if b = l.wait(b.ID); b.Status != Completed || b.RequestCounts != (Counts{Total: 10, Completed: 10, Failed: 0}) {
		t.Errorf("%+v", b)
	}
	if len(written) == 0 || slices.Contains(written, "input") {
		t.Errorf("written: %q", written)
	}
}
