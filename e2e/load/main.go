//go:build linux

// Command load measures and stresses thresher serve, in separate processes on loopback: how
// many clients it serves and how fast (load), how one client fares among others (fair,
// slowbody), what survives kill -9 (crash) and a full disk (diskfull), what memory writes take (upserts), what backups hold (backup), and how it handles
// malformed and malicious requests (hostile). Each verb fails with a description of the
// problem, and can write its figures to a section of a page. Data and instants are drawn from -seed,
// which is the same unless another is given, and printed. No verb takes longer than -limit.
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

// run is one execution of a verb.
type run struct {
	binary string // thresher
	folder string // temporary, its own
	out    io.Writer
	page   string // to write a section to; "" for none
}

// verb is a command: it sets flags on fs and returns the function to run.
type verb struct {
	name, about string
	prepare     func(fs *flag.FlagSet) func(context.Context, *run) error
}

func verbs() []verb {
	return []verb{
		{"load", "many clients of one query each, with batching and without", prepareLoad},
		{"fair", "latency of one client next to large searches and to many clients", prepareFair},
		{"slowbody", "latency of a search while other bodies stall", prepareSlowBody},
		{"crash", "kill -9 while collections, files, batches and tournaments are written, and recovery", prepareCrash},
		{"upserts", "a million rows written beside searches, and the server's memory meanwhile", prepareUpserts},
		{"backup", "backups while tournaments are judged, each restored and compared", prepareBackup},
		{"diskfull", "writes on a full disk", prepareDiskFull},
		{"hostile", "malformed and malicious requests", prepareHostile},
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

// command runs the verb named by args[0].
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
		binary := fs.String("thresher", "build/thresher", "`path` of the program that serves")
		page := fs.String("write", "", "`page` to write the figures into")
		limit := fs.Duration("limit", usualLimit, "how long it may take; it fails then")
		work := v.prepare(fs)
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		if seed := fs.Lookup("seed"); seed != nil {
			fmt.Fprintf(out, "%s: what is drawn is drawn again with -seed %v\n", v.name, seed.Value)
		}
		return inTime(ctx, *limit, func(ctx context.Context) error {
			return inFolder(ctx, &run{binary: *binary, page: *page, out: out}, work)
		})
	}
	for _, v := range verbs() {
		fmt.Fprintf(out, "%-10s%s\n", v.name, v.about)
	}
	return fmt.Errorf("a command is needed, one of these")
}

// inFolder runs work in a new temporary folder.
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
