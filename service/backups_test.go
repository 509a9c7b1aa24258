package service

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"thresher/segments/folder"
	"thresher/service/api"
	"thresher/store"
)

// backedUp makes a backup by HTTP and waits until it has ended.
func (s *site) backedUp() api.Backup {
	s.t.Helper()
	var begun api.Backup
	s.do("POST", "/v1/backup", nil).want(202).into(&begun)
	return s.lastBackup(begun)
}

// lastBackup waits until a backup that has begun has ended.
func (s *site) lastBackup(begun api.Backup) api.Backup {
	s.t.Helper()
	if _, err := s.backups.Wait(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	var state api.Backups
	s.do("GET", "/v1/backup", nil).want(200).into(&state)
	if state.Last == nil || !state.Last.CreatedAt.Equal(begun.CreatedAt) || state.Running != nil {
		s.t.Fatalf("%+v after %+v", state, begun)
	}
	return *state.Last
}

// unsound restores a backup and returns what data check reports but for what is whole.
func unsound(t *testing.T, from, to string) (bad []store.Item) {
	t.Helper()
	if _, err := extensions().RestoreBackup(t.Context(), from, to, func(i store.Item) {
		if i.Verdict != store.Intact {
			bad = append(bad, i)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return bad
}

// inodes returns the files below a folder by their relative paths.
func inodes(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	all := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		all[rel], err = e.Info()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBackup: a backup made while serving is restored with all answers, and shares with the one before
// what has not changed; a file that was damaged there is copied again.
func TestBackup(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backups")
	dir := t.TempDir()
	s := startIn(t, dir, func(o *Options) { o.Backups = Backups{Folder: to} })
	want := s.stocked()
	first := s.backedUp()
	if first.Status != api.BackupCompleted || len(first.Damaged) > 0 || first.Files != first.FilesDone || first.Bytes != first.BytesDone || first.BytesLinked != 0 || first.Files < 10 {
		t.Fatalf("%+v", first)
	}
	s.do("PUT", "/v1/collections/more?metric=ip&wait", npy(gaussian(2, 8*dim), dim), "Content-Type", npyType).want(201)
	second := s.backedUp()
	if second.Status != api.BackupCompleted || len(second.Damaged) > 0 || second.BytesLinked == 0 || second.BytesLinked >= second.Bytes {
		t.Fatalf("%+v", second)
	}

	was, is, live := inodes(t, filepath.Join(to, first.Name)), inodes(t, filepath.Join(to, second.Name)), inodes(t, dir)
	shared := ""
	for path, info := range is {
		inFolder := strings.HasSuffix(filepath.Dir(path), ".folder") && (filepath.Ext(path) == ".log" || filepath.Base(path) == folder.ManifestName) // which change
		own := path == "backup.json" || strings.HasSuffix(path, ".db") || inFolder
		if same := was[path] != nil && os.SameFile(was[path], info); same == (own || was[path] == nil) {
			t.Errorf("%s: shared %t", path, same)
		} else if same && strings.HasSuffix(path, ".thresher") {
			shared = path
		}
		if live[path] != nil && os.SameFile(live[path], info) {
			t.Errorf("%s is the live file", path)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".backup")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the second names are left:", err)
	}

	// Damaged in place: its length and its time are as before.
	damaged := filepath.Join(to, second.Name, shared)
	text := readFile(t, damaged)
	for at := range text {
		text[at] ^= 1
	}
	if err := errors.Join(os.WriteFile(damaged, text, 0o600), os.Chtimes(damaged, is[shared].ModTime(), is[shared].ModTime())); err != nil {
		t.Fatal(err)
	}
	third := s.backedUp()
	if third.Status != api.BackupCompleted || len(third.Damaged) > 0 {
		t.Fatalf("%+v", third)
	}
	if again := inodes(t, filepath.Join(to, third.Name))[shared]; os.SameFile(again, is[shared]) {
		t.Errorf("%s is linked although it is damaged there", shared)
	}
	s.stopAll()

	restored := filepath.Join(t.TempDir(), "data")
	if bad := unsound(t, filepath.Join(to, second.Name), filepath.Join(t.TempDir(), "damaged")); len(bad) != 1 || bad[0].Verdict != store.Broken {
		t.Errorf("what is damaged in a backup: %v", bad)
	}
	if bad := unsound(t, filepath.Join(to, third.Name), restored); len(bad) > 0 {
		t.Error(bad)
	}
	r := startIn(t, restored, nil)
	got := r.everything()
	delete(got, "collection more")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if f := r.differs(); f != nil {
		t.Errorf("the start found %+v", f)
	}
	if _, err := extensions().RestoreBackup(t.Context(), filepath.Join(to, third.Name), restored, nil); err == nil || !strings.Contains(err.Error(), "there is something already") {
		t.Error(err)
	}
	if _, err := extensions().RestoreBackup(t.Context(), dir, filepath.Join(t.TempDir(), "x"), nil); err == nil || !strings.Contains(err.Error(), "is no backup") {
		t.Error(err)
	}
}

// TestBackupUnderFire: while collections are replaced and deleted, rows added, files stored and
// deleted, and notes written, every backup is sound in itself, and has what was acknowledged
// before it.
func TestBackupUnderFire(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backups")
	s := start(t, func(o *Options) { o.Backups = Backups{Folder: to, Keep: 2} })
	want := s.stocked()
	stop := make(chan struct{})
	var fire sync.WaitGroup
	var mu sync.Mutex
	rounds := map[string]int{}
	work := func(name string, step func(n int)) {
		fire.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				step(n)
				mu.Lock()
				rounds[name]++
				mu.Unlock()
			}
		})
	}
	work("replace", func(n int) {
		s.do("PUT", "/v1/collections/churn?metric=ip&replace&wait", npy(gaussian(uint64(n), 40*dim), dim), "Content-Type", npyType).want(201)
		s.do("DELETE", "/v1/collections/churn", nil).want(204)
	})
	work("files", func(n int) {
		f := s.upload("f", fmt.Appendf(nil, "content %d", n), "batch")
		s.do("DELETE", "/v1/files/"+f, nil).want(200)
	})
	written := map[string]string{}
	work("write", func(n int) {
		text := fmt.Sprint("text ", n)
		id := s.write(text)
		mu.Lock()
		defer mu.Unlock()
		written["note "+id] = text
	})
	var names []string
	acknowledged := map[string]map[string]string{}
	for range 4 {
		mu.Lock()
		before, at := maps.Clone(written), maps.Clone(rounds)
		mu.Unlock()
		b := s.backedUp()
		if b.Status != api.BackupCompleted || len(b.Damaged) > 0 {
			t.Fatalf("%+v", b)
		}
		names = append(names, b.Name)
		acknowledged[b.Name] = before
		waitUntil(t, func() bool { // each has done something before the next
			mu.Lock()
			defer mu.Unlock()
			return rounds["replace"] > at["replace"]+1 && rounds["files"] > at["files"]+1 && rounds["write"] > at["write"]+1
		})
	}
	close(stop)
	fire.Wait()
	s.stopAll()
	for _, gone := range names[:2] {
		if _, err := os.Stat(filepath.Join(to, gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	for _, name := range names[2:] {
		restored := filepath.Join(t.TempDir(), "data")
		if bad := unsound(t, filepath.Join(to, name), restored); len(bad) > 0 {
			t.Error(bad)
		}
		r := startIn(t, restored, nil)
		r.do("DELETE", "/v1/collections/churn", nil) // it may be there, and be being made
		got := r.everything()
		for what, is := range want {
			if got[what] != is {
				t.Errorf("%s: %q, it was %q", what, got[what], is)
			}
		}
		for id, text := range acknowledged[name] {
			if got[id] != text {
				t.Errorf("%s: %s is %q, it was %q", name, id, got[id], text)
			}
		}
		r.stopAll()
	}
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for !is() {
		if t.Failed() {
			t.FailNow() // who makes it true has stopped
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it never came true")
		case <-time.After(time.Millisecond):
		}
	}
}

// TestBackupIsRefused: without a folder, inside the data folder, and with settings; cancelling while none is made.
func TestBackupIsRefused(t *testing.T) {
	s := start(t, nil)
	for _, call := range [][2]string{{"POST", "/v1/backup"}, {"GET", "/v1/backup"}, {"POST", "/v1/backup/cancel"}} {
		if p := s.do(call[0], call[1], nil).problem(409, "conflict"); p.Field != "backup.folder" {
			t.Errorf("%v: %+v", call, p)
		}
	}
	dir := t.TempDir()
	in := startIn(t, dir, func(o *Options) { o.Backups = Backups{Folder: filepath.Join(dir, "backups")} })
	if b := in.backedUp(); b.Status != api.BackupFailed || !strings.Contains(b.Error, "neither in the data folder nor around it") {
		t.Errorf("%+v", b)
	}
	if p := in.do("POST", "/v1/backup", `{"folder":"/tmp"}`).problem(400, "unknown-field"); p.Field != "folder" {
		t.Errorf("%+v", p)
	}
	in.do("POST", "/v1/backup/cancel", nil).problem(409, "conflict")
}

// TestBackupIsCancelled: while a change is being recorded, for which a backup waits, one is being made; it is
// cancelled, and nothing of it is left.
func TestBackupIsCancelled(t *testing.T) {
	to := filepath.Join(t.TempDir(), "backups")
	s := start(t, func(o *Options) { o.Backups = Backups{Folder: to} })
	change, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	var begun, ended api.Backup
	s.do("POST", "/v1/backup", `{}`).want(202).into(&begun)
	s.do("POST", "/v1/backup", nil).problem(409, "conflict")
	var state api.Backups
	if s.do("GET", "/v1/backup", nil).want(200).into(&state); state.Running == nil || !state.Running.CreatedAt.Equal(begun.CreatedAt) || state.Last != nil || len(state.Complete) > 0 {
		t.Errorf("%+v", state)
	}
	answer := make(chan *answer, 1)
	go func() { answer <- s.do("POST", "/v1/backup/cancel", nil) }()
	waitUntil(t, func() bool { return len(s.lines("a backup is cancelled")) > 0 })
	if err := change.Rollback(); err != nil {
		t.Fatal(err)
	}
	if (<-answer).want(200).into(&ended); ended.Status != api.BackupCancelled || ended.Error != "it was cancelled" {
		t.Errorf("%+v", ended)
	}
	if left, err := os.ReadDir(to); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if text := string(s.do("GET", "/metrics", nil).want(200).body); !strings.Contains(text, `thresher_backups_total{outcome="cancelled"} 1`) || !strings.Contains(text, "thresher_newest_backup_timestamp_seconds 0") {
		t.Errorf("%.200s", text)
	}
	if b := s.backedUp(); b.Status != api.BackupCompleted {
		t.Errorf("%+v", b)
	}
}
