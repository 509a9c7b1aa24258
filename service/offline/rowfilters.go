package offline

import (
	"errors"
	"io"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
	"thresher/service/wire"
)

// rowFilters streams the filters of the rows of a matrix: expressions in a column of the input. null is none.
type rowFilters struct {
	input  linked
	column string
	of     shelf
	texts  dataset.ValueReader
	known  map[string][]int64 // rows of the collection by expression; queries with equal ones share the list
	size   int                // of the lists and the expressions, in row numbers
	most   int                // that size may be
	next   int64
}

// expressionBytes is what an entry of rowFilters.known takes beside its text and its rows.
const expressionBytes = 128

// filterField names the member of a Spec.
const filterField = "goals.filter_column"

func openFilters(j *job, rec *record, input linked, column string, of shelf) (*rowFilters, error) {
	header := rec.Batch.Header
	if header == dataset.HeaderNo {
		return nil, problem.New(problem.InvalidValue, "a column is named, and header is no").In(filterField)
	}
	texts, err := dataset.OpenValues(input.path, header, j.m.o.Budget, column)
	if err != nil {
		return nil, input.named(err, filterField)
	}
	return &rowFilters{input: input, column: column, of: of, texts: texts, known: map[string][]int64{}, most: maxAtoms}, nil
}

// row returns the rows of the collection that the next row may have, nil for all, and how many of them were not listed before.
// Rows that are not wanted are checked like others.
func (f *rowFilters) row() (rows []int64, listed int, err error) {
	if f == nil {
		return nil, 0, nil
	}
	values, err := f.texts.Next()
	if err == io.EOF {
		return nil, 0, problem.New(problem.InvalidValue, "%s: the column %q has %d rows, and there are more queries", f.input.name, f.column, f.next).In(filterField)
	}
	if err != nil {
		return nil, 0, f.input.named(err, filterField)
	}
	v := &values[0]
	switch {
	case v.Kind == dataset.NullValue:
		f.next++
		return nil, 0, nil
	case v.Kind != dataset.TextValue:
		return nil, 0, f.wrong(errors.New("a filter is a text, such as \"year >= 1999\", and this is " + v.Kind.String()))
	}
	rows, known := f.known[v.Text]
	if !known {
		if rows, err = f.rows(v.Text); err != nil {
			return nil, 0, f.wrong(err)
		}
		size := len(rows) + (len(v.Text)+expressionBytes)/8
		if f.size += size; f.size > f.most {
			f.known = map[string][]int64{} // a map that is cleared keeps its memory
			f.size = size
		}
		listed = len(rows)
		f.known[v.Text] = rows
	}
	f.next++
	return rows, listed, nil
}

// rows returns the rows for which an expression is true, not nil if there is none.
func (f *rowFilters) rows(text string) ([]int64, error) {
	where, err := columns.Parse(text)
	if err != nil {
		return nil, err
	}
	rows, err := f.of.rows(&wire.IDList{Where: where}, filterField)
	if err == nil && rows == nil {
		rows = []int64{}
	}
	return rows, err
}

// wrong returns the problem that is an error of the next row.
func (f *rowFilters) wrong(err error) error {
	said := err.Error()
	if p := (*problem.Problem)(nil); errors.As(err, &p) {
		said = p.Detail
	}
	return problem.New(problem.InvalidValue, "%s: row %d (0-based), column %q: %s", f.input.name, f.next, f.column, said).In(filterField).Because(err)
}

func (f *rowFilters) close() {
	if f != nil {
		f.texts.Close() // read only
	}
}
