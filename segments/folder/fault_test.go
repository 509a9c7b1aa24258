package folder

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/atomicfile"
)

// faulty is a disk one step of which fails.
type faulty struct {
	files
	left   int    // steps until then
	failed string // the step that failed
	noCut  bool   // a log cannot be cut either
}

func (d *faulty) step(name string) error {
	if d.left--; d.left != -1 {
		return nil
	}
	d.failed = name
	return syscall.ENOSPC
}

type faultyLog struct {
	logWriter
	d *faulty
}

func (d *faulty) openLog(path string) (logWriter, error) {
	if err := d.step("log"); err != nil {
		return nil, err
	}
	l, err := d.files.openLog(path)
	return faultyLog{l, d}, err
}

func (l faultyLog) WriteAt(p []byte, at int64) (int, error) {
	if err := l.d.step("write"); err != nil {
		return 0, err
	}
	if err := l.d.step("wrote half"); err != nil {
		n, _ := l.logWriter.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	if l.d.step("short") != nil {
		return l.logWriter.WriteAt(p[:len(p)-1], at)
	}
	return l.logWriter.WriteAt(p, at)
}

func (l faultyLog) Truncate(size int64) error {
	if l.d.noCut {
		return syscall.EIO
	}
	return l.logWriter.Truncate(size)
}

func (l faultyLog) Sync() error {
	if err := l.d.step("sync"); err != nil {
		return err
	}
	return l.logWriter.Sync()
}

func (d *faulty) commit(f *atomicfile.File) error {
	if err := d.step("commit"); err != nil {
		return err
	}
	return d.files.commit(f)
}

func (d *faulty) build(ctx context.Context, path string, src collection.Source, o *collection.Options) (*collection.Collection, error) {
	if err := d.step("build"); err != nil {
		return nil, err
	}
	return d.files.build(ctx, path, src, o)
}

func (d *faulty) remove(path string) error {
	if err := d.step("remove"); err != nil {
		return err
	}
	return d.files.remove(path)
}

// TestFaults makes every step of a disk fail in turn: full before, in the middle and at the end of a write, not flushed, no manifest, no
// segment. What was acknowledged is there, now and in the folder that is opened again, and nothing else but a write whose
// flush failed.
func TestFaults(t *testing.T) {
	const seed, writes = 3, 12
	b, ctx, seen := newBackend(t), context.Background(), map[string]int{}
	for round, elem := range []dataset.Elem{dataset.ElemFloat32, dataset.ElemFloat32, dataset.ElemFloat64} {
		noCut := round == 1
		for at := 0; ; at++ {
			path := createdOf(t, collection.InnerProduct, killDim, elem)
			d := &faulty{left: at, noCut: noCut}
			f, err := open(ctx, path, Options{Backend: b, SealRows: 16, ByHand: true}, d)
			if err != nil {
				if d.failed == "" || !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("step %d, %s: %v", at, d.failed, err)
				}
				continue
			}
			held, told := newModel(killDim), uint64(0)
			var unsure *Change // the write that failed
			for i := range uint64(writes) {
				c := changeAt(seed, i).inType(elem)
				_, err := f.Apply(ctx, c)
				switch {
				case err == nil:
					held.do(&c)
					told++
				case errors.Is(err, ErrFailed) && unsure != nil:
				case !errors.Is(err, syscall.ENOSPC) && d.failed != "short" || d.failed == "" || unsure != nil:
					t.Fatalf("step %d, %s: write %d: %v", at, d.failed, i, err)
				default:
					unsure = &c
				}
				if i%3 < 2 {
					continue
				}
				before := d.failed
				if err := f.Maintain(ctx); err != nil && (before != "" || !errors.Is(err, syscall.ENOSPC) || !errors.Is(f.UpkeepError(), err)) {
					t.Fatalf("step %d, %s: upkeep: %v", at, d.failed, err)
				}
			}
			if d.failed == "" {
				if !noCut && told != writes {
					t.Fatalf("no fault: %d writes", told)
				}
				closed(t, f)
				break
			}
			seen[d.failed]++
			held.check(t, f, b, false, seed)
			closed(t, f)

			f = opened(t, path, Options{Backend: b, ByHand: true})
			now := f.Snapshot()
			if now.Version() == told+1 && d.failed == "sync" && unsure != nil {
				held.do(unsure)
			} else if now.Version() != told {
				t.Fatalf("step %d, %s: version %d after %d writes", at, d.failed, now.Version(), told)
			}
			now.Release()
			held.check(t, f, b, false, seed)
			closed(t, f)
			if strays, _ := filepath.Glob(filepath.Join(path, ".*")); len(strays) > 0 {
				t.Fatalf("step %d, %s: left %q", at, d.failed, strays)
			}
		}
	}
	for _, step := range []string{"log", "write", "wrote half", "short", "sync", "commit", "build", "remove"} {
		if seen[step] < 2 {
			t.Errorf("%d faults at %q", seen[step], step)
		}
	}
}
