package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

// partFlag is --part: which of the queries a process answers.
type partFlag struct {
	text             string
	*tasks.QueryPart // nil: all queries
}

func (f *partFlag) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.text, "part", "", "answer part `I/N` of the queries alone, 0/N to N-1/N, for array jobs; check DIR says which parts are missing and joins them")
}

// check rejects what is no part, and outputs that cannot state it.
func (f *partFlag) check(out string) (err error) {
	if f.text == "" {
		return nil
	}
	if f.QueryPart, err = tasks.ParseQueryPart(f.text); err != nil {
		return fmt.Errorf("--part %w", err)
	}
	if form, _ := dataset.AnswersFormOf(out); out != cli.Stdio && form.Bare {
		return fmt.Errorf("--part: %s cannot state to which queries its answers are; write %s, which check joins", out, endings(dataset.WholeWritten, "or"))
	}
	return nil
}

// first returns the first query that is answered.
func (f *partFlag) first() int64 {
	if f.QueryPart == nil {
		return 0
	}
	return f.First
}

// count returns how many queries are answered, -1 if only reading tells.
func (f *partFlag) count(queries dataset.Reader) int64 {
	if f.QueryPart == nil {
		return queries.Len()
	}
	return f.Count
}

// divideQueries sets which queries are of the part.
func (s *search) divideQueries(ctx context.Context, queries dataset.Reader) error {
	f := s.flags
	if f.part.QueryPart == nil {
		return nil
	}
	m, err := s.in.queries.count(ctx, queries, f.queriesColumn, f.beside()...)
	if err != nil {
		return err
	}
	if err := f.part.Divide(m); err != nil {
		return fmt.Errorf("--part %s: %s: %w", f.part.text, s.in.queries.name, err)
	}
	s.out.first = f.part.First
	return nil
}
