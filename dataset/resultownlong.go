package dataset

import (
	"errors"
	"fmt"
	"io"
	"math"
)

// ownLong are answers as writeAnswersLong writes them, with a row for each query and vector. The rows of a query follow each
// other by rank; one row is held, that of the next query.
type ownLong struct {
	tableReader
	file   string
	budget *Budget
	wants  []want
	row    []readCell
	cells  map[string]*readCell // of row, by the name of the column; those that the file lacks are missing
	held   bool                 // row has been read, and is of the next answer
	err    error
}

// openOwnLong opens such answers. Formats that have them read columns that rows may lack.
func openOwnLong(t tableReader, src *source, all []Column) (ResultReader, error) {
	l := &ownLong{tableReader: t, file: src.name, budget: src.budget, cells: map[string]*readCell{}}
	there := map[string]bool{}
	for _, c := range all {
		there[c.Name] = true
	}
	known := []want{
		{name: longQueryName, as: asInteger}, {name: queryIDName, as: asText, optional: true}, {name: longRankName, as: asInteger, optional: true},
		{name: longIDName, as: asText, optional: true}, {name: longRowName, as: asInteger, optional: true},
		{name: longScoreName, as: asFloat32, optional: true}, {name: score64Name, as: asFloat64, optional: true},
		{name: longCountName, as: asInteger}, {name: "pulls", as: asInteger, optional: true}, {name: "exact", as: asBool, optional: true},
		{name: "complete", as: asBool, optional: true}, {name: guaranteeName, as: asText, optional: true}, {name: deltaName, as: asFloat64, optional: true},
		{name: epsilonName, as: asFloat64, optional: true}, {name: versionName, as: asInteger}, {name: idKindName, as: asText, optional: true},
		{name: coversName, as: asText, optional: true},
	}
	for _, w := range known {
		if there[w.name] {
			l.wants = append(l.wants, w)
		} else {
			l.cells[w.name] = &readCell{tableCell: tableCell{missing: true}}
		}
	}
	l.row = make([]readCell, len(l.wants))
	for i, w := range l.wants {
		l.cells[w.name] = &l.row[i]
	}
	return l, t.choose(l.wants)
}

func (l *ownLong) Len() int64 { return -1 }

func (l *ownLong) Next() (Result, error) {
	if l.err != nil {
		return Result{}, l.err
	}
	r, err := l.answer()
	if err != nil {
		l.err = err
		return Result{}, err
	}
	return r, nil
}

// read reads the next row.
func (l *ownLong) read() error {
	err := l.tableReader.next(l.row)
	return placed(l, l.wants, "%s: %w", true, err)
}

// answer reads the rows of the next query.
func (l *ownLong) answer() (r Result, err error) {
	if !l.held {
		if err := l.read(); err != nil {
			return r, err
		}
	}
	l.held = false
	count := l.cells[longCountName].integer
	if r, err = l.begin(); err == nil {
		err = checkResult(&r)
	}
	if err != nil {
		return r, l.locate(-1, err)
	}
	size := int64(0)
	for found := int64(0); ; {
		if l.cells[longRankName].missing != (count == 0) || !l.cells[longRankName].missing && l.cells[longRankName].integer != found+1 {
			return r, l.locate(-1, fmt.Errorf("query %d: rank %d is expected, of count %d: the rows of a query are sorted by rank, and none is left out", r.Query, found+1, count))
		}
		if count == 0 {
			return r, nil
		}
		if err := l.add(&r); err != nil {
			return r, l.locate(-1, err)
		}
		if size += hitMemory + int64(len(l.cells[longIDName].text)); size > l.budget.Block {
			return r, l.locate(-1, l.budget.exceeds(l.budget.Block, "the vectors of one query take more than %d bytes", l.budget.Block))
		}
		if found++; found == count {
			return r, nil
		}
		switch err := l.read(); {
		case err == io.EOF:
			return r, fail(l.file, "the file ends after %d of the %d rows of query %d", found, count, r.Query)
		case err != nil:
			return r, err
		case l.cells[longQueryName].integer != r.Query || l.cells[longCountName].integer != count:
			return r, l.locate(-1, fmt.Errorf("query %d has %d rows and the count %d: the rows of a query follow each other, and none is left out", r.Query, found, count))
		}
	}
}

// begin returns the answer to the query of the row, without its vectors.
func (l *ownLong) begin() (Result, error) {
	c := l.cells
	if err := checkVersion(c[versionName].integer); err != nil {
		return Result{}, err
	}
	if c[versionName].integer < AnswersVersion {
		return Result{}, fmt.Errorf("%s %d: answers with a row for each vector begin with version %d", versionName, c[versionName].integer, AnswersVersion)
	}
	if c[longQueryName].integer < 0 || c[longCountName].integer < 0 {
		return Result{}, fmt.Errorf("query %d or count %d is negative", c[longQueryName].integer, c[longCountName].integer)
	}
	r := Result{
		Query: c[longQueryName].integer, QueryID: textOf(c[queryIDName]), Exact: !c["exact"].missing && c["exact"].integer != 0,
		Partial: !c["complete"].missing && c["complete"].integer == 0, Guarantee: textOf(c[guaranteeName]), Covers: longCovers(c[coversName]),
	}
	if !c["pulls"].missing {
		if r.Pulls = c["pulls"].integer; r.Pulls < -1 {
			return r, fmt.Errorf("pulls %d is below -1", r.Pulls)
		}
	}
	if !c[deltaName].missing {
		r.Delta = c[deltaName].float
	}
	if !c[epsilonName].missing {
		r.Epsilon = c[epsilonName].float
	}
	return r, nil
}

// textOf is the text of a cell, "" if it has none.
func textOf(c *readCell) string {
	if c.missing {
		return ""
	}
	return c.text
}

// add appends the vector of the row.
func (l *ownLong) add(r *Result) error {
	c, id := l.cells, l.cells[longIDName]
	if textOf(c[idKindName]) == rowKind {
		row, err := parseInt(id.text)
		if err == nil && row < 0 {
			err = fmt.Errorf("id %d is no row number", row)
		}
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	} else {
		r.IDs = append(r.IDs, textOf(id))
		if row := c[longRowName]; !row.missing {
			if row.integer < 0 {
				return fmt.Errorf("row %d is negative", row.integer)
			}
			r.Rows = append(r.Rows, row.integer)
		}
	}
	if len(r.IDs) > 0 && len(r.Rows) > 0 && len(r.IDs) != len(r.Rows) {
		return errors.New("some vectors of the query have row numbers or ids, and others none")
	}
	if s := floatOf(c[longScoreName]) + floatOf(c[score64Name]); s != s {
		return errors.New("score is NaN")
	}
	if score := c[longScoreName]; !score.missing || r.Scores != nil {
		for len(r.Scores) < r.Found()-1 {
			r.Scores = append(r.Scores, float32(math.Inf(-1)))
		}
		r.Scores = append(r.Scores, float32(floatOf(score)))
	}
	if score := c[score64Name]; !score.missing || r.Scores64 != nil {
		for len(r.Scores64) < r.Found()-1 {
			r.Scores64 = append(r.Scores64, math.Inf(-1))
		}
		r.Scores64 = append(r.Scores64, floatOf(score))
	}
	return nil
}

// floatOf is the score of a cell, -Inf for none.
func floatOf(c *readCell) float64 {
	if c.missing {
		return math.Inf(-1)
	}
	return c.float
}
