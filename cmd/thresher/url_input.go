package main

import (
	"context"
	"fmt"
	"maps"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/fetch"
)

// openURLs returns the vectors at URLs, which are fetched to the cache unless they are there. open opens a folder of the cache.
func (a *app) openURLs(ctx context.Context, flag, name string, open func(path string) (input, error)) (input, error) {
	shown := fetch.Shown(name)
	bar := a.NewProgress("fetching " + shown)
	defer bar.Done()
	cache, err := fetch.Open(fetch.Options{Folder: a.Config.Cache, Progress: bar.Set})
	if err != nil {
		return input{}, err
	}
	a.caches = append(a.caches, cache)
	set, err := cache.Fetch(ctx, name)
	if err != nil {
		return input{}, err // which names the URL
	}
	if a.fetched == nil {
		a.fetched = map[string]string{}
	}
	maps.Copy(a.fetched, set.URLs)
	var in input
	switch {
	case set.Files == nil:
	case set.Path != "":
		in = a.inputOf(flag, set.Path, nil)
	default:
		in = a.inputOf(flag, shown, set.Files)
		if _, err := dataset.FileSetOf(shown, set.Files); err != nil {
			return input{}, fetch.Renamed(err, set.URLs)
		}
	}
	refetch := func(ctx context.Context, err error) error {
		again, err := cache.FetchAgain(ctx, name, set, err)
		if err != nil {
			return err
		}
		a.Log.Warn("the copy in the cache was damaged, and was fetched again", "from", shown, "cache", cache.Folder())
		if again.Path != set.Path {
			return fmt.Errorf("%s: it was replaced meanwhile; run the command again", shown)
		}
		return nil
	}
	in.refetch = refetch
	if err := in.retried(ctx, func() (err error) {
		switch {
		case set.Files == nil:
			in, err = open(set.Path)
		case in.isCollection():
			_, err = collection.Stat(set.Path)
		}
		return err
	}); err != nil {
		return input{}, fetch.Renamed(err, set.URLs)
	}
	in.name, in.urls, in.refetch = shown, set.URLs, refetch
	return in, nil
}

// retried opens what in has. If it is a copy in the cache that turns out to be damaged, it is fetched and opened once more.
func (in input) retried(ctx context.Context, open func() error) error {
	err := open()
	if err == nil || in.refetch == nil {
		return err
	}
	if err := in.refetch(ctx, err); err != nil {
		return err
	}
	return open()
}

// closeCaches ends the use of what was fetched, once the cache has been brought to its limit.
func (a *app) closeCaches(ctx context.Context) {
	if len(a.caches) > 0 && a.Config.CacheLimit > 0 && ctx.Err() == nil {
		if _, err := a.caches[0].Evict(ctx, a.Config.CacheLimit); err != nil {
			a.Log.Warn("the cache stays beyond its limit", "limit", a.Config.CacheLimit, "error", err)
		}
	}
	for _, cache := range a.caches {
		cache.Close()
	}
}
