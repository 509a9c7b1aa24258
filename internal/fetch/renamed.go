package fetch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"thresher/dataset"
)

// Renamed says URLs in an error for the paths of what was fetched, as Set.URLs has them. One of package dataset stays one.
func Renamed(err error, urls map[string]string) error {
	if err == nil {
		return nil
	}
	paths := slices.SortedFunc(maps.Keys(urls), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // longer ones begin with shorter ones
	said := func(text string) string {
		for _, path := range paths {
			text = strings.ReplaceAll(text, path, urls[path])
		}
		return text
	}
	text := said(err.Error())
	if text == err.Error() {
		return err
	}
	e, ok := err.(*dataset.Error)
	if !ok {
		return &reworded{text, err}
	}
	own := *e
	own.File = said(own.File)
	if text := said(e.Err.Error()); text != e.Err.Error() {
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
