package folder

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"thresher/collection"
	"thresher/dataset"
)

// writtenFolder is a folder with a segment, deletions and a log, and the writes of its log, after which it has these lengths.
func writtenFolder(t *testing.T, seed uint64) (path string, logName string, ends []int64) {
	t.Helper()
	path = created(t, collection.InnerProduct, killDim)
	f := opened(t, path, Options{Backend: newBackend(t), SealRows: 16, ByHand: true})
	ctx := context.Background()
	for i := range uint64(20) {
		if _, err := f.Apply(ctx, changeAt(seed, i)); err != nil {
			t.Fatal(err)
		}
		if i%5 == 4 && i < 15 {
			if err := f.Maintain(ctx); err != nil {
				t.Fatal(err)
			}
			ends = nil
		}
		ends = append(ends, f.logEnd)
	}
	logName = filepath.Join(path, logFile(f.lastLog))
	closed(t, f)
	return path, logName, ends
}

// copied copies a folder's files.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "vectors")
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestTornTail: wherever a log ends, what is whole of it is there; the rest is cut off, and said.
func TestTornTail(t *testing.T) {
	b := newBackend(t)
	from, logName, ends := writtenFolder(t, 3)
	whole, err := os.ReadFile(logName)
	if err != nil {
		t.Fatal(err)
	}
	first, last := ends[len(ends)-3], ends[len(ends)-1]
	var wantVersion uint64 = 20 - 2
	for at := first; at <= last; at += 1 + (last-first)/37 {
		if at >= ends[len(ends)-2] {
			wantVersion = 20 - 1
		}
		if at == last {
			wantVersion = 20
		}
		path := copied(t, from)
		name := filepath.Join(path, filepath.Base(logName))
		if err := os.Truncate(name, at); err != nil {
			t.Fatal(err)
		}
		f := opened(t, path, Options{Backend: b, ByHand: true})
		now, got := f.Snapshot(), f.Recovered()
		if now.Version() != wantVersion {
			t.Fatalf("cut at %d of %d: version %d, want %d", at, len(whole), now.Version(), wantVersion)
		}
		now.Release()
		torn := at != ends[len(ends)-3] && at != ends[len(ends)-2] && at != last
		if torn != (got.Cut > 0) || torn && (got.File != name || got.Offset+got.Cut != at) {
			t.Fatalf("cut at %d: %+v", at, got)
		}
		if _, err := f.Apply(context.Background(), changeAt(3, 77)); err != nil {
			t.Fatal(err)
		}
		closed(t, f)
		f = opened(t, path, Options{Backend: b, ByHand: true})
		if now := f.Snapshot(); now.Version() != wantVersion+1 || f.Recovered().Cut != 0 {
			t.Fatalf("after a write at %d: version %d", at, now.Version())
		} else {
			now.Release()
		}
		closed(t, f)
	}
}

// TestDamage changes a byte of each file: opening names the file and, of a log, the place.
func TestDamage(t *testing.T) {
	b := newBackend(t)
	from, logName, ends := writtenFolder(t, 4) // texts
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		path := copied(t, from)
		full := filepath.Join(path, name)
		content, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		at := len(content) / 3
		if strings.HasSuffix(name, ".log") {
			at = int(ends[1]) + 40
		}
		content[at] ^= 4
		if err := os.WriteFile(full, content, 0o644); err != nil {
			t.Fatal(err)
		}
		kinds[filepath.Ext(name)] = true
		_, err = Open(context.Background(), path, Options{Backend: b, ByHand: true})
		var damage *DamageError
		if !errors.As(err, &damage) || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), full) {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.HasSuffix(name, ".log") && damage.Offset != ends[1] {
			t.Errorf("%s: at byte %d, want %d: %v", name, damage.Offset, ends[1], err)
		}
		_, err = Open(context.Background(), path, Options{Backend: b, ReadOnly: true})
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s, read only: %v", name, err)
		}
		if err := Check(context.Background(), path); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), full) {
			t.Errorf("%s, checked: %v", name, err)
		}
	}
	for _, kind := range []string{".json", ".thresher", ".npz", ".numbers", ".columns", ".deleted", ".log"} {
		if !kinds[kind] {
			t.Errorf("no %s among %v", kind, kinds)
		}
	}
	if err := os.Remove(logName); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), from, Options{Backend: b}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
}

// TestInconsistent: what Open refuses of a folder whose files have their checksums, but do not belong together, Check refuses, too.
func TestInconsistent(t *testing.T) {
	b, ctx := newBackend(t), context.Background()
	base := created(t, collection.InnerProduct, 2)
	f := opened(t, base, Options{Backend: b, SealRows: 4, ByHand: true})
	for first := range uint64(3) {
		upserted(t, f, idsFrom(1<<62+10*first, 4))
		if err := f.Maintain(ctx); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, f)
	for name, damage := range map[string]func(path string, m *contents) error{
		"nothing": func(string, *contents) error { return nil },
		"numbers that descend": func(path string, m *contents) (err error) {
			e := &m.Segments[0]
			raw := make([]byte, 8*e.Rows)
			for row := range e.Rows {
				binary.LittleEndian.PutUint64(raw[8*row:], 1<<62+uint64(e.Rows-row))
			}
			e.Numbers, err = writeSideFile(files{}, filepath.Join(path, e.numbersFile()), raw, e.Rows)
			return err
		},
		"a deleted row that is not there": func(path string, m *contents) error {
			e := &m.Segments[0]
			b, err := roaring.BitmapOf(uint32(e.Rows)).ToBytes()
			if err != nil {
				return err
			}
			e.Deleted = sideFileOf(b, 1)
			return writeFile(files{}, filepath.Join(path, e.deletedFile()), b)
		},
		"a segment twice": func(path string, m *contents) error {
			m.Segments = append(m.Segments, m.Segments[0])
			return nil
		},
		"another origin": func(path string, m *contents) error {
			m.Metric, m.Origin = collection.Euclidean.String(), []float64{1, 2}
			return nil
		},
		"texts in the log, after numbers": func(path string, m *contents) error {
			log := filepath.Join(path, logFile(m.Log))
			content, err := os.ReadFile(log)
			if err != nil {
				return err
			}
			m.Segments, m.Numbers = nil, false
			for i, ids := range []*dataset.IDs{idsFrom(5, 1), idsOf([]string{"a"}, true)} {
				form := rowForm{2, dataset.ElemFloat32, nil}
				frame := form.appendChange(beginFrame(nil), &Change{IDs: ids, Rows: []float32{1, 2}})
				endFrame(frame, m.Version+uint64(i), 1)
				content = append(content, frame...)
			}
			return os.WriteFile(log, content, 0o644)
		},
	} {
		path := copied(t, base)
		m, err := readManifest(path)
		if err == nil {
			err = errors.Join(damage(path, m), writeManifest(files{}, path, m))
		}
		if err != nil {
			t.Fatal(name, err)
		}
		checked := Check(ctx, path)
		f, err := Open(ctx, path, Options{Backend: b, ByHand: true})
		if err == nil {
			closed(t, f)
		}
		if wanted := name != "nothing"; wanted != errors.Is(err, ErrDamaged) || wanted != errors.Is(checked, ErrDamaged) {
			t.Errorf("%s: opened %v; checked %v", name, err, checked)
		}
	}
}

// TestVerify: a segment is verified once, as long as it is the same file, or always, or never.
func TestVerify(t *testing.T) {
	b := newBackend(t)
	path, _, _ := writtenFolder(t, 3)
	closed(t, opened(t, path, Options{Backend: b, ByHand: true})) // which verifies them
	segments, err := filepath.Glob(filepath.Join(path, "*.thresher"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	info, err := os.Stat(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	content[headerBytes+5] ^= 1
	if err := os.WriteFile(segments[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	try := func(v Verify) error {
		f, err := Open(context.Background(), path, Options{Backend: b, ByHand: true, Verify: v})
		if err == nil {
			closed(t, f)
		}
		return err
	}
	if err := try(VerifyOnce); !errors.Is(err, ErrDamaged) {
		t.Errorf("another file was not verified: %v", err)
	}
	if err := try(VerifyNever); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(segments[0], info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := try(VerifyOnce); err != nil {
		t.Errorf("the same file was verified again: %v", err)
	}
	if err := try(VerifyNow); !errors.Is(err, ErrDamaged) {
		t.Errorf("it was not verified now: %v", err)
	}
}
