package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"thresher/dataset"
)

// atomIDs says what answers call the atoms, and finds these by it.
type atomIDs struct {
	file   string
	column string       // named by --ids, or ""
	names  *dataset.IDs // nil without a column
	// preferNames says that the texts of answers with row numbers and texts are looked up.
	preferNames bool
	found       string // the column of names, if --ids does not name it
	integers    string // rowIntegers or idIntegers; "" is ids where --ids names a column, else rows
	counted     string // what a position is called in messages; "" is rank
}

var errSeveral = errors.New("several vectors")

// rows returns the row numbers of the atoms of an answer. Texts are looked up; integers are what
// a.integers says. Of atoms that share a text, the row number of the
// answer, if it has one, is taken.
func (a *atomIDs) rows(r *dataset.Result) ([]int64, error) {
	byID := a.integers == idIntegers || a.integers == "" && a.column != ""
	lookUp := r.Rows == nil || byID || (a.column != "" || a.preferNames) && r.IDs != nil && a.names != nil
	if !lookUp {
		return r.Rows, nil
	}
	rows := make([]int64, max(len(r.Rows), len(r.IDs)))
	for i := range rows {
		name := ""
		if r.IDs != nil {
			name = r.IDs[i]
		} else {
			name = strconv.FormatInt(r.Rows[i], 10)
		}
		row, err := a.find(name)
		if errors.Is(err, errSeveral) && r.IDs != nil && r.Rows != nil {
			row, err = r.Rows[i], nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", cmp.Or(a.counted, "rank"), i+1, err)
		}
		rows[i] = row
	}
	return rows, nil
}

func (a *atomIDs) find(name string) (int64, error) {
	if row, err := strconv.ParseInt(name, 10, 64); a.names == nil && err == nil && row >= 0 && strconv.FormatInt(row, 10) == name {
		return row, nil // databases write all ids as texts
	}
	if a.names == nil {
		return 0, fmt.Errorf("id %.60q is no row number, and %s has no column id; --ids names the column of ids", name, a.file)
	}
	row, rows := a.names.Find(name)
	switch rows {
	case 0:
		return 0, fmt.Errorf("no vector of %s has the id %.60q", a.file, name)
	case 1:
		return row, nil
	}
	return 0, fmt.Errorf("%w of %s have the id %.60q", errSeveral, a.file, name)
}
