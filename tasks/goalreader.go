package tasks

import (
	"errors"
	"io"

	"thresher/batch"
	"thresher/dataset"
)

// GoalReader reads what the queries of a file ask for themselves, one query after the other: numbers from columns of a
// table, and lists from other files.
type GoalReader struct {
	Columns Columns
	Numbers dataset.NumberReader // of Columns.Names; nil without columns
	Exclude *ListReader          // nil without lists
	// Candidates are nil without lists.
	Candidates *ListReader
	// Complete completes a goal without its lists and checks it, as CheckGoal does; nil: nothing.
	Complete func(*batch.QueryGoal) *batch.RequestError
	next     int64
}

// GoalError says what is wrong with the goal of a query. Its text does not say whose.
type GoalError struct {
	Query int64
	// Field is k, min_score, max_score, exclude or candidates; numbers if the columns cannot be read on.
	Field string
	// Err is, for k and limits, what a *batch.RequestError has; for lists that of a ListReader; for numbers ErrNoNumbers
	// or a *dataset.Error.
	Err error
}

func (e *GoalError) Error() string { return e.Field + ": " + e.Err.Error() }
func (e *GoalError) Unwrap() error { return e.Err }

// FieldNumbers is the Field of a GoalError whose columns cannot be read on.
const FieldNumbers = "numbers"

// ErrNoNumbers means that the columns have fewer rows than there are queries.
var ErrNoNumbers = errors.New("there are more queries than rows of numbers")

// Read is how many goals were read.
func (r *GoalReader) Read() int64 { return r.next }

// Next returns the goal of the next query; unless it is wanted, without its lists, which are skipped. Errors are of type
// *GoalError.
func (r *GoalReader) Next(wanted bool) (q batch.QueryGoal, err error) {
	if q, err = r.goal(); err != nil {
		return q, err
	}
	if q.Exclude, err = r.list("exclude", r.Exclude, wanted); err != nil {
		return q, err
	}
	if q.Candidates, err = r.list("candidates", r.Candidates, wanted); err != nil {
		return q, err
	}
	r.next++
	return q, nil
}

// goal returns the next goal without its lists.
func (r *GoalReader) goal() (q batch.QueryGoal, err error) {
	var wrong *batch.RequestError
	if r.Numbers != nil {
		numbers, err := r.Numbers.Next()
		if err == io.EOF {
			err = ErrNoNumbers
		}
		if err != nil {
			return q, &GoalError{r.next, FieldNumbers, err}
		}
		q, wrong = r.Columns.Goal(numbers)
	}
	if wrong == nil && r.Complete != nil {
		wrong = r.Complete(&q)
	}
	if wrong != nil {
		return q, &GoalError{r.next, wrong.Field, wrong.Err}
	}
	return q, nil
}

func (r *GoalReader) list(field string, from *ListReader, wanted bool) ([]int64, error) {
	if from == nil {
		return nil, nil
	}
	rows, err := from.Next(wanted)
	if err != nil {
		return nil, &GoalError{r.next, field, err}
	}
	return rows, nil
}

// Ended returns the Field of a GoalError whose columns or lists go on after the goals that were read, "" if none
// does.
func (r *GoalReader) Ended() string {
	if r.Numbers != nil {
		if _, err := r.Numbers.Next(); err != io.EOF {
			return FieldNumbers
		}
	}
	switch {
	case r.Exclude != nil && !r.Exclude.Ended():
		return "exclude"
	case r.Candidates != nil && !r.Candidates.Ended():
		return "candidates"
	}
	return ""
}

// Close closes what is read.
func (r *GoalReader) Close() {
	if r.Numbers != nil {
		r.Numbers.Close() // read only
	}
	for _, l := range []*ListReader{r.Exclude, r.Candidates} {
		if l != nil && l.Source != nil {
			l.Source.Close()
		}
	}
}
