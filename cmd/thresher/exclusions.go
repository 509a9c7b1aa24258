package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"thresher/dataset"
	"thresher/tasks"
)

// exclusions streams the atoms that each query may not return.
type exclusions struct {
	in    input
	zeros string // of --zeros
	lists dataset.ListReader
	ids   *atomIDs // nil before resolve
	n     int      // atoms
}

func openExclusions(in input, zeros string) (*exclusions, error) {
	lists, err := dataset.OpenLists(in.path, &dataset.ListOptions{Zeros: zeros, ZerosWord: "--zeros", Budget: in.budget()})
	if err != nil {
		return nil, in.named(err)
	}
	return &exclusions{in: in, zeros: zeros, lists: lists}, nil
}

// surveyExclusions reads all lists once and compares their number with that of the m queries.
func surveyExclusions(ctx context.Context, in, queries input, m int64, zeros string) error {
	e, err := openExclusions(in, zeros)
	if err != nil {
		return err
	}
	defer e.lists.Close()
	read := int64(0)
	for ; read <= m; read++ { // a line of JSON may name a query far beyond
		_, err := e.lists.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return in.named(err)
		}
	}
	format, _ := dataset.FormatOf(in.path)
	switch {
	case read > m:
		return fmt.Errorf("%s has more than %d lists, and %s has %d queries", in.name, m, queries.name, m)
	case read < m && format != dataset.NPZ && format != dataset.IVecs:
		return fmt.Errorf(`%s has %d lists for the %d queries of %s; a last line {"query":%d,"ids":[]} says that the rest exclude nothing`, in.name, read, m, queries.name, m-1)
	case read < m:
		return fmt.Errorf("%s has %d lists for the %d queries of %s", in.name, read, m, queries.name)
	}
	return nil
}

// resolve makes the following lists name atoms by their row numbers, of which there are n.
func (e *exclusions) resolve(ids *atomIDs, n int) error {
	e.ids, e.n = ids, n
	e.ids.counted = "entry"
	if limit := e.lists.Limit(); e.ids.column == "" && limit >= 0 && limit != int64(n) {
		return fmt.Errorf("%s: the matrix has %d columns, and %s has %d vectors: is it of another collection?", e.in.name, limit, ids.file, n)
	}
	if e.lists.Limit() > 0 { // columns of a matrix are rows
		return nil
	}
	return e.decideIntegers()
}

// decideIntegers finds out whether integers are row numbers or ids, which only one may be possible for.
func (e *exclusions) decideIntegers() error {
	if !e.ids.undecided() {
		return nil
	}
	lists, err := dataset.OpenLists(e.in.path, &dataset.ListOptions{Zeros: e.zeros, ZerosWord: "--zeros", Budget: e.in.budget()})
	if err != nil {
		return e.in.named(err)
	}
	defer lists.Close()
	found := newIntegerReadings(e.ids, e.n)
	for {
		list, err := lists.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return e.in.named(err)
		}
		found.add(list.IDs)
	}
	if !found.decided() {
		return found.refuse(e.in.name)
	}
	return nil
}

// rows returns the row numbers of a list, in a slice of its own.
func (e *exclusions) rows(list dataset.List) ([]int64, error) {
	rows, err := e.ids.rows(&dataset.Result{Rows: list.IDs, IDs: list.Names})
	if err != nil {
		return nil, err
	}
	for at, row := range rows {
		if row < 0 || row >= int64(e.n) {
			return nil, fmt.Errorf("entry %d: vector %d; the vectors of %s are 0 to %d", at+1, row, e.ids.file, e.n-1)
		}
	}
	return slices.Clone(rows), nil
}

// explain names the file in an error of its lists.
func (e *exclusions) explain(err error, lists *tasks.ListReader) error {
	var of *tasks.ListError
	switch {
	case errors.Is(err, tasks.ErrNoList):
		return fmt.Errorf("%s has %d lists, and there are more queries", e.in.name, lists.Len())
	case errors.As(err, &of):
		return fmt.Errorf("%s: %w", e.in.name, of)
	}
	return e.in.named(err)
}
