package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"thresher/columns"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/join"
)

type joinFlags struct {
	left, right             string
	on, leftOn, rightOn     string
	by                      string
	leftColumns, rightNames string
	how                     string
	out                     string
	limits                  scoreLimits
	resume, force, json     bool
}

// The values of --how.
const (
	howInner = "inner"
	howLeft  = "left"
)

func newJoinCommand(a *app) *cobra.Command {
	f := &joinFlags{}
	cmd := &cobra.Command{
		Use:   "join --left FILE --right FILE [--by KEYS] [--metric NAME] --out FILE",
		Short: "Join each row of a table with the nearest rows of another",
		Long: `Join each row of a table with the k nearest rows of another by their vectors; with --by only
with rows whose keys are equal. Nothing is missed: --method is certain unless told otherwise.

--out gets a row for each pair, in the order of the left table and then of rank: the columns
of the left table, those of the right one, rank (from 1) and score (in float64; squared
distances with --metric l2). The columns that make the vectors are not written; those of --by are
there once, unless --left-columns leaves them out. A column of the right table that is called as one of the left gets _right behind
its name; one that is called rank or score gets _left or _right. --how left keeps rows of the
left table that join with none, once, without values of the right. Formats: ` + endings(dataset.ValuesWritten, "and") + `.

--by names columns that both tables have: integers, texts, bools or timestamps, of one type in
both. null equals nothing. --left-on and --right-on name the vectors where the names differ.

The vectors of the right table are in memory, sorted by key, and the other columns of both;
the vectors of the left one are read as a stream. docs/join.md has examples.`,
		Example: `  thresher join --left users.parquet --right items.parquet --on embedding -k 10 --metric cosine --by country --out joined.parquet
  thresher join --left queries.jsonl --right docs/ --left-on vector --right-on embedding --metric ip -k 3 --how left --out answers.csv
  thresher join --left a.parquet --right b.parquet --on v --by lang,year --metric cosine --min-score .9 --right-columns id,title --out matches.jsonl`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.limits.read(cmd.Flags())
			return a.runJoin(cmd.Context(), f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.left, "left", "", "`file` of the left table"+setHelp+"; - is standard input")
	fs.StringVar(&f.right, "right", "", "`file` of the right table"+setHelp+"; - is standard input")
	fs.StringVar(&f.on, "on", "", columnHelp("the vectors of both tables"))
	fs.StringVar(&f.leftOn, "left-on", "", "in place of --on, the `column` of the vectors of the left table")
	fs.StringVar(&f.rightOn, "right-on", "", "in place of --on, the `column` of the vectors of the right table")
	fs.StringVar(&f.by, "by", "", "`columns` that must be equal in both tables, separated by commas")
	fs.StringVar(&f.how, "how", howInner, "which `rows` of the left table the output has: inner, those in a pair, or left, all")
	fs.StringVar(&f.leftColumns, "left-columns", columns.All, "`names` of columns of the left table to write, separated by commas")
	fs.StringVar(&f.rightNames, "right-columns", columns.All, "`names` of columns of the right table to write, separated by commas")
	fs.StringVar(&f.out, "out", "", "`file` for the joined rows, ending in "+endings(dataset.ValuesWritten, "or"))
	a.reading.add(fs)
	f.limits.add(fs, "join with all rows (with -k, the k best) that score at least this (distances: at most); each is missed with probability at most delta")
	fs.BoolVar(&f.resume, "resume", false, "continue a run that was killed; keeps FILE.progress at the end, so that the same command, given again, finds that all is done")
	fs.BoolVar(&f.force, "overwrite", false, "overwrite outputs")
	fs.BoolVar(&f.json, "json", false, "summary as one JSON object on stdout")
	addSettings(cmd, "k", "method", "metric", "delta", "seed", "threads", "chunk", "dense_limit", "read_limit", "cache", "cache_limit", "kernels")
	refusePublishedFlags(cmd)
	fs.Lookup("method").DefValue = certainByDefault
	fs.Lookup("method").Usage = "how to search (" + strings.Join(joinMethods(), ", ") + ")"
	fs.Lookup("chunk").Usage = "rows of the left table that are joined, and become durable, together (default: as many as 64 MiB hold)"
	fs.Lookup("chunk").DefValue = ""
	return cmd
}

// joinMethods are the names of the methods of a join.
func joinMethods() (names []string) {
	for _, m := range join.Methods() {
		names = append(names, string(m))
	}
	return names
}

// check rejects conflicting flags before anything is read.
func (f *joinFlags) check() error {
	switch {
	case f.left == "" || f.right == "":
		return errors.New("join: --left and --right name the files to join")
	case f.out == "" || f.out == cli.Stdio:
		return fmt.Errorf("join: --out names the file for the joined rows, ending in %s", endings(dataset.ValuesWritten, "or"))
	case stdinInputs(f.left, f.right) > 1:
		return errors.New("join: only one input can be standard input")
	case f.on != "" && (f.leftOn != "" || f.rightOn != ""):
		return errors.New("join: --on names the vectors of both tables; --left-on and --right-on name those of one")
	case f.resume && f.force:
		return errors.New("join: --resume and --overwrite exclude each other")
	case f.how != howInner && f.how != howLeft:
		return fmt.Errorf("join: --how %s is neither inner nor left", f.how)
	}
	written, err := os.Stat(f.out)
	if err != nil {
		return nil // missing: nothing to protect
	}
	for _, in := range []string{f.left, f.right} {
		read, err := os.Stat(in)
		if err == nil && os.SameFile(read, written) {
			return fmt.Errorf("join: %s is an input and would be overwritten", f.out)
		}
	}
	return nil
}

// keys are the names of the columns that must be equal.
func (f *joinFlags) keys() []string { return namesIn(f.by) }

// namesIn splits names at commas, beside which blanks mean nothing; nil for none.
func namesIn(text string) []string {
	if text == "" {
		return nil
	}
	names := strings.Split(text, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
	}
	return names
}
