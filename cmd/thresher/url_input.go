package main

import (
	"context"
	"maps"

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
	defer cache.Close()
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
		if in, err = open(set.Path); err != nil {
			return input{}, fetch.Renamed(err, set.URLs)
		}
	case set.Path != "":
		in = a.inputOf(flag, set.Path, nil)
	default:
		in = a.inputOf(flag, shown, set.Files)
		if _, err := dataset.FileSetOf(shown, set.Files); err != nil {
			return input{}, fetch.Renamed(err, set.URLs)
		}
	}
	in.name, in.urls = shown, set.URLs
	return in, nil
}
