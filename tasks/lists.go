package tasks

import (
	"errors"
	"fmt"
	"io"

	"thresher/batch"
	"thresher/dataset"
)

// Lists are one list of row numbers for each query, as a sparse matrix stores them: that of query
// j is Rows[Lims[j]:Lims[j+1]].
type Lists struct {
	Lims, Rows []int64
}

// NewLists returns the lists of m queries. Lims is as long as Lists says, from 0 in ascending order to len(rows); an
// error is a *batch.RequestError of the field lims, with the query after whose list it descends.
func NewLists(lims, rows []int64, m int) (*Lists, error) {
	wrong := func(query int, format string, args ...any) error {
		return &batch.RequestError{Field: "lims", Query: query, Err: fmt.Errorf(format, args...)}
	}
	if len(lims) != m+1 {
		return nil, wrong(-1, "%d entries for %d queries", len(lims), m)
	}
	if lims[0] != 0 || lims[m] != int64(len(rows)) {
		return nil, wrong(-1, "from %d to %d; they go from 0 to the %d entries", lims[0], lims[m], len(rows))
	}
	for j := range m {
		if lims[j] > lims[j+1] {
			return nil, wrong(j, "%d after %d; they ascend", lims[j+1], lims[j])
		}
	}
	return &Lists{Lims: lims, Rows: rows}, nil
}

// AddList adds the list of query j to those of m queries, which are made for the first that is not empty;
// lists come in the order of the queries, and an empty one at the end may be left out.
func AddList(all **Lists, list []int64, j, m int) {
	if *all == nil && len(list) > 0 {
		*all = &Lists{Lims: make([]int64, m+1)}
	}
	if l := *all; l != nil {
		l.Rows = append(l.Rows, list...)
		l.Lims[j+1] = int64(len(l.Rows))
	}
}

// Of returns the list of query j. A nil *Lists has empty ones.
func (l *Lists) Of(j int) []int64 {
	if l == nil {
		return nil
	}
	return l.Rows[l.Lims[j]:l.Lims[j+1]]
}

// ListSource streams lists of ids, one a query, as a dataset.ListReader does.
type ListSource interface {
	Next() (dataset.List, error) // io.EOF after the last
	Close() error
}

// ListReader streams the lists of a source as row numbers.
type ListReader struct {
	Source ListSource
	// Rows returns the row numbers of the ids of a list, which are in memory that the next list may use; they are all
	// there are between 0 and N-1, or it fails.
	Rows func(dataset.List) ([]int64, error)
	Max  int // ids of a list; 0 sets no limit
	next int64
}

// ErrNoList means that there are fewer lists than queries.
var ErrNoList = errors.New("there are more queries than lists")

// ListError says what is wrong with the ids of one list.
type ListError struct {
	Query int64
	Err   error
}

func (e *ListError) Error() string { return fmt.Sprintf("query %d: %v", e.Query, e.Err) }
func (e *ListError) Unwrap() error { return e.Err }

// ListLengthError says that a list has more ids than are accepted.
type ListLengthError struct{ Len, Max int }

func (e *ListLengthError) Error() string {
	return fmt.Sprintf("%d ids, at most %d are accepted", e.Len, e.Max)
}

// Len is how many lists were read.
func (l *ListReader) Len() int64 { return l.next }

// Next returns the row numbers of the next list, or only skips it and returns nil. After the last list it is ErrNoList;
// what is wrong with ids is a *ListError, and other errors are the source's.
func (l *ListReader) Next(wanted bool) ([]int64, error) {
	list, err := l.Source.Next()
	if err == io.EOF {
		return nil, ErrNoList
	}
	if err != nil {
		return nil, err
	}
	query := l.next
	l.next++
	if !wanted {
		return nil, nil
	}
	if n := max(len(list.IDs), len(list.Names)); l.Max > 0 && n > l.Max {
		return nil, &ListError{query, &ListLengthError{n, l.Max}}
	}
	rows, err := l.Rows(list)
	if err != nil {
		return nil, &ListError{query, err}
	}
	return rows, nil
}

// Ended reports whether all lists were read, by reading on.
func (l *ListReader) Ended() bool {
	_, err := l.Source.Next()
	return err == io.EOF
}
