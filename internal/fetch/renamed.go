package fetch

import (
	"errors"
	"strings"

	"thresher/dataset"
)

// Renamed says URLs in an error of package dataset for the paths of what was fetched, as Set.URLs has them.
func Renamed(err error, urls map[string]string) error {
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
