package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"thresher/columns"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/fetch"
	"thresher/internal/filelock"
	"thresher/segments/folder"
	"thresher/service"
	"thresher/service/catalog"
	"thresher/service/problem"
)

// replicas are the collections of a read-only server, which follow what is at their paths and URLs.
type replicas struct {
	a     *app
	s     *service.Server
	cache *fetch.Cache

	wanted atomic.Pointer[[]config.Replica]
	again  chan struct{} // asks for another look

	served   map[string]servedVersion
	fetching atomic.Pointer[string] // what readiness says that the server waits for
}

// servedVersion is what is served of a collection.
type servedVersion struct {
	from    string
	version string // as fetch.Set has it; of a path the names, times and sizes of its files
}

// openReplicas returns the collections of a read-only server, and a folder for its own files, which end with it.
func (a *app) openReplicas() (r *replicas, folder string, end func(), err error) {
	r = &replicas{a: a, again: make(chan struct{}, 1), served: map[string]servedVersion{}}
	r.wanted.Store(&a.Config.Server.Replicas)
	if r.cache, err = fetch.Open(fetch.Options{Folder: a.Config.Cache, Progress: r.progress}); err != nil {
		return nil, "", nil, err
	}
	folder, end, err = ownFolder(filepath.Join(r.cache.Folder(), "replicas"))
	return r, folder, end, err
}

// ownFolder makes a folder in dir for this process, and removes those of processes that have died.
func ownFolder(dir string) (folder string, end func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	const suffix = ".lock"
	all, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return "", nil, err
	}
	for _, path := range all {
		lock, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		taken, err := filelock.Try(lock)
		if err == nil && taken && filelock.Supported {
			err = errors.Join(os.RemoveAll(strings.TrimSuffix(path, suffix)), os.Remove(path))
		}
		if err := errors.Join(err, lock.Close()); err != nil {
			return "", nil, err
		}
	}
	for {
		lock, err := os.CreateTemp(dir, "*"+suffix)
		if err != nil {
			return "", nil, err
		}
		taken, err := filelock.Try(lock)
		if _, gone := os.Stat(lock.Name()); err == nil && (!taken || gone != nil) { // a process that starts took it for one of the dead
			lock.Close()
			continue
		}
		folder := strings.TrimSuffix(lock.Name(), suffix)
		if err = errors.Join(err, os.Mkdir(folder, 0o700)); err != nil {
			return "", nil, errors.Join(err, lock.Close())
		}
		return folder, func() {
			os.RemoveAll(folder) // what is left goes when the next server starts
			os.Remove(lock.Name())
			lock.Close()
		}, nil
	}
}

// roots are the folders that the collections lie in on this machine.
func (r *replicas) roots() (all []string, err error) {
	all = []string{r.cache.Folder()}
	for _, one := range *r.wanted.Load() {
		if fetch.Is(one.From) {
			continue
		}
		path, err := filepath.Abs(one.From)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("collection %s: %w", one.Name, err)
		}
		all = append(all, filepath.Dir(path))
	}
	return all, nil
}

// progress tells readiness how much of a collection is there.
func (r *replicas) progress(done, total int64) {
	name, _, _ := strings.Cut(*r.fetching.Load(), " (")
	text := fmt.Sprintf("%s (%d bytes fetched)", name, done)
	if total >= 0 {
		text = fmt.Sprintf("%s (%d of %d bytes fetched)", name, done, total)
	}
	r.fetching.Store(&text)
}

// begin names what is fetched next.
func (r *replicas) begin(name string) {
	text := "the collection " + name
	r.fetching.Store(&text)
}

// run fetches the collections, calls ready once all of them are served, and follows the settings until ctx ends. What fails in
// a way that may pass is tried again; an error that stays ends the server before it was ready, and is logged later.
func (r *replicas) run(ctx context.Context, ready func()) error {
	defer r.cache.Close()
	select {
	case <-r.s.Catalog().Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := r.follow(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil || !fetch.Passes(err) {
			return fmt.Errorf("serve: %w", err)
		}
		r.a.Log.Warn("a collection could not be fetched, and is tried again", "error", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.again:
		}
		if err := r.follow(ctx); err != nil && ctx.Err() == nil {
			r.a.Log.Error("what could not be fetched stays as it was", "error", err)
		}
	}
}

// The time until a collection that could not be fetched is tried again.
const firstWait, lastWait = time.Second, time.Minute

// reload looks again for other versions, with the settings as they are now.
func (r *replicas) reload(wanted []config.Replica) {
	r.wanted.Store(&wanted)
	select {
	case r.again <- struct{}{}:
	default: // it is going to look
	}
}

// follow serves what is at the paths and URLs now, and nothing else.
func (r *replicas) follow(ctx context.Context) error {
	wanted := *r.wanted.Load()
	var failed error
	keep := map[string]bool{}
	for _, one := range wanted {
		keep[one.Name] = true
		if err := r.followOne(ctx, one); err != nil {
			failed = errors.Join(failed, fmt.Errorf("collection %s: %w", one.Name, err))
		}
	}
	for name := range r.served {
		if !keep[name] {
			if err := r.s.Catalog().Delete(name); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			delete(r.served, name)
			r.s.Serves(name, "")
		}
	}
	return failed
}

// followOne serves what is at the path or URL of a collection, if it is not served. A copy in the cache that turns out to be damaged
// is fetched once more.
func (r *replicas) followOne(ctx context.Context, one config.Replica) error {
	r.begin(one.Name)
	set, now, err := r.find(ctx, one)
	if err != nil {
		return err
	}
	if r.served[one.Name] == now {
		return nil
	}
	info, err := r.serve(ctx, one.Name, set)
	if err != nil && set.Kept && isDamage(err) {
		r.a.Log.Warn("the copy in the cache is damaged, and is fetched again", "collection", one.Name, "from", fetch.Shown(one.From), "error", fetch.Renamed(err, set.URLs))
		if err := r.cache.Remove(set); err != nil {
			return err
		}
		if set, now, err = r.find(ctx, one); err != nil {
			return err
		}
		info, err = r.serve(ctx, one.Name, set)
	}
	if err = fetch.Renamed(err, set.URLs); err != nil && strings.HasPrefix(err.Error(), fetch.Shown(one.From)) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", fetch.Shown(one.From), err)
	}
	r.served[one.Name] = now
	r.s.Serves(one.Name, set.Version) // of a path none
	r.a.Log.Info("a collection is served as it is elsewhere", "collection", one.Name, "from", fetch.Shown(one.From), "at", now.version, "version", info.Version, "rows", info.Count)
	if err := r.cache.RemoveOthers(set); err != nil {
		r.a.Log.Warn("former versions stay in the cache", "error", err)
	}
	return nil
}

// isDamage reports whether an error may be one of the bytes of files.
func isDamage(err error) bool {
	switch problem.Of(err).Kind {
	case problem.Malformed, problem.Internal: // of files beside a collection, and of folders
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return false
}

// find fetches a collection.
func (r *replicas) find(ctx context.Context, one config.Replica) (*fetch.Set, servedVersion, error) {
	if fetch.Is(one.From) {
		set, err := r.cache.FetchVersion(ctx, one.From, one.Version)
		if err != nil {
			return nil, servedVersion{}, err
		}
		if set.Version == "" {
			return nil, servedVersion{}, fmt.Errorf("%s: is no prepared collection; `thresher build` makes one", fetch.Shown(one.From))
		}
		return set, servedVersion{one.From, set.Version}, nil
	}
	path, err := filepath.Abs(one.From)
	if err != nil {
		return nil, servedVersion{}, err
	}
	if !folder.Is(path) && !strings.HasSuffix(path, collectionSuffix) {
		return nil, servedVersion{}, fmt.Errorf("%s: is no prepared collection; `thresher build` makes one", one.From)
	}
	version, modified, err := stateOf(path)
	if err != nil {
		return nil, servedVersion{}, err
	}
	if one.Version != "" {
		return nil, servedVersion{}, fmt.Errorf("%s: versions are stated by stores, and a path has none", one.From)
	}
	return &fetch.Set{Path: path, Modified: modified}, servedVersion{one.From, version}, nil
}

// stateOf returns what changes whenever a file of the collection or folder at path does, and when the newest of them was written.
func stateOf(path string) (version string, newest time.Time, err error) {
	files := []string{path}
	if folder.Is(path) {
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", newest, err
		}
		files = nil
		for _, e := range entries {
			files = append(files, filepath.Join(path, e.Name()))
		}
	} else {
		files = append(files, path+dataset.SavedIDsSuffix, path+columns.SavedSuffix)
	}
	var text strings.Builder
	for i, file := range files {
		info, err := os.Stat(file)
		if errors.Is(err, os.ErrNotExist) && (i > 0 || file != path) { // it has none, or it was removed just now
			continue
		}
		if err != nil {
			return "", newest, err
		}
		fmt.Fprintf(&text, "%q %d %d\n", filepath.Base(file), info.ModTime().UnixNano(), info.Size())
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	digest := sha256.Sum256([]byte(text.String()))
	return hex.EncodeToString(digest[:8]), newest, nil
}

// serve makes a collection, or a new version of it, of what was fetched. Its number is the time at which the newest of its files was
// written: so replicas of one URL call it by the same number. Of a path it is in microseconds, as writes follow each other closely.
func (r *replicas) serve(ctx context.Context, name string, set *fetch.Set) (info catalog.Info, err error) {
	o := catalog.CreateOptions{Replace: true, Least: max(0, set.Modified.Unix())}
	if set.Entry == "" {
		o.Least = max(0, set.Modified.UnixMicro())
	}
	if folder.Is(set.Path) {
		info, err = r.s.Catalog().CreateFolder(ctx, name, set.Path, o)
	} else {
		info, err = r.s.Catalog().Create(ctx, name, catalog.Source{Path: set.Path, Called: set.URLs[set.Path]}, o, "")
	}
	if err != nil {
		return info, err
	}
	made, err := r.s.Catalog().Wait(ctx, name, info.Version)
	if err != nil {
		return info, err
	}
	if made.State != catalog.Ready {
		return made, made.Failure
	}
	return made, nil
}

// serveReplicas fetches and follows the collections while reloads runs, until ctx ends or one of the first cannot be had.
func (a *app) serveReplicas(ctx context.Context, r *replicas, ready func(), reloads func(context.Context)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.run(ctx, ready) })
	group.Go(func() error { reloads(ctx); return nil })
	return group.Wait()
}
