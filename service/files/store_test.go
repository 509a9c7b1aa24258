package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/service/problem"
	"thresher/store"
)

// folder is the folder of a test's store, which may be reopened.
type folder struct {
	t   testing.TB
	dir string
	o   Options
	db  *bbolt.DB
	*Store
}

func newFolder(t testing.TB, o Options) *folder {
	f := &folder{t: t, dir: t.TempDir(), o: o}
	f.open()
	t.Cleanup(f.close)
	return f
}

func (f *folder) open() {
	f.t.Helper()
	var err error
	if f.db, err = bbolt.Open(filepath.Join(f.dir, "meta.db"), 0o644, &bbolt.Options{NoSync: true, Timeout: 10 * time.Second}); err != nil {
		f.t.Fatal(err)
	}
	if f.Store, err = Open(f.at(""), f.db, &f.o); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) close() {
	if err := f.db.Close(); err != nil {
		f.t.Error(err)
	}
}

// at is a path in the store's folder.
func (f *folder) at(name string) string { return filepath.Join(f.dir, "files", name) }

// there lists the store's folder without the notes, of which each file has one.
func (f *folder) there() []string {
	f.t.Helper()
	entries, err := os.ReadDir(f.at(""))
	if err != nil {
		f.t.Fatal(err)
	}
	names := []string{}
	notes := map[string]bool{}
	for _, e := range entries {
		if id, note := strings.CutSuffix(e.Name(), aboutSuffix); note {
			notes[id] = true
			continue
		}
		names = append(names, e.Name())
	}
	for _, name := range names {
		if strings.HasPrefix(name, idPrefix) != notes[name] {
			f.t.Errorf("%s has a note: %t", name, notes[name])
		}
		delete(notes, name)
	}
	if len(notes) > 0 {
		f.t.Errorf("notes of nothing: %v", notes)
	}
	return names
}

// create stores a content, which must succeed.
func (f *folder) create(name, purpose, content string) File {
	f.t.Helper()
	file, err := f.Create(context.Background(), name, purpose, "", strings.NewReader(content))
	if err != nil {
		f.t.Fatal(err)
	}
	return file
}

// content returns the whole content of a file.
func (f *folder) content(id string) string {
	f.t.Helper()
	r, _, err := f.Open(id)
	if err != nil {
		f.t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// all lists every file, newest first.
func (f *folder) all() []File {
	f.t.Helper()
	list, more, err := f.List("", 1000, "", nil)
	if err != nil || more {
		f.t.Fatal(more, err)
	}
	return list
}

func kindOf(err error) problem.Kind { return problem.Of(err).Kind }

func TestContentComesBack(t *testing.T) {
	f := newFolder(t, Options{})
	long := strings.Repeat("0123456789abcdef", 50_000)
	for _, content := range []string{"", "{}\n{}\n", long} {
		file := f.create("in.jsonl", "batch", content)
		for range 2 {
			got, err := f.Get(file.ID)
			if err != nil || got != file || file.Bytes != int64(len(content)) {
				t.Fatalf("%+v, %+v, %v", got, file, err)
			}
			if f.content(file.ID) != content {
				t.Error("another content")
			}
			f.close()
			f.open()
		}
	}
	sum := f.create("", "", "abc").SHA256
	if sum != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(sum)
	}
}

func TestFileIsAnOpenAIFile(t *testing.T) {
	text, err := json.Marshal(File{ID: "file-1", Name: "a.jsonl", Purpose: "batch", Bytes: 5, SHA256: "ab",
		CreatedAt: time.Unix(1_700_000_000, 7)}.View())
	want := `{"id":"file-1","object":"file","bytes":5,"created_at":1700000000,"filename":"a.jsonl","purpose":"batch","status":"processed","sha256":"ab"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

func TestList(t *testing.T) {
	f := newFolder(t, Options{})
	var want []string // newest first
	for i := range 7 {
		file := f.create(fmt.Sprint(i), []string{"batch", "vectors"}[i%2], "x")
		want = slices.Insert(want, 0, file.ID)
	}
	ids := func(list []File) (ids []string) {
		for _, f := range list {
			ids = append(ids, f.ID)
		}
		return ids
	}
	list, more, err := f.List("", 3, "", nil)
	if d := cmp.Diff(want[:3], ids(list)); d != "" || !more || err != nil {
		t.Error(d, more, err)
	}
	list, more, err = f.List(want[2], 4, "", nil)
	if d := cmp.Diff(want[3:], ids(list)); d != "" || more || err != nil {
		t.Error(d, more, err)
	}
	list, more, err = f.List(want[6], 4, "", nil)
	if len(list) != 0 || list == nil || more || err != nil {
		t.Error(list, more, err)
	}
	list, more, err = f.List("", 2, "vectors", nil)
	if d := cmp.Diff([]string{want[1], want[3]}, ids(list)); d != "" || !more || err != nil {
		t.Error(d, more, err)
	}
	if _, _, err = f.List("file-none", 4, "", nil); problem.Of(err).Field != "after" || kindOf(err) != problem.UnknownFile {
		t.Error(err)
	}
}

func TestHeldFilesStay(t *testing.T) {
	f := newFolder(t, Options{})
	a, b := f.create("a", "", "a"), f.create("b", "", "b")
	for _, err := range []error{f.Hold(a.ID, "batch 1"), f.Hold(a.ID, "batch 1"), f.Hold(b.ID, "batch 1"), f.Hold(a.ID, "batch 11")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for _, id := range []string{a.ID, b.ID} {
			if err := f.Delete(id); kindOf(err) != problem.Conflict || !strings.Contains(err.Error(), "batch 1") {
				t.Error(err)
			}
		}
		if owners, err := f.Owners("batch"); err != nil || !slices.Equal(owners, []string{"batch 1", "batch 11"}) {
			t.Error(owners, err)
		}
		f.close()
		f.open()
	}
	if err := f.Release("batch 1"); err != nil {
		t.Fatal(err)
	}
	if err := f.Delete(a.ID); kindOf(err) != problem.Conflict {
		t.Error(err)
	}
	if err := f.Delete(b.ID); err != nil {
		t.Error(err)
	}
	for _, err := range []error{f.Release("batch 11"), f.Release("batch 11"), f.Release("nobody"), f.Delete(a.ID)} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := f.Hold(a.ID, "late"); kindOf(err) != problem.UnknownFile {
		t.Error(err)
	}
	if owners, err := f.Owners(""); err != nil || len(owners) != 0 {
		t.Error(owners, err)
	}
	if left := f.there(); len(left) != 0 {
		t.Error(left)
	}
	for _, owner := range []string{"", "a\x00b"} {
		if err := f.Hold(a.ID, owner); err == nil {
			t.Errorf("held by %q", owner)
		}
	}
}

func TestUnknownFiles(t *testing.T) {
	f := newFolder(t, Options{})
	write(t, f.at("stray"), "not ours")
	for _, id := range []string{"", "file-0", "../meta.db", "stray", "."} {
		_, err := f.Get(id)
		_, _, perr := f.Path(id)
		_, _, oerr := f.Store.Open(id)
		for _, err := range []error{err, perr, oerr, f.Delete(id)} {
			if kindOf(err) != problem.UnknownFile {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if got := f.there(); len(got) != 1 {
		t.Error(got)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNamesAndLimits(t *testing.T) {
	f := newFolder(t, Options{MaxBytes: 10, Total: 25})
	ctx := context.Background()
	for name, tc := range map[string]struct {
		name, purpose, content string
		kind                   problem.Kind
		field                  string
	}{
		"long name":    {strings.Repeat("a", 256), "", "", problem.InvalidValue, "filename"},
		"control":      {"a\nb", "", "", problem.InvalidValue, "filename"},
		"no UTF-8":     {"a\xff", "", "", problem.InvalidValue, "filename"},
		"long purpose": {"a", strings.Repeat("a", 65), "", problem.InvalidValue, "purpose"},
		"long content": {"a", "", "01234567890", problem.BodyTooLarge, "file"},
	} {
		_, err := f.Create(ctx, tc.name, tc.purpose, "", strings.NewReader(tc.content))
		if p := problem.Of(err); p.Kind != tc.kind || p.Field != tc.field {
			t.Errorf("%s: %s %v", name, p.Kind, err)
		}
	}
	a := f.create("../../etc/passwd", "", "0123456789") // a name is not a path
	f.create("b", "", "0123456789")
	if _, err := f.Create(ctx, "c", "", "", strings.NewReader("012345")); kindOf(err) != problem.DiskFull ||
		!strings.Contains(err.Error(), "20 bytes of files are stored already, of at most 25") {
		t.Error(err)
	}
	f.create("c", "", "01234")
	f.close()
	f.open()
	if _, err := f.Create(ctx, "d", "", "", strings.NewReader("0")); kindOf(err) != problem.DiskFull {
		t.Error(err)
	}
	if err := f.Delete(a.ID); err != nil {
		t.Fatal(err)
	}
	f.create("d", "", "0123456789")
	if got := f.there(); len(got) != 3 || f.used.Load() != 25 {
		t.Error(got, f.used.Load())
	}
}

func TestKeys(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	first, err := f.Create(ctx, "a", "batch", "k", strings.NewReader("abc"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := f.Create(ctx, "a", "batch", "k", strings.NewReader("abc"))
		if err != nil || again != first {
			t.Error(again, err)
		}
		for _, tc := range [][3]string{{"b", "batch", "abc"}, {"a", "", "abc"}, {"a", "batch", "abd"}} {
			if _, err := f.Create(ctx, tc[0], tc[1], "k", strings.NewReader(tc[2])); kindOf(err) != problem.KeyReused {
				t.Error(tc, err)
			}
		}
		if got := f.there(); len(got) != 1 || f.used.Load() != 3 {
			t.Error(got, f.used.Load())
		}
		f.close()
		f.open()
	}
	if err := f.Delete(first.ID); err != nil {
		t.Fatal(err)
	}
	anew, err := f.Create(ctx, "a", "batch", "k", strings.NewReader("abc"))
	if err != nil || anew.ID == first.ID || f.content(anew.ID) != "abc" || f.used.Load() != 3 {
		t.Error("what was deleted is stored anew:", anew, err)
	}
	if again, err := f.Create(ctx, "a", "batch", "k", strings.NewReader("abc")); err != nil || again != anew {
		t.Error(again, err)
	}
}

// TestAdoptAnew: a key whose file was deleted does not prevent storing another, and answers
// as before if there is none.
func TestAdoptAnew(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	path := filepath.Join(f.dir, "made")
	adopt := func() File {
		t.Helper()
		file, err := f.Adopt(ctx, path, "a", "", "k", "")
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	write(t, path, "made")
	first := adopt()
	if err := f.Delete(first.ID); err != nil {
		t.Fatal(err)
	}
	if again := adopt(); again != first {
		t.Error("nothing to store:", again)
	}
	write(t, path, "other")
	anew := adopt()
	if anew.ID == first.ID || f.content(anew.ID) != "other" || f.used.Load() != 5 {
		t.Error(anew)
	}
	if again := adopt(); again != anew {
		t.Error(again)
	}
}

func TestKeyAtOnce(t *testing.T) {
	f := newFolder(t, Options{})
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			file, err := f.Create(context.Background(), "a", "", "k", strings.NewReader("abc"))
			if err != nil {
				t.Error(err)
			}
			ids[i] = file.ID
		})
	}
	wg.Wait()
	if len(slices.Compact(ids)) != 1 || len(f.there()) != 1 || len(f.all()) != 1 || f.used.Load() != 3 {
		t.Error(ids, f.there(), f.used.Load())
	}
}

func TestAdopt(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{MaxBytes: 3, Total: 10}) // MaxBytes applies to uploads
	path := filepath.Join(f.dir, "made")
	write(t, path, "made")
	file, err := f.Adopt(ctx, path, "out.jsonl", "batch_output", "k", "")
	if err != nil || f.content(file.ID) != "made" || file.Bytes != 4 || file.Name != "out.jsonl" {
		t.Fatal(file, err)
	}
	gone := func() {
		t.Helper()
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Error("still there:", err)
		}
	}
	gone()
	for range 2 { // with the file gone, and with one left by a crash
		if again, err := f.Adopt(ctx, path, "out.jsonl", "batch_output", "k", ""); err != nil || again != file {
			t.Error(again, err)
		}
		gone()
		write(t, path, "made")
	}
	if _, err := f.Adopt(ctx, path, "other", "batch_output", "k", ""); kindOf(err) != problem.KeyReused {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "made" {
		t.Errorf("what was refused is the caller's: %q, %v", text, err)
	}
	write(t, path, "long content")
	if _, err := f.Adopt(ctx, path, "a", "", "k2", ""); kindOf(err) != problem.DiskFull {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("what was refused is the caller's:", err)
	}
	if _, err := f.Adopt(ctx, path+"x", "a", "", "k3", ""); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := f.Adopt(ctx, f.dir, "a", "", "k3", ""); err == nil {
		t.Error("a folder")
	}
	if got := f.there(); len(got) != 1 || f.used.Load() != 4 {
		t.Error(got, f.used.Load())
	}
}

func TestBodiesThatBreakOff(t *testing.T) {
	f := newFolder(t, Options{})
	for _, broken := range []error{io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, io.ErrNoProgress} {
		r := io.MultiReader(strings.NewReader("some"), iotest.ErrReader(broken))
		if _, err := f.Create(context.Background(), "a", "", "", r); !errors.Is(err, broken) {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Create(ctx, "a", "", "", strings.NewReader("abc")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := f.Create(context.Background(), "a", "", "", iotest.OneByteReader(iotest.DataErrReader(strings.NewReader("abc")))); err != nil {
		t.Error(err)
	}
	if got := f.there(); len(got) != 1 || f.used.Load() != 3 {
		t.Error(got, f.used.Load())
	}
}

// TestFullDisk fills the disk at each step in turn.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	for _, adopt := range []bool{false, true} {
		at := 0
		for failed := true; failed; at++ {
			f := newFolder(t, Options{})
			kept := f.create("kept", "", "kept")
			path := filepath.Join(f.dir, "made")
			write(t, path, "made")
			left, stepped := at, ""
			f.Store.o.disk = store.Disk{Step: func(step, path string) error {
				if step == "remove" {
					return nil // needs no space
				}
				if left--; left != -1 {
					return nil
				}
				stepped = step
				return &os.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
			}}
			store := func() (File, error) {
				if adopt {
					return f.Adopt(ctx, path, "a", "", "k", "")
				}
				return f.Create(ctx, "a", "", "k", strings.NewReader("made"))
			}
			_, err := store()
			if failed = stepped != ""; !failed {
				if err != nil {
					t.Error(err)
				}
				break
			}
			if kindOf(err) != problem.DiskFull {
				t.Errorf("step %d, %s: %v", at, stepped, err)
			}
			if got := f.there(); !slices.Equal(got, []string{kept.ID}) || f.used.Load() != 4 {
				t.Errorf("step %d, %s: %v", at, stepped, got)
			}
			if _, err := store(); err != nil { // with the key, once there is space again
				t.Errorf("step %d, %s: %v", at, stepped, err)
			}
			if got := f.all(); len(got) != 2 || f.content(got[0].ID) != "made" || f.content(kept.ID) != "kept" {
				t.Errorf("step %d, %s: %v", at, stepped, got)
			}
		}
		if want := map[bool]int{false: 6, true: 3}[adopt]; at < want {
			t.Errorf("only %d steps", at)
		}
	}
}

// TestMemoryIsFlat stores a file much longer than the memory it may allocate.
func TestMemoryIsFlat(t *testing.T) {
	f := newFolder(t, Options{})
	const long = 64 << 20
	per := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := io.LimitReader(zeros{}, long)
			file, err := f.Create(context.Background(), "a", "", "", r)
			if err != nil || file.Bytes != long {
				b.Fatal(file, err)
			}
		}
	})
	if got := per.AllocedBytesPerOp(); got > 2<<20 {
		t.Errorf("%d bytes allocated for a file of %d", got, long)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
