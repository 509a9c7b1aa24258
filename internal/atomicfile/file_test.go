package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// begin runs test with each way to create the file at path, with the content "new".
func begin(t *testing.T, test func(t *testing.T, dir, path string, create func() *File)) {
	t.Helper()
	for name, how := range map[string]func(path string) (*File, error){
		"create": func(path string) (*File, error) { return Create(path, 0o644) },
		"next":   CreateNext,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			test(t, dir, path, func() *File {
				t.Helper()
				f, err := how(path)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(f.Discard)
				if _, err := f.WriteString("new"); err != nil {
					t.Fatal(err)
				}
				return f
			})
		})
	}
}

// holds checks the names in a folder, and the content of the file a.
func holds(t *testing.T, dir, content string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("the folder holds %q, want %q", names, want)
	}
	if !slices.Contains(want, "a") {
		return
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(b) != content {
		t.Errorf("the file holds %q, %v; want %q", b, err, content)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestFileAppearsAtCommit(t *testing.T) {
	for _, replace := range []bool{false, true} {
		begin(t, func(t *testing.T, dir, path string, create func() *File) {
			f := create()
			holds(t, dir, "", filepath.Base(f.Name()))
			if err := f.Commit(replace); err != nil {
				t.Fatal(err)
			}
			holds(t, dir, "new", "a")
			write(t, f.Name(), "another's")
			f.Discard()
			holds(t, dir, "new", filepath.Base(f.Name()), "a")
		})
	}
}

func TestFormerFileStaysUntilCommit(t *testing.T) {
	begin(t, func(t *testing.T, dir, path string, create func() *File) {
		write(t, path, "old")
		f := create()
		holds(t, dir, "old", filepath.Base(f.Name()), "a")
		f.Discard()
		holds(t, dir, "old", "a")
		if err := create().Commit(true); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, "new", "a")
	})
}

var noLinks = func(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: errors.ErrUnsupported}
}

// An existing name is not replaced, also if it was created after the file, is a dangling link,
// or if the file system has no links.
func TestTakenName(t *testing.T) {
	for _, link := range []func(string, string) error{os.Link, noLinks} {
		begin(t, func(t *testing.T, dir, path string, create func() *File) {
			f := create()
			f.link = link
			write(t, path, "old")
			if err := f.Commit(false); !errors.Is(err, fs.ErrExist) {
				t.Errorf("taken: %v", err)
			}
			f.Discard()
			holds(t, dir, "old", "a")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			f = create()
			f.link = link
			if err := os.Symlink("nowhere", path); err != nil {
				t.Skip(err)
			}
			if err := f.Commit(false); !errors.Is(err, fs.ErrExist) {
				t.Errorf("taken by a link: %v", err)
			}
			if to, err := os.Readlink(path); err != nil || to != "nowhere" {
				t.Errorf("%q, %v", to, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			f.Discard()
			f = create()
			f.link = link
			if err := f.Commit(false); err != nil {
				t.Errorf("free: %v", err)
			}
			holds(t, dir, "new", "a")
		})
	}
}

func TestOneOfManyHasTheName(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() {
			f, err := Create(filepath.Join(dir, "a"), 0o644)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Discard()
			_, err = f.WriteString("new")
			errs[i] = errors.Join(err, f.Commit(false))
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d had the name", won)
	}
	holds(t, dir, "new", "a")
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions there")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	is := func(what string, f *File, err error, want fs.FileMode) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Discard()
		before, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(true); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil || before.Mode() != want || after.Mode() != want {
			t.Errorf("%s: %v, then %v, want %v; %v", what, before.Mode(), after.Mode(), want, err)
		}
	}
	write(t, filepath.Join(dir, "umask"), "")
	umask, err := os.Stat(filepath.Join(dir, "umask"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := CreateNext(path)
	is("next to nothing", f, err, umask.Mode())
	for _, mode := range []fs.FileMode{0o600, 0o666, 0o444} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		f, err = CreateNext(path)
		is("next", f, err, mode)
		f, err = Create(path, mode)
		is("created", f, err, mode&umask.Mode())
	}
}

// The file that a dead process left is removed; a link of that name is not followed.
func TestNextRemovesWhatIsInItsPlace(t *testing.T) {
	for _, put := range []func(name, other string) error{
		func(name, _ string) error { return os.WriteFile(name, []byte("longer than the new one"), 0o444) },
		func(name, other string) error { return os.Symlink(other, name) },
		func(name, other string) error { return os.Link(other, name) },
	} {
		dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "a")
		write(t, elsewhere, "precious")
		if err := put(filepath.Join(dir, ".a.new"), elsewhere); err != nil {
			t.Fatal(err)
		}
		f, err := CreateNext(filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Discard()
		if _, err := f.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(true); err != nil {
			t.Fatal(err)
		}
		holds(t, dir, "new", "a")
		holds(t, filepath.Dir(elsewhere), "precious", "a")
	}
}

// After any failure the old file remains, and no other.
func TestFailures(t *testing.T) {
	begin(t, func(t *testing.T, dir, path string, create func() *File) {
		write(t, path, "old")
		f := create()
		f.Close() // so that it cannot be flushed
		if err := f.Commit(true); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("unflushed: %v", err)
		}
		f.Discard()
		holds(t, dir, "old", "a")

		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o777)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(path, "a"), "old")
		f = create()
		if err := f.Commit(true); err == nil {
			t.Error("a folder was replaced")
		}
		f.Discard()
		holds(t, path, "old", "a")
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}

		f = create()
		f.Close() // some systems keep the folders of open files
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		f.Discard()
		if _, err := Create(path, 0o644); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no folder: %v", err)
		}
		if _, err := CreateNext(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no folder: %v", err)
		}
	})
}

// The folder is removed after the rename, so that it cannot be flushed.
func TestFolderIsFlushed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders cannot be flushed there")
	}
	begin(t, func(t *testing.T, dir, path string, create func() *File) {
		f := create()
		f.link = func(from, to string) error { return errors.Join(os.Link(from, to), os.RemoveAll(dir)) }
		if err := f.Commit(false); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("committed without its folder: %v", err)
		}
	})
	if err := FlushFolder(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func TestUnwritableFolder(t *testing.T) {
	begin(t, func(t *testing.T, dir, path string, create func() *File) {
		for _, replace := range []bool{false, true} {
			f := create()
			if err := os.Chmod(dir, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o755) }) // so that the test's folder can be removed
			if probe, err := os.Create(filepath.Join(dir, "probe")); err == nil {
				probe.Close()
				t.Skip("permissions do not bind this user")
			}
			if err := f.Commit(replace); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("committed: %v", err)
			}
			if _, err := Create(path, 0o644); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("created: %v", err)
			}
			if _, err := CreateNext(path); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("created: %v", err)
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			f.Discard()
			holds(t, dir, "")
		}
	})
}
