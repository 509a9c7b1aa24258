package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"thresher/dataset"
	"thresher/verify"
)

// What --integers says of the integers in files of answers and of --exclude.
const (
	rowIntegers = "rows"
	idIntegers  = "ids"
)

// checkIntegers returns an error if --integers is none of its values.
func checkIntegers(said string) error {
	if !slices.Contains([]string{"", rowIntegers, idIntegers}, said) {
		return fmt.Errorf("--integers %q is none of %s, %s", said, rowIntegers, idIntegers)
	}
	return nil
}

// useIntegers takes what --integers says.
func (a *atomIDs) useIntegers(said string) error {
	if said == idIntegers && a.names == nil {
		return fmt.Errorf("--integers %s: %s has no column of ids that --ids names, and none called id", said, a.file)
	}
	a.integers = said
	return nil
}

// undecided reports whether integers can be row numbers and ids: the atoms have ids that are integers,
// nobody has named their column or said what integers are, and some are not the row numbers.
func (a *atomIDs) undecided() bool {
	if a.column != "" || a.integers != "" || a.names == nil {
		return false
	}
	other := false
	for row := range int64(a.names.Len()) {
		name := a.names.Text(row)
		if name != strconv.FormatInt(row, 10) {
			other = true
		}
		if _, err := strconv.ParseUint(name, 10, 64); err != nil {
			return false
		}
	}
	return other
}

// integerReadings finds out which of the two readings some integers allow.
type integerReadings struct {
	ids                *atomIDs
	n                  int64 // atoms
	rows, names, apart bool  // all are rows; all are ids; some mean another atom by either
}

func newIntegerReadings(ids *atomIDs, n int) *integerReadings {
	return &integerReadings{ids: ids, n: int64(n), rows: true, names: true}
}

// add takes integers into account.
func (r *integerReadings) add(integers []int64) {
	for _, x := range integers {
		row, err := r.ids.find(strconv.FormatInt(x, 10))
		r.rows, r.names = r.rows && x >= 0 && x < r.n, r.names && err == nil
		r.apart = r.apart || err != nil || row != x
	}
}

// decided sets what integers are, if only one reading is possible or both are the same.
func (r *integerReadings) decided() bool {
	switch {
	case r.rows && r.names && r.apart:
		return false
	case r.names && !r.rows:
		r.ids.integers = idIntegers
	default: // out of bounds is reported as such
		r.ids.integers = rowIntegers
	}
	return true
}

// refuse is the error of integers with two readings.
func (r *integerReadings) refuse(file string) error {
	column := cmp.Or(r.ids.found, "id")
	return fmt.Errorf("%s: its integers can be row numbers of %s, or ids of its column %s: --ids %s (or --integers ids) says that they are ids, --integers rows that they are row numbers", file, r.ids.file, column, column)
}

// answered are the answers whose integers are to be read, and what they are read by.
type answered struct {
	answers input
	ids     *atomIDs
	said    string // what --integers says
	n, dim  int    // of the atoms
	oracle  func() (*verify.Oracle, error)
	queries func() (dataset.Reader, error)
}

// lazyOracle returns an oracle of few scores.
func lazyOracle(of *atoms) func() (*verify.Oracle, error) {
	return func() (*verify.Oracle, error) { return of.oracle(true, 1) }
}

// decideIntegers finds out whether the integers of answers are row numbers or ids: --integers or --ids may say so, only
// one may be possible, or the scores that they state may speak for one. Else it is an error.
func (a *app) decideIntegers(ctx context.Context, f *answered) error {
	if err := f.ids.useIntegers(f.said); err != nil {
		return err
	}
	if !f.ids.undecided() {
		return nil
	}
	found := newIntegerReadings(f.ids, f.n)
	named, scored := false, false
	err := eachAnswer(ctx, f.answers, func(r *dataset.Result) (bool, error) {
		named = named || r.IDs != nil
		scored = scored || r.Scores != nil
		found.add(r.Rows)
		return !named, nil
	})
	if err != nil || named || found.decided() {
		return err
	}
	if !scored {
		return found.refuse(f.answers.name)
	}
	by, err := f.byScores(ctx)
	if err != nil {
		return err
	}
	if by < 0 {
		return found.refuse(f.answers.name)
	}
	f.ids.integers = []string{rowIntegers, idIntegers}[by]
	a.Log.Info("the stated scores say what integers are", "file", f.answers.name, "integers", f.ids.integers)
	return nil
}

// byScores returns 0 if the stated scores are those of rows, 1 if they are those of ids, else -1.
func (f *answered) byScores(ctx context.Context) (int, error) {
	o, err := f.oracle()
	if err != nil {
		return -1, err
	}
	queries, err := f.queries()
	if err != nil {
		return -1, err
	}
	defer queries.Close()
	dataset.KeepGiven(queries)
	readings := verify.NewReadings(o)
	q := make([]float32, f.dim)
	err = eachAnswer(ctx, f.answers, func(r *dataset.Result) (bool, error) {
		if n, err := queries.Read(q); n == 0 {
			return false, err // io.EOF: fewer queries, which is reported elsewhere
		}
		rows := make([]int64, len(r.Rows))
		for at, id := range r.Rows {
			row, err := f.ids.find(strconv.FormatInt(id, 10))
			if err != nil {
				return false, err
			}
			rows[at] = row
		}
		return readings.Add(dataset.AppendGiven(nil, queries, q), r.Rows, rows, r.Scores), nil
	})
	if err != nil && err != io.EOF {
		return -1, err
	}
	return readings.Decide(), nil
}

// eachAnswer calls visit with each answer of a file until it returns false or an error.
func eachAnswer(ctx context.Context, in input, visit func(r *dataset.Result) (bool, error)) error {
	results, err := in.openResults()
	if err != nil {
		return err
	}
	defer results.Close()
	for {
		r, err := results.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return in.named(err)
		}
		if more, err := visit(&r); err != nil || !more {
			return err
		}
	}
}
