//go:build linux

// Command load measures and mistreats thresher serve, as processes of their own on
// loopback: how many clients it answers and how fast (load), how one fares beside others
// (fair, slowbody), what is left of it after
// kill -9 (crash) and without room on the disk (diskfull), and what it makes of input
// and clients that mean it ill (hostile). Each fails with what went wrong, and puts its
// figures in a section of a page when asked to.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// run is one command at work.
type run struct {
	binary string // thresher
	folder string // temporary, its own
	out    io.Writer
	page   string // of which to write a section; "" for none
}

// verb is a command: flags are set on fs, and what is returned does the work.
type verb struct {
	name, about string
	prepare     func(fs *flag.FlagSet) func(context.Context, *run) error
}

func verbs() []verb {
	return []verb{
		{"load", "many clients of one query each, with batching and without", prepareLoad},
		{"fair", "one client's queries beside large searches and beside many others'", prepareFair},
		{"slowbody", "a search beside bodies that do not come", prepareSlowBody},
		{"crash", "kill -9 while collections, files, batches and tournaments are written", prepareCrash},
		{"diskfull", "writes without room on the disk", prepareDiskFull},
		{"hostile", "bodies and clients that mean it ill", prepareHostile},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// command runs the verb that args begin with.
func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == mountedVerb {
		return mounted(ctx, args[1:], out)
	}
	for _, v := range verbs() {
		if len(args) == 0 || args[0] != v.name {
			continue
		}
		fs := flag.NewFlagSet(v.name, flag.ContinueOnError)
		fs.SetOutput(out)
		binary := fs.String("thresher", "build/load/thresher", "`path` of the program that serves")
		page := fs.String("write", "", "`page` to write the figures into")
		work := v.prepare(fs)
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		return inFolder(ctx, &run{binary: *binary, page: *page, out: out}, work)
	}
	for _, v := range verbs() {
		fmt.Fprintf(out, "%-10s%s\n", v.name, v.about)
	}
	return fmt.Errorf("a command is needed, one of these")
}

// inFolder does the work in a new temporary folder.
func inFolder(ctx context.Context, r *run, work func(context.Context, *run) error) (err error) {
	if r.binary, err = filepath.Abs(r.binary); err != nil {
		return err
	}
	if r.folder, err = os.MkdirTemp("", "thresher-load-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.folder)
	return work(ctx, r)
}
