package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/config"
)

// Exit codes of the command.
const (
	exitOK          = 0
	exitWrong       = 1 // verify found wrong answers; recall below --fail-under; an offline job did not complete
	exitInput       = 2 // usage or bad input
	exitDeadline    = 3 // a deadline left partial answers
	exitBackend     = 4 // backend unavailable
	exitInterrupted = 130
)

// app holds what all commands share: the streams and the configuration.
type app struct {
	in       io.Reader
	out, err io.Writer
	// isTerminal reports that err is a terminal, where progress can be drawn.
	isTerminal bool
	// configFile is the value of --config.
	configFile string
	// sources are the sources that config was read from.
	sources config.Sources
	// config, log and audit, a log that does not depend on the level, are set before a command
	// runs.
	config     *config.Config
	log, audit *slog.Logger
	// reading are the flags by which files of vectors are read.
	reading readingFlags
}

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// run executes the command line and returns the exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := &app{in: in, out: out, err: errw, isTerminal: isTerminal(errw)}
	notes, err := noteFormer(args)
	for _, note := range notes {
		fmt.Fprintf(errw, "thresher: note: %s\n", note)
	}
	if err == nil {
		root := newRootCommand(a)
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return exitOK
	}
	var coded *exitError
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, &coded) {
		err = &exitError{exitInterrupted, errors.New("interrupted")}
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(errw, "thresher: %s\n", strings.TrimRight(line, "\n"))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var e *exitError
	switch {
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, backend.ErrUnavailable):
		return exitBackend
	}
	return exitInput
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// loadConfig reads the settings for a command with these flags.
func (a *app) loadConfig(src config.Sources) error {
	src.File = a.configFile
	src.Choices = choices()
	src.Names = map[string]func(string) (string, error){"metric": metricName}
	a.sources = src
	c, err := config.Load(src)
	if err != nil {
		return err
	}
	a.config = c
	said := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: durationInWords}
	var all slog.Handler = slog.NewTextHandler(a.err, said)
	if c.LogFormat == "json" {
		all = slog.NewJSONHandler(a.err, said)
	}
	a.log, a.audit = slog.New(above{all, c.LogLevel}), slog.New(above{all, slog.LevelInfo})
	for _, name := range c.Unknown {
		a.log.Warn("a variable of the environment that begins like thresher's is not read", "name", name)
	}
	return nil
}

// durationInWords gives durations their unit in the log: JSON would have nanoseconds that do not say so.
func durationInWords(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

// above passes on the records from a level on. Several may share a handler, and so a writer.
type above struct {
	slog.Handler
	least slog.Level
}

func (h above) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

func (h above) WithAttrs(attrs []slog.Attr) slog.Handler {
	return above{h.Handler.WithAttrs(attrs), h.least}
}

func (h above) WithGroup(name string) slog.Handler {
	return above{h.Handler.WithGroup(name), h.least}
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
