package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"thresher/config"
)

// App holds what all commands share: the streams and the configuration.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	// Terminal reports that Err is a terminal, where progress can be drawn.
	Terminal bool
	// Choices returns the valid names of settings, by key, and Names the functions that return the name
	// which a setting's value stands for; nil for none.
	Choices func() map[string][]string
	Names   map[string]func(string) (string, error)
	// CodeOf returns the exit code of an error that has none of its own, ExitOK if it knows none; may be nil.
	CodeOf func(error) int
	// Said, if not nil, returns an error as it is said.
	Said func(error) error
	// Former are names that flags had; nil for none.
	Former FormerFlags
	// ConfigFile is the value of --config.
	ConfigFile string
	// Sources are the sources that Config was read from.
	Sources config.Sources
	// Config, Log and Audit, a log that does not depend on the level, are set before a command runs.
	Config     *config.Config
	Log, Audit *slog.Logger
}

// New returns an App without settings.
func New(in io.Reader, out, err io.Writer) *App {
	return &App{In: in, Out: out, Err: err, Terminal: isTerminal(err)}
}

// Run executes the command line args of root and returns the exit code.
func (a *App) Run(ctx context.Context, root *cobra.Command, args []string) int {
	notes, err := a.Former.notes(args)
	for _, note := range notes {
		fmt.Fprintf(a.Err, "thresher: note: %s\n", note)
	}
	if err == nil {
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return ExitOK
	}
	if a.Said != nil {
		err = a.Said(err)
	}
	var coded *ExitError
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && !errors.As(err, &coded) {
		err = Exit(ExitInterrupted, errors.New("interrupted"))
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(a.Err, "thresher: %s\n", strings.TrimRight(line, "\n"))
	}
	return a.exitCode(err)
}

// WithSignals calls run within the limit on the memory of the process, and ends its context at the first SIGINT
// or SIGTERM; a second one kills the process. It returns what run returns, an exit code.
func WithSignals(run func(context.Context) int) int {
	boundHeap()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// LoadConfig reads the settings for a command whose flags are in src.
func (a *App) LoadConfig(src config.Sources) error {
	src.File = a.ConfigFile
	if a.Choices != nil {
		src.Choices = a.Choices()
	}
	src.Names = a.Names
	a.Sources = src
	c, err := config.Load(src)
	if err != nil {
		return err
	}
	a.Config = c
	a.Log, a.Audit = newLogs(a.Err, c)
	for _, name := range c.Unknown {
		a.Log.Warn("a variable of the environment that begins like thresher's is not read", "name", name)
	}
	return nil
}
