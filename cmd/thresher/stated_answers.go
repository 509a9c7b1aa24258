package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"thresher/dataset"
)

// othersAnswers streams answers that any program may have made, one to each query in order.
type othersAnswers struct {
	in      input
	results dataset.ResultReader
	next    int64    // number of the next answer
	ids     *atomIDs // nil before resolve
}

func openOthersAnswers(in input) (*othersAnswers, error) {
	results, err := in.openResults()
	if err != nil {
		return nil, err
	}
	return &othersAnswers{in: in, results: results}, nil
}

func (o *othersAnswers) close() { o.results.Close() } // read only

// resolve makes the following answers name atoms by their row numbers; ids tells them.
func (o *othersAnswers) resolve(ids *atomIDs) { o.ids = ids }

// read returns the next answer, after resolve with the row numbers of its atoms as its IDs;
// io.EOF after the last.
func (o *othersAnswers) read() (dataset.Result, error) {
	r, err := o.results.Next()
	if err != nil {
		return r, o.in.named(err)
	}
	if r.Query != o.next {
		return r, fmt.Errorf("%s: answer %d (0-based) is to query %d; answers must be in the order of the queries, without gaps", o.in.name, o.next, r.Query)
	}
	o.next++
	if o.ids == nil {
		return r, nil
	}
	if r.Rows, err = o.ids.rows(&r); err != nil {
		return r, fmt.Errorf("%s: query %d: %w", o.in.name, r.Query, err)
	}
	return r, nil
}

// surveyWanted counts the answers of a file and returns the length of the longest, and how many vectors of each are
// wanted: k or, if that is 0, as many as the longest has.
func surveyWanted(ctx context.Context, in input, k int) (count int64, longest, wanted int, err error) {
	if count, longest, err = surveyAnswers(ctx, in, 0); err != nil {
		return 0, 0, 0, err
	}
	if k > longest {
		return 0, 0, 0, fmt.Errorf("-k %d: the longest answer of %s has %d vectors", k, in.name, longest)
	}
	return count, longest, cmp.Or(k, longest), nil
}

// surveyAnswers counts the answers of a file and returns k or, if that is 0, the length of the
// longest.
func surveyAnswers(ctx context.Context, in input, k int) (count int64, most int, err error) {
	o, err := openOthersAnswers(in)
	if err != nil {
		return 0, 0, err
	}
	defer o.close()
	longest := 0
	for {
		r, err := o.read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, 0, err
		}
		longest = max(longest, len(r.Rows), len(r.IDs))
	}
	switch {
	case o.next == 0:
		return 0, 0, fmt.Errorf("%s: no answers", in.name)
	case longest == 0 && k == 0:
		return 0, 0, fmt.Errorf("%s: every answer is empty; -k says how many vectors are wanted", in.name)
	case k == 0:
		k = longest
	}
	return o.next, k, nil
}
