package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"thresher/dataset"
	"thresher/tasks"
	"thresher/tasks/report"
)

// defaultReportK is how many vectors of each query are searched where neither -k nor answers say.
const defaultReportK = 10

// statedFile is one file of --answers.
type statedFile struct {
	in      input
	name    string  // on the page
	seconds float64 // of a query; 0 if not known
	k       int     // vectors wanted of each answer
}

// openStated opens the files of answers, and determines how many vectors are wanted.
func (r *reportRun) openStated(ctx context.Context) error {
	for i, path := range r.flags.answers {
		in, err := r.answers(ctx, r.app, path)
		if err != nil {
			return err
		}
		r.stated = append(r.stated, statedFile{in: in, name: filepath.Base(in.name)})
		f := &r.stated[i]
		var n int64
		if n, _, f.k, err = surveyWanted(ctx, in, r.flags.k); err != nil {
			return err
		}
		if n != r.total {
			return fmt.Errorf("%s has %d answers for the %d queries of %s", in.name, n, r.total, r.queries.name)
		}
		if r.flags.names != nil {
			f.name = r.flags.names[i]
		}
		if f.seconds, err = r.secondsOf(i); err != nil {
			return err
		}
		r.k = max(r.k, f.k)
	}
	r.k = cmp.Or(r.k, r.flags.k, defaultReportK)
	return nil
}

// removeStated removes files of answers that are temporary.
func (r *reportRun) removeStated() {
	for i := range r.stated {
		r.stated[i].in.remove()
	}
}

// secondsOf is the time a query of file i of answers, 0 if it is not known.
func (r *reportRun) secondsOf(i int) (float64, error) {
	if len(r.flags.seconds) > 0 {
		return r.flags.seconds[i] / float64(r.total), nil
	}
	in := r.stated[i].in
	seconds, err := dataset.StatedSeconds(in.path, r.total, in.budget())
	if err != nil {
		return 0, in.named(err)
	}
	return seconds / float64(r.total), nil
}

// compare compares the answers of a file with what was found.
func (r *reportRun) compare(ctx context.Context, f *statedFile) (*report.Answers, error) {
	results, err := r.resultsOf(ctx, f)
	if err != nil {
		return nil, err
	}
	k := min(f.k, r.k)
	c, err := newComparison(r.engine.atoms, r.vectors, k, r.Config.Threads)
	if err != nil {
		return nil, err
	}
	a, err := r.sample.Compare(ctx, c, &report.StatedAnswers{Name: f.name, K: k, Results: results, Seconds: f.seconds}, r.display)
	var of *tasks.AnswersError
	if errors.As(err, &of) {
		return nil, inAnswers(f.in.name, of)
	}
	return a, err
}

// resultsOf reads the answers of a file to the queries of the sample.
func (r *reportRun) resultsOf(ctx context.Context, f *statedFile) ([]dataset.Result, error) {
	results, err := r.resolved(ctx, r.app, f.in, r.engine.atoms, r.flags.integers)
	if err != nil {
		return nil, err
	}
	defer results.close()
	numbers := r.sample.Numbers
	drawn := make([]dataset.Result, 0, len(numbers))
	for {
		res, err := results.read()
		if err == io.EOF {
			return drawn, nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if len(drawn) < len(numbers) && res.Query == numbers[len(drawn)] {
			drawn = append(drawn, res)
		}
	}
}
