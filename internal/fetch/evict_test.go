package fetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"thresher/internal/filelock"
)

// lastUsed sets when an entry was used.
func lastUsed(t *testing.T, c *Cache, set *Set, ago time.Duration) {
	t.Helper()
	then := time.Now().Add(-ago)
	path := filepath.Join(filepath.Dir(filepath.Dir(set.Path)), stateName)
	if filepath.Dir(filepath.Dir(path)) != c.Folder() {
		t.Fatalf("%s is in no entry of %s", set.Path, c.Folder())
	}
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func isThere(path string) bool { _, err := os.Stat(path); return err == nil }

// What was used the longest ago goes first, and nothing that an open cache has asked for.
func TestEviction(t *testing.T) {
	if !filelock.Supported {
		t.Skip("without locks what was used today stays")
	}
	s, filling := openStore(t), newCache(t)
	const size = 1 << 20
	s.put(map[string]string{"a.csv": long(size), "b.csv": long(size), "c.csv": long(size), "d.csv": long(size)})
	sets := map[string]*Set{}
	for i, name := range []string{"a", "b", "c", "d"} {
		sets[name] = fetched(t, filling, "s3://box/"+name+".csv")
		lastUsed(t, filling, sets[name], time.Duration(10-i)*time.Hour)
	}
	evict := func(c *Cache, limit, removed int64, left string) {
		t.Helper()
		got, err := c.Evict(soon(t), limit)
		if err != nil || got < removed || got > removed+removed/64 {
			t.Errorf("%d bytes removed, not about %d: %v", got, removed, err)
		}
		for name, set := range sets {
			if want := strings.Contains(left, name); isThere(set.Path) != want {
				t.Errorf("%s is there: %v, want %v", name, !want, want)
			}
		}
	}
	other, err := Open(Options{Folder: filling.Folder()})
	if err != nil {
		t.Fatal(err)
	}
	evict(other, 0, 0, "abcd") // all are used
	filling.Close()
	evict(other, 5*size, 0, "abcd")
	fetched(t, other, "s3://box/b.csv") // which notes the use
	evict(other, 7*size/2, size, "bcd") // a is the oldest
	evict(other, 5*size/2, size, "bd")  // b is used now, and by other
	third, err := Open(Options{Folder: filling.Folder()})
	if err != nil {
		t.Fatal(err)
	}
	evict(third, 0, size, "b")
	other.Close()
	writeFile(t, filepath.Join(filling.Folder(), usersName, "died"), filepath.Base(filepath.Dir(filepath.Dir(sets["b"].Path))))
	evict(third, 0, size, "") // whom nobody holds
	if left := folders(t, third); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	wantTexts(t, fetched(t, third, "s3://box/a.csv").Files, long(size))
	third.Close()
	if users, err := os.ReadDir(filepath.Join(filling.Folder(), usersName)); err != nil || len(users) != 0 {
		t.Errorf("users: %v, %v", users, err)
	}
}

// What is being fetched, or could not be removed whole, neither stays for ever nor goes too early.
func TestEvictionOfWhatIsBegun(t *testing.T) {
	c := newCache(t)
	if n, err := c.Evict(soon(t), 0); n != 0 || err != nil {
		t.Errorf("of an empty cache: %d, %v", n, err)
	}
	s := openStore(t)
	s.put(map[string]string{"a.csv": "a"})
	set := fetched(t, c, "s3://box/a.csv")
	c.Close()
	entry := filepath.Dir(filepath.Dir(set.Path))
	foreign := filepath.Join(c.Folder(), "own"+goneSuffix)
	for _, dir := range []string{entry + goneSuffix, foreign} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.Open(filepath.Join(entry, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if taken, err := filelock.Try(lock); err != nil || !taken {
		t.Fatal(taken, err)
	}
	if n, err := c.Evict(soon(t), 0); n != 0 || err != nil || !isThere(set.Path) && filelock.Supported {
		t.Errorf("of what is fetched: %d, %v", n, err)
	}
	if isThere(entry+goneSuffix) || !isThere(foreign) {
		t.Error("what was removed in part stays, or what is no entry is gone")
	}
}

// A copy that was written to is fetched again; one of which only the time is another is not.
func TestChangedCopy(t *testing.T) {
	for _, name := range []string{"x.csv", "x.thresher"} {
		s, c := openStore(t), newCache(t)
		s.put(map[string]string{name: "vectors"})
		set := fetched(t, c, "s3://box/"+name)
		s.did("GET")
		for text, gets := range map[string]int{"vectorz": 1, "vec": 1, "vectors": 0} {
			writeFile(t, set.Path, text)
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(set.Path, later, later); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				wantTexts(t, fetched(t, c, "s3://box/"+name).Files, "vectors")
				if got := s.did("GET"); len(got) != gets {
					t.Errorf("%s that became %q: %q", name, text, got)
				}
				gets = 0
			}
		}
	}
}

// A copy whose bytes changed unnoticed is fetched again if it could not be read, but nothing is if the bytes are those that arrived.
func TestFetchAgain(t *testing.T) {
	s, c := openStore(t), newCache(t)
	s.put(map[string]string{"x.thresher": "vectors", "x.thresher.ids.npz": "ids", "t/1.csv": "one", "t/2.csv": "two"})
	for _, name := range []string{"s3://box/x.thresher", "s3://box/t/"} {
		set := fetched(t, c, name)
		for path := range set.URLs {
			unread := errors.New(path + ": unreadable")
			if _, err := c.FetchAgain(soon(t), name, set, unread); err != unread {
				t.Errorf("of a copy that is intact: %v", err)
			}
			was, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, path, strings.ToUpper(string(was)))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
			other := errors.New("something else")
			if _, err := c.FetchAgain(soon(t), name, set, other); err != other {
				t.Errorf("of an error of no file: %v", err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := c.FetchAgain(ended, name, set, unread); err != unread {
				t.Errorf("of a context that ended: %v", err)
			}
			again, err := c.FetchAgain(soon(t), name, set, unread)
			if err != nil {
				t.Fatal(err)
			}
			if again.URLs[path] != set.URLs[path] {
				t.Errorf("%s is not among %v", path, again.URLs)
			}
			wantTexts(t, []string{path}, string(was))
		}
	}
}
