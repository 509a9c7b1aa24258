package main

import (
	"context"
	"errors"
	"strings"

	"thresher/dataset"
	"thresher/internal/fetch"
)

// openURLs returns the vectors at URLs, which are fetched to the cache unless they are there.
func (a *app) openURLs(ctx context.Context, flag, name string) (input, error) {
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
	var in input
	switch {
	case set.Files == nil:
		in = a.inputOf(flag, set.Path, nil)
		if in.folder, err = openFolder(ctx, set.Path); err != nil {
			return input{}, renamed(err, set.URLs)
		}
	case set.Path != "":
		in = a.inputOf(flag, set.Path, nil)
	default:
		in = a.inputOf(flag, shown, set.Files)
		if _, err := dataset.FileSetOf(shown, set.Files); err != nil {
			return input{}, renamed(err, set.URLs)
		}
	}
	in.name, in.urls = shown, set.URLs
	return in, nil
}

// renamed says URLs for the paths of what was fetched.
func renamed(err error, urls map[string]string) error {
	var e *dataset.Error
	if err == nil || len(urls) == 0 || !errors.As(err, &e) {
		return err
	}
	own := *e
	text := e.Err.Error()
	for path, url := range urls {
		own.File, text = strings.ReplaceAll(own.File, path, url), strings.ReplaceAll(text, path, url)
	}
	if text != e.Err.Error() {
		own.Err = &reworded{text, e.Err}
	}
	return &own
}

// reworded is an error with another text.
type reworded struct {
	text string
	error
}

func (r *reworded) Error() string { return r.text }

func (r *reworded) Unwrap() error { return r.error }
