package main

import (
	"context"
	"errors"
	"io"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/cli"
	"thresher/internal/fetch"
)

// app holds what the commands of this package share.
type app struct {
	*cli.App
	// reading are the flags by which files of vectors are read.
	reading readingFlags
	// fetched are the URLs of what was fetched, by its paths, and caches keep it there until the command ends.
	fetched map[string]string
	caches  []*fetch.Cache
}

// newApp returns an app with these streams that knows the names of methods and metrics.
func newApp(in io.Reader, out, errw io.Writer) *app {
	a := &app{App: cli.New(in, out, errw)}
	a.Said = func(err error) error { return fetch.Renamed(err, a.fetched) }
	a.Choices, a.Names, a.CodeOf = choices, settingChecks(), codeOf
	a.Former = formerFlags()
	return a
}

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := newApp(in, out, errw)
	defer a.closeCaches(ctx)
	return a.Run(ctx, newRootCommand(a), args)
}

// codeOf is the exit code of errors of the engine that have one of their own.
func codeOf(err error) int {
	if errors.Is(err, backend.ErrUnavailable) {
		return cli.ExitBackend
	}
	return cli.ExitOK
}

// settingChecks returns the functions that check, by key, settings for which a list of names does not suffice.
func settingChecks() map[string]func(string) (string, error) {
	all := map[string]func(string) (string, error){"metric": metricName}
	for _, key := range batch.PublishedNames() {
		all[key] = func(text string) (string, error) {
			var e *batch.RequestError
			if err := new(batch.Published).Set(key, text); errors.As(err, &e) && text != "" {
				return "", e.Err
			}
			return text, nil
		}
	}
	return all
}

// metricName returns the name of a metric that is called s.
func metricName(s string) (string, error) {
	m, err := collection.ParseMetric(s)
	if err != nil {
		return "", err
	}
	return m.String(), nil
}

// choices returns the valid names of settings, by key.
func choices() map[string][]string {
	var methods []string
	for _, m := range batch.Methods() {
		methods = append(methods, string(m))
	}
	return map[string][]string{
		"method":  methods,
		"metric":  collection.Metrics(),
		"basis":   {"auto", "raw"},
		"backend": {"auto", "cpu", "cuda"},
		"kernels": {"auto", "generic", "avx2", "avx512", "neon"},
	}
}
