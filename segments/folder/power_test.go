package folder

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/atomicfile"
)

// cached is a disk that may lose power: a log that was opened has on it what was flushed. A flush that fails leaves what was written in
// memory, and takes it for flushed, as Linux does.
type cached struct {
	files
	durable           map[string][]byte // of logs
	failSync, failOne bool              // the next flush, the next write after half of it
	dirty             bool              // written or cut, and not flushed
}

type cachedLog struct {
	logWriter
	d     *cached
	dirty [][2]int64 // bytes from, to
}

func (d *cached) openLog(path string) (logWriter, error) {
	l, err := d.files.openLog(path)
	if err == nil && d.durable[path] == nil {
		d.durable[path], err = os.ReadFile(path)
	}
	return &cachedLog{logWriter: l, d: d}, err
}

func (l *cachedLog) WriteAt(p []byte, at int64) (int, error) {
	l.d.dirty = true
	if l.d.failOne {
		l.d.failOne = false
		n, _ := l.logWriter.WriteAt(p[:len(p)/2], at)
		return n, syscall.ENOSPC
	}
	l.dirty = append(l.dirty, [2]int64{at, at + int64(len(p))})
	return l.logWriter.WriteAt(p, at)
}

func (l *cachedLog) Truncate(size int64) error {
	l.d.dirty = true
	return l.logWriter.Truncate(size)
}

func (l *cachedLog) Sync() error {
	parts := l.dirty
	l.dirty, l.d.dirty = nil, false
	if l.d.failSync {
		l.d.failSync = false
		return syscall.EIO
	}
	now, err := os.ReadFile(l.Name())
	if err != nil {
		return err
	}
	disk := append(slices.Clone(l.d.durable[l.Name()]), make([]byte, len(now))...)[:len(now)]
	for _, p := range parts {
		if end := min(p[1], int64(len(now))); p[0] < end {
			copy(disk[p[0]:end], now[p[0]:end])
		}
	}
	l.d.durable[l.Name()] = disk
	return l.logWriter.Sync()
}

// TestFlushedAgain: a frame that was not flushed, and is there when the folder is opened again, is durable before a later one is.
func TestFlushedAgain(t *testing.T) {
	for _, elem := range []dataset.Elem{dataset.ElemFloat32, dataset.ElemFloat64} {
		t.Run(elem.String(), func(t *testing.T) { flushedAgain(t, elem) })
	}
}

// flushedAgain is TestFlushedAgain of a folder that keeps a type.
func flushedAgain(t *testing.T, elem dataset.Elem) {
	b, path, ctx := newBackend(t), createdOf(t, collection.InnerProduct, 2, elem), context.Background()
	d := &cached{durable: map[string][]byte{}}
	f, err := open(ctx, path, Options{Backend: b, ByHand: true}, d)
	if err != nil {
		t.Fatal(err)
	}
	upserted(t, f, idsFrom(1, 1))
	d.failSync = true
	if _, err := f.Upsert(ctx, idsFrom(2, 1), []float32{1, 2}); !errors.Is(err, ErrFailed) {
		t.Fatalf("the flush did not fail: %v", err)
	}
	closed(t, f)
	if f, err = open(ctx, path, Options{Backend: b, ByHand: true}, d); err != nil {
		t.Fatal(err)
	}
	last := Change{IDs: idsFrom(3, 1), Rows: []float32{5, 6}}.inType(elem)
	if _, err := f.Apply(ctx, last); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	for name, b := range d.durable { // the power is lost
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f = opened(t, path, Options{Backend: b, ByHand: true})
	defer closed(t, f)
	if got := f.Info(); got.Vectors != 3 || got.Version != 3 {
		t.Errorf("%d vectors, version %d", got.Vectors, got.Version)
	}
	now := f.Snapshot()
	defer now.Release()
	if got := now.Given(3); elem == dataset.ElemFloat64 && !slices.Equal(got, last.Rows64) {
		t.Errorf("vector 3 is %v, want %v", got, last.Rows64)
	}
}

// TestCutIsFlushed: what a write that failed has left of itself is cut off durably, before there can be another log.
func TestCutIsFlushed(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	d := &cached{durable: map[string][]byte{}}
	f, err := open(ctx, path, Options{Backend: b, SealRows: 4, ByHand: true}, d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { closed(t, f) }()
	upserted(t, f, idsFrom(1, 8))
	d.failOne = true
	if _, err := f.Upsert(ctx, idsFrom(2, 1), []float32{1, 2}); !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if d.dirty {
		t.Error("the cut was not flushed")
	}
	name := filepath.Join(path, logFile(f.lastLog))
	if now, err := os.ReadFile(name); err != nil || !bytes.Equal(now, d.durable[name]) {
		t.Errorf("the disk has %d bytes of the log, which has %d: %v", len(d.durable[name]), len(now), err)
	}
	d.failOne, d.failSync = true, true
	if _, err := f.Upsert(ctx, idsFrom(2, 1), []float32{1, 2}); !errors.Is(err, ErrFailed) {
		t.Errorf("the cut was not flushed, and the log goes on: %v", err)
	}
}

// picky is a disk that notes what is removed, and on which some steps fail.
type picky struct {
	files
	removed  []string
	keep     string // cannot be removed
	noCommit string // cannot be given its name
	noFlush  string // cannot be flushed
}

func (d *picky) remove(path string) error {
	if filepath.Base(path) == d.keep {
		return syscall.EBUSY
	}
	d.removed = append(d.removed, filepath.Base(path))
	return d.files.remove(path)
}

func (d *picky) flush(path string) error {
	if path == d.noFlush {
		return syscall.EIO
	}
	return d.files.flush(path)
}

// sealedOften seals one write after another, so that the first log has a number of two digits.
func sealedOften(t *testing.T, f *Folder) {
	t.Helper()
	for i := range uint64(11) {
		upserted(t, f, idsFrom(4*i, 4))
		if err := f.Maintain(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if f.manifest.Log < 12 {
		t.Fatalf("the first log is %d", f.manifest.Log)
	}
}

// TestLogsAreRemovedInOrder: a reader never finds a log and misses the one before it.
func TestLogsAreRemovedInOrder(t *testing.T) {
	b, path := newBackend(t), created(t, collection.InnerProduct, 2)
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	sealedOften(t, f)
	closed(t, f)
	for _, c := range []struct{ keep, want string }{{"", "8.log 9.log 10.log 11.log"}, {"9.log", "8.log"}} {
		for _, number := range []uint64{8, 9, 10, 11} {
			if err := os.WriteFile(filepath.Join(path, logFile(number)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d := &picky{keep: c.keep}
		f, err := open(context.Background(), path, Options{Backend: b, ByHand: true}, d)
		if err != nil {
			t.Fatal(err)
		}
		closed(t, f)
		if got := strings.Join(d.removed, " "); got != c.want {
			t.Errorf("removed %s, want %s", got, c.want)
		}
	}
}

// TestLogIsMissing: a log after one that is not there is damage.
func TestLogIsMissing(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	later := filepath.Join(path, logFile(3))
	if err := os.WriteFile(later, encodeLogHeader(2, dataset.ElemFloat32, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		_, err := Open(ctx, path, Options{Backend: b, ByHand: true, ReadOnly: readOnly})
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), later) || !strings.Contains(err.Error(), logFile(2)) {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
}

// TestReaderIsLate: a reader whose logs are removed while it reads them does not take the first of them for all.
func TestReaderIsLate(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	f := opened(t, path, Options{Backend: b, SealRows: 4, ByHand: true})
	upserted(t, f, idsFrom(0, 1))
	late := opened(t, path, Options{Backend: b, ReadOnly: true})
	defer closed(t, late)
	first := filepath.Join(path, logFile(1))
	if err := os.Link(first, first+".kept"); err != nil { // which the reader has open
		t.Fatal(err)
	}
	upserted(t, f, idsFrom(1, 3))
	if err := f.Maintain(ctx); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if err := os.Rename(first+".kept", first); err != nil {
		t.Fatal(err)
	}
	if err := late.checkLast(1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reader does not see that its log is not the last: %v", err)
	}
}

// TestCopyNotFlushed: a copy whose name may not be durable is there, and the error says so.
func TestCopyNotFlushed(t *testing.T) {
	b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
	to := filepath.Join(t.TempDir(), "copy")
	f, err := open(ctx, path, Options{Backend: b, ByHand: true}, &picky{noFlush: filepath.Dir(to)})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, f)
	if _, err := f.Copy(to); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), to+" is made, but") {
		t.Errorf("%v", err)
	}
	if !Is(to) {
		t.Error("it is not there")
	}
}

// TestRecordIsTriedAgain: a manifest that could not be written is written by the next upkeep, also if none is due.
func TestRecordIsTriedAgain(t *testing.T) {
	for _, merge := range []bool{false, true} {
		b, path, ctx := newBackend(t), created(t, collection.InnerProduct, 2), context.Background()
		d := &picky{}
		f, err := open(ctx, path, Options{Backend: b, SealRows: 4, ByHand: true}, d)
		if err != nil {
			t.Fatal(err)
		}
		upserted(t, f, idsFrom(0, 4))
		d.noCommit = ManifestName
		for range 2 {
			if err := f.Maintain(ctx); !errors.Is(err, syscall.ENOSPC) || !errors.Is(f.UpkeepError(), syscall.ENOSPC) {
				t.Errorf("the manifest was not written: %v, %v", err, f.UpkeepError())
			}
		}
		if merge { // of nothing into nothing, so that a record without a log follows
			if _, err := f.Delete(ctx, idsFrom(0, 4)); err != nil {
				t.Fatal(err)
			}
		}
		d.noCommit = ""
		if err := f.Maintain(ctx); err != nil || f.UpkeepError() != nil {
			t.Fatal(err, f.UpkeepError())
		}
		m, err := readManifest(path)
		if want := map[bool]int{false: 1, true: 0}[merge]; err != nil || len(m.Segments) != want || m.Log != 2 {
			t.Errorf("merge %v: %+v, %v", merge, m, err)
		}
		closed(t, f)
		f = opened(t, path, Options{Backend: b, ByHand: true})
		if want := map[bool]int{false: 4, true: 0}[merge]; f.Info().Vectors != want {
			t.Errorf("%d vectors, want %d", f.Info().Vectors, want)
		}
		closed(t, f)
	}
}

func (d *picky) commit(f *atomicfile.File) error {
	if d.noCommit != "" && strings.HasPrefix(filepath.Base(f.Name()), "."+d.noCommit) {
		return syscall.ENOSPC
	}
	return d.files.commit(f)
}
