package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"thresher/internal/atomicfile"
	"thresher/internal/filelock"
)

// Options say where a cache is. The zero value is the cache of the user.
type Options struct {
	// Folder is the cache; "" is Default().
	Folder string
	// Progress, if not nil, is told how many bytes of a name's files are there, and how many they have, -1 if a server does
	// not say; from any goroutine, one call at a time.
	Progress func(done, total int64)
	// Transport, if not nil, sends the requests.
	Transport http.RoundTripper
}

// Cache is a folder of files that were fetched. Several processes may use one. It is safe for concurrent use.
type Cache struct {
	folder    string
	o         Options
	transport http.RoundTripper

	opening sync.Mutex
	sources map[string]source // by the kinds of locations

	holding sync.Mutex
	held    *os.File // names the entries that are not evicted until Close; nil for none
}

// Default returns the folder of the user's cache.
func Default() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder is known for a cache: %w", err)
	}
	return filepath.Join(dir, "thresher", "objects"), nil
}

// Open returns the cache of a folder, which is made when something is fetched.
func Open(o Options) (*Cache, error) {
	folder := o.Folder
	if folder == "" {
		var err error
		if folder, err = Default(); err != nil {
			return nil, err
		}
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	c := &Cache{folder: folder, o: o, transport: o.Transport, sources: map[string]source{}}
	if c.transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.ResponseHeaderTimeout, own.DisableCompression = patience, true
		c.transport = own
	}
	return c, nil
}

// Close closes idle connections. Files stay, and what was fetched may be evicted from now on.
func (c *Cache) Close() {
	c.release()
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Folder returns the folder of the cache.
func (c *Cache) Folder() string { return c.folder }

// source returns where a location is.
func (c *Cache) source(ctx context.Context, l *location) (source, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if s := c.sources[l.kind]; s != nil {
		return s, nil
	}
	var s source
	var err error
	switch l.kind {
	case "s3":
		s, err = openS3(ctx, c.transport)
	case "gs":
		s, err = openGS(ctx, c.transport)
	default:
		s = openWeb(c.transport)
	}
	if err != nil {
		return nil, &Error{URL: l.shown, Err: err}
	}
	c.sources[l.kind] = s
	return s, nil
}

// cached is a version of a file, or of files that belong together.
type cached struct {
	id    string
	files []member
}

// member is one file of an entry.
type member struct {
	object
	name string // below the folder of the entry's files, with slashes
}

// newEntry returns the entry of files, whose order does not matter.
func newEntry(files ...member) *cached {
	slices.SortFunc(files, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %q %q %d %s\n", f.name, f.kind+"://"+f.bucket, f.key, f.size, f.version())
	}
	return &cached{hex.EncodeToString(h.Sum(nil))[:32], files}
}

// version identifies the bytes of the files by what the stores state: their entity tags and sizes, wherever they are. It does if
// these are strong.
func (e *cached) version() string {
	h := sha256.New()
	for _, f := range e.files {
		fmt.Fprintf(h, "%q %d %s\n", f.name, f.size, f.object.version())
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// strong reports whether the stores promise other tags for other bytes.
func (e *cached) strong() bool {
	return !slices.ContainsFunc(e.files, func(f member) bool { return f.tag == "" || f.weak })
}

// modified is when the newest of the files was written, as far as the stores say so.
func (e *cached) modified() (last time.Time) {
	for _, f := range e.files {
		if f.modified.After(last) {
			last = f.modified
		}
	}
	return last
}

// The contents of an entry's folder.
const (
	filesName = "files"
	lockName  = "lock"
	stateName = "entry.json" // says when all files were there
)

// partSuffix ends the name of a file of which bytes can be missing.
const partSuffix = ".part"

// state describes an entry, for people, and says whether it is whole.
type state struct {
	URLs    []string   `json:"urls"`
	Bytes   int64      `json:"bytes,omitempty"`
	Fetched *time.Time `json:"fetched,omitempty"` // nil until all files are there
	// Digest is that of the bytes, if the stores state no tags that promise the same.
	Digest string `json:"digest,omitempty"`
	// Files are as they arrived; nil in caches of former versions.
	Files []arrived `json:"files,omitempty"`
}

// at returns the path of a file of an entry.
func (c *Cache) at(e *cached, name string) string {
	return filepath.Join(c.folder, e.id, filesName, filepath.FromSlash(name))
}

// lasts reports whether what was fetched before can be used again: stores that state neither a tag nor a time do not say
// whether a file is another one by now.
func (e *cached) lasts() bool {
	return !slices.ContainsFunc(e.files, func(f member) bool { return f.object.version() == "" })
}

// isWhole reports whether all files of an entry are there.
func (c *Cache) isWhole(e *cached) bool {
	s, err := c.stateOf(e.id)
	if err != nil || s.Fetched == nil || s.Digest == "" && !e.strong() {
		return false
	}
	was := s.arrivals()
	return !slices.ContainsFunc(e.files, func(f member) bool {
		path := c.at(e, f.name)
		if was == nil {
			return !f.isAt(path)
		}
		a, ok := was[f.name]
		return !ok || !a.isAt(path)
	})
}

// isAt reports whether the file is at path, where it is put once it is whole.
func (f *member) isAt(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (f.size < 0 || info.Size() == f.size)
}

// fetch fetches what is not there yet of entries, at most atOnce of them at a time.
func (c *Cache) fetch(ctx context.Context, entries []*cached) error {
	if err := c.hold(ctx, entries); err != nil {
		return err
	}
	p := &arrivals{report: c.o.Progress}
	var missing []*cached
	for _, e := range entries {
		if e.lasts() && c.isWhole(e) {
			continue
		}
		missing = append(missing, e)
		for _, f := range e.files {
			p.expect(f.size)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, e := range missing {
		group.Go(func() error { return c.fetchEntry(ctx, e, p) })
	}
	return group.Wait()
}

// atOnce is how many entries, and files of each, are fetched at the same time.
const atOnce = 4

// fetchEntry fetches what is not there of an entry. If another process does, it waits for its end.
func (c *Cache) fetchEntry(ctx context.Context, e *cached, p *arrivals) (err error) {
	dir := filepath.Join(c.folder, e.id)
	defer func() {
		if err != nil {
			err = c.placed(e, err)
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, filesName), 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which unlocks it
	if err := filelock.Wait(ctx, lock); err != nil {
		return err
	}
	if e.lasts() && c.isWhole(e) {
		for _, f := range e.files {
			p.add(max(f.size, 0))
		}
		return nil
	}
	before, _ := c.stateOf(e.id) // there may be none
	done := state{Files: before.Files}
	for _, f := range e.files {
		done.URLs = append(done.URLs, f.shown)
	}
	was := before.arrivals()
	if err := c.putState(e, done); err != nil { // so that what is left of it is known, whatever comes
		return err
	}
	files := make([]arrived, len(e.files))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range e.files {
		group.Go(func() error {
			f := &e.files[i]
			path := c.at(e, f.name)
			if a, ok := was[f.name]; ok {
				if err := a.removeChanged(within, path); err != nil {
					return err
				}
			}
			err := f.fetch(within, path, p)
			if err == nil {
				files[i], err = arrivedAt(within, f.name, path)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	done.Files = files
	for _, f := range files {
		done.Bytes += f.Bytes
	}
	if !e.strong() {
		if done.Digest, err = c.digest(ctx, e); err != nil {
			return err
		}
	}
	now := time.Now().UTC()
	done.Fetched = &now
	return c.putState(e, done)
}

// putState writes what an entry says of itself.
func (c *Cache) putState(e *cached, s state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(c.folder, e.id, stateName), append(text, '\n'))
}

// digest returns what is the same as long as the bytes and names of the files are.
func (c *Cache) digest(ctx context.Context, e *cached) (string, error) {
	all := sha256.New()
	for _, f := range e.files {
		file, err := os.Open(c.at(e, f.name))
		if err != nil {
			return "", err
		}
		own := sha256.New()
		n, err := io.Copy(own, withContext{ctx, file})
		if err := errors.Join(err, file.Close()); err != nil {
			return "", err
		}
		fmt.Fprintf(all, "%q %d %x\n", f.name, n, own.Sum(nil))
	}
	return hex.EncodeToString(all.Sum(nil))[:16], nil
}

// placed returns an error with the URL and the folder, if it is one of the disk, which has no URL.
func (c *Cache) placed(e *cached, err error) error {
	var known *Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{URL: e.files[0].shown, Err: fmt.Errorf("cannot be kept in the cache %s: %w", c.folder, err)}
}

// replace writes a file that appears whole or not at all.
func replace(path string, text []byte) error {
	f, err := atomicfile.CreateNext(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit(true)
}

// arrivals adds up what is fetched.
type arrivals struct {
	mu          sync.Mutex
	report      func(done, total int64)
	done, total int64
}

// expect adds to the total, which is unknown if a size is.
func (p *arrivals) expect(size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if size < 0 || p.total < 0 {
		p.total = -1
		return
	}
	p.total += size
}

// add reports bytes that arrived, or, if n is negative, that arrived in vain.
func (p *arrivals) add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if p.report != nil {
		p.report(p.done, p.total)
	}
}

// maxName is how many bytes the name of a file has at most, with room for partSuffix.
const maxName = 200

// localName returns a name as all file systems take it.
func localName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`<>:"\|?*`, r) {
			return '_'
		}
		return r
	}, name)
	parts := strings.Split(path.Clean("/"+name), "/")[1:] // none is ".."
	for i, part := range parts {
		parts[i] = part[max(0, len(part)-maxName):] // the end has the extension
	}
	if parts[len(parts)-1] == "" { // of a key such as ..
		parts[len(parts)-1] = "file"
	}
	return strings.Join(parts, "/")
}

// stateOf reads what an entry says of itself.
func (c *Cache) stateOf(id string) (s state, err error) {
	text, err := os.ReadFile(filepath.Join(c.folder, id, stateName))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}
