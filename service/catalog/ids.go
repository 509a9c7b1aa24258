package catalog

import (
	"fmt"
	"math"
	"strconv"

	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/problem"
)

// RowIDs are the ids of a version's rows, of a kind. They are immutable, and take no memory as row numbers.
type RowIDs struct {
	kind Kind
	n    int
	ids  *dataset.IDs // nil for RowNumbers; texts for Strings, numbers of int64 for Integers
	// digits says that Strings are whole numbers, all of them: 2^63 or more is among them. Digits has it of a version that changes.
	digits bool
	// now, if not nil, is that of a version that changes, whose row numbers are those of its ids.
	now *folder.Snapshot
}

// rowNumbers returns the ids of n rows without ids of their own.
func rowNumbers(n int) *RowIDs { return &RowIDs{kind: RowNumbers, n: n} }

// rowIDs returns the ids of rows.
func rowIDs(ids *dataset.IDs) *RowIDs {
	if !ids.Textual() {
		return &RowIDs{kind: Integers, n: ids.Len(), ids: ids}
	}
	return &RowIDs{kind: Strings, n: ids.Len(), ids: ids, digits: ids.Len() > 0 && ids.Whole()}
}

// Kind is the kind of the ids.
func (d *RowIDs) Kind() Kind { return d.kind }

// Len is the number of rows.
func (d *RowIDs) Len() int { return d.n }

// Int returns the id of a row if ids are Integers or RowNumbers.
func (d *RowIDs) Int(row int64) int64 {
	if d.kind != Integers {
		return row
	}
	if d.now != nil {
		return int64(d.now.IDs([]int64{row}).Number(0))
	}
	return int64(d.ids.Number(row))
}

// Name returns the id of a row as text.
func (d *RowIDs) Name(row int64) string {
	if d.now != nil {
		return d.now.IDs([]int64{row}).Text(0)
	}
	return d.ids.Text(row)
}

// Text returns which id a row has, as text; nil if rows have no ids of their own.
func (d *RowIDs) Text() func(row int) string {
	if d.kind == RowNumbers {
		return nil
	}
	return func(row int) string { return d.Name(int64(row)) }
}

// bytes returns the memory of d.
func (d *RowIDs) bytes() int64 {
	if d.ids == nil {
		return 0
	}
	p := d.ids.Packed()
	return int64(8*len(p.Numbers) + 8*len(p.Ends) + len(p.Text) + 4*len(d.ids.Order()))
}

// Rows returns the row numbers of keys, in order. An unknown key, and one of another kind
// than the ids, is a *problem.Problem that names field and index.
func (d *RowIDs) Rows(keys *Keys, field string) ([]int64, error) {
	if keys.Len() == 0 {
		return []int64{}, nil
	}
	if d.kind == Strings && len(keys.Names) < keys.Len() && !d.Digits() {
		return nil, problem.New(problem.UnknownID, "%s are integers, and the ids of the collection are strings", field).
			At(field, 0).Within(Strings)
	}
	if d.kind != Strings && len(keys.Ints) < keys.Len() {
		if err := keys.refuseBeyond(problem.UnknownID, field); err != nil {
			return nil, err
		}
		return nil, problem.New(problem.UnknownID, "%s are strings, and the ids of the collection are integers", field).
			At(field, 0).Within(Integers)
	}
	rows := make([]int64, keys.Len())
	find := func(i int) (int64, bool) { return d.row(keys, i) }
	if d.now != nil {
		numbers := d.now.Numbers(d.keyIDs(keys))
		find = func(i int) (int64, bool) { return numbers[i], numbers[i] >= 0 && d.now.Has(numbers[i]) }
	}
	for i := range rows {
		row, ok := find(i)
		if !ok {
			called := "no vector has"
			if d.kind == RowNumbers {
				called = fmt.Sprintf("there are %d vectors, numbered from 0, and none has", d.n)
			}
			return nil, problem.New(problem.UnknownID, "%s the id %s", called, keys.quote(i, d.kind)).At(field, i)
		}
		rows[i] = row
	}
	return rows, nil
}

// Digits reports whether ids are Strings that are whole numbers below 2^64 throughout.
func (d *RowIDs) Digits() bool {
	if d.now != nil {
		return d.kind == Strings && d.n > 0 && d.now.Whole()
	}
	return d.digits
}

// keyIDs returns keys as ids of d's kind: integers alone can be those of Digits. Negative integers are 2^64-1, which nothing has.
func (d *RowIDs) keyIDs(keys *Keys) *dataset.IDs {
	if d.kind == Strings && len(keys.Names) == keys.Len() {
		var b dataset.IDsBuilder
		b.BecomeTexts()
		for _, id := range keys.Names {
			b.AddText(id)
		}
		return b.IDs()
	}
	numbers := make([]uint64, keys.Len())
	for i, id := range keys.Ints {
		if numbers[i] = uint64(id); id < 0 {
			numbers[i] = math.MaxUint64
		}
	}
	return dataset.IDsOf(numbers)
}

// row returns the row of key i, of a version that does not change. Keys that are integers alone can be those of Digits.
func (d *RowIDs) row(keys *Keys, i int) (row int64, ok bool) {
	rows := 0
	switch {
	case d.kind == RowNumbers:
		id := keys.Ints[i]
		return id, id >= 0 && id < int64(d.n)
	case d.kind == Integers, i >= len(keys.Names):
		row, rows = d.ids.FindNumber(keys.Ints[i])
	default:
		row, rows = d.ids.Find(keys.Names[i])
	}
	return row, rows > 0
}

func (k *Keys) quote(i int, kind Kind) string {
	if kind == Strings && i < len(k.Names) {
		return strconv.Quote(k.Names[i])
	}
	if kind == Strings {
		return strconv.Quote(strconv.FormatInt(k.Ints[i], 10))
	}
	return strconv.FormatInt(k.Ints[i], 10)
}

// without refuses keys that d, which is not of a version that changes, contains.
func (d *RowIDs) without(keys *Keys) error {
	for i := range keys.Len() {
		if d.kind == Strings && !d.digits && i >= len(keys.Names) || d.kind != Strings && i >= len(keys.Ints) {
			return nil // of another kind, which is refused elsewhere
		}
		if row, ok := d.row(keys, i); ok {
			return taken(i, d, row)
		}
	}
	return nil
}

// rowOfText returns the row of an id given as text.
func (d *RowIDs) rowOfText(id string) (row int64, ok bool) {
	if d.kind != RowNumbers {
		row, rows := d.ids.Find(id)
		return row, rows > 0
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return 0, false
	}
	return d.row(&Keys{Ints: []int64{n}}, 0)
}
