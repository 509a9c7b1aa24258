package fetch

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// entries returns the entries of a cache.
func entries(t *testing.T, c *Cache) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.Folder(), "*", stateName))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// folders returns the folders of entries that lie in a cache.
func folders(t *testing.T, c *Cache) (all []string) {
	t.Helper()
	names, err := os.ReadDir(c.Folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name.Name() != usersName {
			all = append(all, name.Name())
		}
	}
	return all
}

// Another version than the one that is asked for is refused before it is fetched, if the server states tags.
func TestOtherVersionIsNotFetched(t *testing.T) {
	p := openPage(t, "one")
	c := p.cacheOf(t, t.TempDir())
	url := p.server.URL + "/x.thresher"
	one := fetched(t, c, url)
	two := "two"
	p.text.Store(&two)
	gets := p.gets.Load()
	_, err := c.FetchVersion(soon(t), url, one.Version)
	if !errors.Is(err, errVersion) || Passes(err) || !strings.Contains(err.Error(), "/x.thresher: it has version ") || !strings.Contains(err.Error(), ", and @"+one.Version+" is asked for") {
		t.Errorf("the error is %v", err)
	}
	if got := p.gets.Load(); got != gets || len(entries(t, c)) != 1 {
		t.Errorf("%d requests, entries %q", got-gets, entries(t, c))
	}
	other := fetched(t, c, url)
	if set, err := c.FetchVersion(soon(t), url, other.Version); err != nil || !set.Kept || set.Version != other.Version {
		t.Errorf("%+v, %v", set, err)
	}
}

// Without a tag that promises the same bytes, a version is that of the bytes, also if their number and time are the same, and one
// that is refused does not stay.
func TestVersionWithoutTag(t *testing.T) {
	for name, header := range map[string]func(http.Header){
		"nothing": func(h http.Header) { h.Del("ETag") },
		"a time":  func(h http.Header) { h.Del("ETag"); h.Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT") },
		"weak":    func(h http.Header) { h.Set("ETag", `W/"same"`) },
	} {
		p := openPage(t, "one")
		p.header = header
		url := p.server.URL + "/x.thresher"
		first := p.cacheOf(t, t.TempDir())
		one := fetched(t, first, url)
		if again := fetched(t, first, url); again.Version != one.Version {
			t.Errorf("%s: versions %s and %s of the same bytes", name, one.Version, again.Version)
		}
		if _, err := p.cacheOf(t, t.TempDir()).FetchVersion(soon(t), url, one.Version); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		two := "two"
		p.text.Store(&two)
		c := p.cacheOf(t, t.TempDir())
		if _, err := c.FetchVersion(soon(t), url, one.Version); !errors.Is(err, errVersion) {
			t.Errorf("%s: other bytes are taken for version %s: %v", name, one.Version, err)
		}
		if left := entries(t, c); len(left) != 0 {
			t.Errorf("%s: what was refused stays: %q", name, left)
		}
		if set := fetched(t, c, url); set.Version == one.Version {
			t.Errorf("%s: version %s names two contents", name, set.Version)
		}
	}
}

// What was begun of a former version goes when another is served.
func TestPartOfFormerVersionIsRemoved(t *testing.T) {
	p, folder := openPage(t, long(4<<20)), t.TempDir()
	ctx, cancel := context.WithCancel(soon(t))
	c, err := Open(Options{Folder: folder, Transport: p.server.Client().Transport, Progress: func(done, _ int64) {
		if done > 1<<20 {
			cancel()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	url := p.server.URL + "/x.thresher"
	if _, err := c.Fetch(ctx, url); !errors.Is(err, context.Canceled) || len(parts(t, c)) == 0 {
		t.Fatalf("the error is %v, and the parts are %q", err, parts(t, c))
	}
	other := "other"
	p.text.Store(&other)
	next := p.cacheOf(t, folder)
	set := fetched(t, next, url)
	if err := next.RemoveOthers(set); err != nil {
		t.Fatal(err)
	}
	if left := folders(t, next); !slices.Equal(left, []string{set.Entry}) {
		t.Errorf("left: %q", left)
	}
	if err := next.Remove(set); err != nil {
		t.Fatal(err)
	}
	if left := folders(t, next); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
