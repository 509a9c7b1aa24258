package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"thresher/service/api"
	"thresher/service/problem"
	"thresher/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a source whose records, in the bucket things, are the names of files in the folder things, and
// its runner.
type shop struct {
	t      *testing.T
	dir    string
	meta   *bbolt.DB
	source Source
	o      Options
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, dir: filepath.Join(t.TempDir(), "data")}
	if err := os.MkdirAll(filepath.Join(s.dir, "things"), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.meta, _, err = store.Open(filepath.Join(s.dir, "meta.db"), &store.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.meta.Close() })
	// A database that has to grow waits for those who read it, which is not what is tested.
	s.update(func(b *bbolt.Bucket) error { return b.Put([]byte("large"), make([]byte, 1<<20)) })
	s.update(func(b *bbolt.Bucket) error { return b.Delete([]byte("large")) })
	s.source = Source{Dir: s.dir, Meta: s.meta, Files: []string{"format.json"}, Folders: []Folder{{Name: "things", Known: things}, {Name: "jobs", Known: everything, First: "progress"}}}
	s.o = Options{Folder: filepath.Join(t.TempDir(), "backups"), Check: s.check}
	return s
}

func everything(*bbolt.Tx) (func(string) bool, error) { return func(string) bool { return true }, nil }

func things(tx *bbolt.Tx) (func(string) bool, error) {
	names := recorded(tx)
	return func(name string) bool { return slices.Contains(names, name) }, nil
}

// recorded lists the records.
func recorded(tx *bbolt.Tx) (names []string) {
	if b := tx.Bucket([]byte("things")); b != nil {
		c := b.Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			names = append(names, string(k))
		}
	}
	return names
}

// check reports whether the file of each record is there, with the record's value as its content.
func (s *shop) check(_ context.Context, dir string, tell func(store.Item)) error {
	d, _, err := store.Open(filepath.Join(dir, "meta.db"), nil)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.View(func(tx *bbolt.Tx) error {
		for _, name := range recorded(tx) {
			i := store.Item{Kind: "thing", Name: name, Verdict: store.Intact}
			text, err := os.ReadFile(filepath.Join(dir, "things", name))
			if errors.Is(err, fs.ErrNotExist) {
				i.Verdict = store.Missing
			} else if string(text) != string(tx.Bucket([]byte("things")).Get([]byte(name))) {
				i.Verdict = store.Broken
			}
			tell(i)
		}
		return nil
	})
}

// write writes a file of the data folder.
func (s *shop) write(path, content string) {
	s.t.Helper()
	at := filepath.Join(s.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(content), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

// stock adds a file with its record.
func (s *shop) stock(name string) {
	s.t.Helper()
	s.write(filepath.Join("things", name), "content of "+name)
	s.update(func(b *bbolt.Bucket) error { return b.Put([]byte(name), []byte("content of "+name)) })
}

// sell removes a record, and then its file.
func (s *shop) sell(name string) {
	s.update(func(b *bbolt.Bucket) error { return b.Delete([]byte(name)) })
	if err := os.Remove(filepath.Join(s.dir, "things", name)); err != nil {
		s.t.Error(err)
	}
}

func (s *shop) update(do func(*bbolt.Bucket) error) {
	err := s.meta.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte("things"))
		if err != nil {
			return err
		}
		return do(b)
	})
	if err != nil {
		s.t.Error(err)
	}
}

func (s *shop) runner() *Runner {
	s.t.Helper()
	r, err := NewRunner(s.source, s.o, slog.New(slog.DiscardHandler))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(r.Close)
	return r
}

// backup makes a backup and returns how it ended.
func (s *shop) backup() api.Backup {
	s.t.Helper()
	r := s.runner()
	if _, err := r.Start("a test"); err != nil {
		s.t.Fatal(err)
	}
	b, err := r.Wait(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var noLinks = func(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: errors.ErrUnsupported}
}

// TestOneInstant: records that change, and files that are removed, while files get their second names or
// are copied, are in the backup as they were before; with hard links and without.
func TestOneInstant(t *testing.T) {
	for name, link := range map[string]func(from, to string) error{"links": os.Link, "no links": noLinks} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			for i := range 20 {
				s.stock(fmt.Sprint("thing ", i))
			}
			s.write("things/thing of nobody", "not recorded")
			s.write("things/.temporary", "")
			s.write("strange", "")
			s.write("format.json", "{}")
			begun, changed := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(changed)
				<-begun
				for i := range 10 {
					s.sell(fmt.Sprint("thing ", i))
					s.stock(fmt.Sprint("later ", i))
				}
			}()
			first := true
			s.o.link = func(from, to string) error {
				if first {
					first = false
					close(begun)
				}
				for range 1000 { // changes that did not wait would be made now
					runtime.Gosched()
				}
				return link(from, to)
			}
			s.o.step = func(name string) {
				if name == "copying" {
					<-changed
				}
			}
			b := s.backup()
			if b.Status != api.BackupCompleted || len(b.Damaged) > 0 || !slices.Equal(b.LeftOut, []string{"strange"}) || b.Files != 22 || b.FilesDone != 22 || b.BytesDone != b.Bytes {
				t.Fatalf("%+v", b)
			}
			dir := filepath.Join(s.o.Folder, b.Name)
			if got := names(t, filepath.Join(dir, "things")); len(got) != 20 || !strings.HasPrefix(got[0], "thing ") {
				t.Error(got)
			}
			if got := names(t, dir); !slices.Equal(got, []string{"backup.json", "format.json", "meta.db", "things"}) {
				t.Error(got)
			}
			to := filepath.Join(t.TempDir(), "restored")
			if _, err := Restore(t.Context(), dir, to); err != nil {
				t.Fatal(err)
			}
			if got := names(t, to); !slices.Equal(got, []string{"format.json", "meta.db", "things"}) {
				t.Error(got)
			}
			sound := 0
			if err := s.check(t.Context(), to, func(i store.Item) {
				if i.Verdict == store.Intact {
					sound++
				}
			}); err != nil || sound != 20 {
				t.Error(sound, err)
			}
		})
	}
}

// TestRemovalsMeanwhile: a file that is removed between the listing and the link is no fault, because no
// record names it.
func TestRemovalsMeanwhile(t *testing.T) {
	s := newShop(t)
	s.stock("kept")
	s.write("jobs/a/progress", "1")
	s.write("jobs/a/output", "1")
	removed := false
	s.o.link = func(from, to string) error {
		if strings.HasSuffix(from, "output") && !removed {
			removed = true
			if err := os.RemoveAll(filepath.Join(s.dir, "jobs", "a")); err != nil {
				t.Error(err)
			}
		}
		return os.Link(from, to)
	}
	b := s.backup()
	if b.Status != api.BackupCompleted || !removed || b.Files != 2 {
		t.Errorf("%+v", b)
	}
}

// TestGrowingFiles: of a job the progress is as old as the instant, and the output has at least what it
// says. It is shared with the backup before if it has not grown since, and with the data folder never.
func TestGrowingFiles(t *testing.T) {
	s := newShop(t)
	s.write("jobs/a/output", "one")
	s.write("jobs/a/progress", "3")
	s.o.step = func(name string) {
		if name != "copying" {
			return
		}
		f, err := os.OpenFile(filepath.Join(s.dir, "jobs", "a", "output"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = f.WriteString(" two")
		if err := errors.Join(err, f.Close(), os.WriteFile(filepath.Join(s.dir, "jobs", "a", "progress"), []byte("7"), 0o600)); err != nil {
			t.Error(err)
		}
	}
	b := s.backup()
	at := filepath.Join(s.o.Folder, b.Name, "jobs", "a")
	if p, o := content(t, filepath.Join(at, "progress")), content(t, filepath.Join(at, "output")); p != "3" || !strings.HasPrefix(o, "one") {
		t.Errorf("progress %s, output %q", p, o)
	}
	s.o.step = nil
	if again := s.backup(); again.BytesLinked != int64(len("one two")) || again.Status != api.BackupCompleted {
		t.Errorf("%+v", again)
	}
	s.write("jobs/a/output", "one two three")
	grown := s.backup()
	if grown.BytesLinked != 0 || grown.Status != api.BackupCompleted {
		t.Errorf("%+v", grown)
	}
	last, err := os.Stat(filepath.Join(s.o.Folder, grown.Name, "jobs", "a", "output"))
	live, err2 := os.Stat(filepath.Join(s.dir, "jobs", "a", "output"))
	if err := errors.Join(err, err2); err != nil || os.SameFile(last, live) {
		t.Error("the backup has the live file:", err)
	}
	if o := content(t, filepath.Join(at, "output")); o != "one two" {
		t.Errorf("the first backup has %q", o)
	}
}

// cutting is a file that is cut once it is read.
type cutting struct {
	*os.File
	t *testing.T
}

func (c cutting) Read(p []byte) (int, error) {
	if err := c.Truncate(1); err != nil {
		c.t.Error(err)
	}
	return c.File.Read(p)
}

// TestCutMeanwhile: a file that is cut while it is compared with the backup before differs from it, and is
// copied as it then is.
func TestCutMeanwhile(t *testing.T) {
	dir := t.TempDir()
	var files [2]*os.File
	for i := range files {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte("all that was said"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if same, err := sameBytes(t.Context(), files[0], cutting{files[1], t}, int64(len("all that was said"))); same || err != nil {
		t.Error(same, err)
	}
}

// TestNothingLooksLikeABackup: at every instant before the end nothing that a killed process would leave
// is taken for a backup, a cancelled one leaves nothing, and what a killed one left is removed.
func TestNothingLooksLikeABackup(t *testing.T) {
	for _, at := range []string{"snapshot", "copying", "checking", ""} {
		t.Run("at "+at, func(t *testing.T) {
			s := newShop(t)
			s.stock("a")
			left := filepath.Join(s.o.Folder, ".backup-20260101T000000.000Z.new")
			stage := filepath.Join(s.dir, stageName)
			if err := errors.Join(os.MkdirAll(left, 0o700), os.MkdirAll(stage, 0o700), os.WriteFile(filepath.Join(stage, "x"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			reached, goOn := make(chan struct{}), make(chan struct{})
			s.o.step = func(name string) {
				if name == at {
					close(reached)
					<-goOn
				}
			}
			r := s.runner()
			if _, err := r.Start("a test"); err != nil {
				t.Fatal(err)
			}
			<-reached
			if state, err := r.State(); err != nil || len(state.Complete) > 0 || state.Running == nil {
				t.Errorf("%+v, %v", state, err)
			}
			now := names(t, s.o.Folder)
			if len(now) != 1 || slices.Contains(now, filepath.Base(left)) || !strings.HasPrefix(now[0], ".") {
				t.Error(now)
			}
			if _, err := Restore(t.Context(), filepath.Join(s.o.Folder, now[0]), filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(err.Error(), "is no backup") {
				t.Error(err)
			}
			if _, err := r.Start("another"); err == nil || problem.Of(err).Kind != problem.Conflict {
				t.Error(err)
			}
			if at == "" { // it is complete but for its name: cancelling is too late
				close(goOn)
				if b, err := r.Wait(t.Context()); err != nil || b.Status != api.BackupCompleted {
					t.Errorf("%+v, %v", b, err)
				}
				return
			}
			// The backup goes on as soon as it has been cancelled.
			r.cancel(errCancelled)
			close(goOn)
			if b, err := r.Wait(t.Context()); err != nil || b.Status != api.BackupCancelled || b.Error != errCancelled.Error() {
				t.Errorf("%+v, %v", b, err)
			}
			if rest := names(t, s.o.Folder); len(rest) > 0 {
				t.Error(rest)
			}
			if _, err := os.Stat(stage); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			if ended, newest := r.Counts(); ended["cancelled"] != 1 || !newest.IsZero() {
				t.Error(ended, newest)
			}
		})
	}
}

// TestDamagedData: damage is copied and named, and no older backup is removed for a backup of damaged
// data; afterwards those without damage stay.
func TestDamagedData(t *testing.T) {
	s := newShop(t)
	s.o.Keep = 1
	s.stock("a")
	first := s.backup()
	s.write("things/a", "damaged")
	second := s.backup()
	if second.Status != api.BackupCompleted || len(second.Damaged) != 1 || !strings.Contains(second.Damaged[0], "thing a is damaged") || len(second.Removed) > 0 {
		t.Errorf("%+v", second)
	}
	if got := names(t, s.o.Folder); !slices.Equal(got, []string{first.Name, second.Name}) {
		t.Error(got)
	}
	if ended, newest := s.runner().Counts(); ended["damaged"] != 0 || !newest.Equal(first.CreatedAt) {
		t.Error(ended, newest)
	}
	s.write("things/a", "content of a")
	third := s.backup()
	if got := names(t, s.o.Folder); !slices.Equal(got, []string{third.Name}) || !slices.Equal(third.Removed, []string{second.Name, first.Name}) {
		t.Errorf("%v, %+v", got, third)
	}
}

// TestRefusals: where backups are not written to, and not restored to.
func TestRefusals(t *testing.T) {
	s := newShop(t)
	s.stock("a")
	for _, folder := range []string{s.dir, filepath.Join(s.dir, "in"), filepath.Dir(s.dir)} {
		s.o.Folder = folder
		if b := s.backup(); b.Status != api.BackupFailed || !strings.Contains(b.Error, ErrNested.Error()) {
			t.Errorf("%s: %+v", folder, b)
		}
	}
	s.o.Folder = ""
	if _, err := s.runner().Start("a test"); err == nil || problem.Of(err).Field != "backup.folder" {
		t.Error(err)
	}
	s.o.Folder = filepath.Join(t.TempDir(), "backups")
	reached, goOn := make(chan struct{}), make(chan struct{})
	s.o.step = func(name string) {
		if name == "copying" {
			close(reached)
			<-goOn
		}
	}
	r := s.runner()
	if _, err := r.Start("a test"); err != nil {
		t.Fatal(err)
	}
	<-reached
	other := newShop(t)
	other.o.Folder = s.o.Folder
	if b := other.backup(); b.Status != api.BackupFailed || !strings.Contains(b.Error, ErrRunning.Error()) {
		t.Errorf("%+v", b)
	}
	close(goOn)
	b, err := r.Wait(t.Context())
	if err != nil || b.Status != api.BackupCompleted {
		t.Fatalf("%+v, %v", b, err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.o.Folder, b.Name)
	if _, err := Restore(t.Context(), dir, full); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), full) {
		t.Error(err)
	}
	if _, err := Restore(t.Context(), dir, t.TempDir()); err != nil { // an empty folder
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	box := t.TempDir()
	if _, err := Restore(cancelled, dir, filepath.Join(box, "x")); !errors.Is(err, context.Canceled) || len(names(t, box)) > 0 {
		t.Error(err, names(t, box))
	}
	future := filepath.Join(dir, descriptionName)
	if err := os.WriteFile(future, []byte(`{"format":2,"program":"v9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), dir, filepath.Join(box, "x")); err == nil || !strings.Contains(err.Error(), "format 2, made by thresher v9") {
		t.Error(err)
	}
}

// TestFind: of a folder of backups the newest without damage is found, and a backup is found by its name.
func TestFind(t *testing.T) {
	s := newShop(t)
	s.stock("a")
	found := func(at, want string) {
		t.Helper()
		if got, err := Find(at); err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if err := os.MkdirAll(s.o.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	found(s.o.Folder, s.o.Folder) // there is none, as Restore says
	first := filepath.Join(s.o.Folder, s.backup().Name)
	found(s.o.Folder, first)
	second := filepath.Join(s.o.Folder, s.backup().Name)
	found(s.o.Folder, second)
	s.write("things/a", "damaged")
	third := filepath.Join(s.o.Folder, s.backup().Name)
	found(s.o.Folder, second)
	found(third, third)
	if err := errors.Join(os.RemoveAll(first), os.RemoveAll(second)); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(s.o.Folder); err == nil || !strings.Contains(err.Error(), "all backups in "+s.o.Folder+" are of damaged data") {
		t.Error(err)
	}
}

// TestNames: two backups at the same time have two names, in order.
func TestNames(t *testing.T) {
	s := folder{t.TempDir()}
	at := time.Date(2026, 11, 28, 3, 0, 0, 999e6, time.UTC)
	var all []string
	for range 3 {
		name, path, err := s.begin(at)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.finish(path, api.Backup{Name: name, CreatedAt: at}); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	if want := []string{"backup-20261128T030000.999Z", "backup-20261128T030001.000Z", "backup-20261128T030001.001Z"}; !slices.Equal(all, want) {
		t.Error(all)
	}
	list, err := s.list()
	if err != nil || len(list) != 3 || list[0].Name != all[2] {
		t.Error(list, err)
	}
}
