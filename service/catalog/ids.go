package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"thresher/service/problem"
)

// IDs are the ids of a version's rows. They are immutable, and take 12 bytes a row as
// integers, 12 and their text as strings, and nothing as row numbers.
type IDs struct {
	kind Kind
	n    int
	ints []int64  // Integers: by row
	ends []uint64 // Strings: the id of row i is text[ends[i]:ends[i+1]], [n+1]
	text []byte
	// order holds the row numbers by ascending id.
	order []uint32
	// digits says that Strings are whole numbers, all of them: 2^63 or more is among them.
	digits bool
}

// rowNumbers returns the ids of n rows without ids of their own.
func rowNumbers(n int) *IDs { return &IDs{kind: RowNumbers, n: n} }

// Kind is the kind of the ids.
func (d *IDs) Kind() Kind { return d.kind }

// Len is the number of rows.
func (d *IDs) Len() int { return d.n }

// Int returns the id of a row if ids are Integers or RowNumbers.
func (d *IDs) Int(row int64) int64 {
	if d.kind != Integers {
		return row
	}
	return d.ints[row]
}

// Name returns the id of a row as text.
func (d *IDs) Name(row int64) string {
	if d.kind != Strings {
		return strconv.FormatInt(d.Int(row), 10)
	}
	return string(d.name(int(row)))
}

func (d *IDs) name(row int) []byte { return d.text[d.ends[row]:d.ends[row+1]] }

// Text returns which id a row has, as text; nil if rows have no ids of their own.
func (d *IDs) Text() func(row int) string {
	if d.kind == RowNumbers {
		return nil
	}
	return func(row int) string { return d.Name(int64(row)) }
}

// bytes returns the memory of d.
func (d *IDs) bytes() int64 {
	return int64(8*len(d.ints) + 8*len(d.ends) + len(d.text) + 4*len(d.order))
}

// Rows returns the row numbers of keys, in order. An unknown key, and one of another kind
// than the ids, is a *problem.Problem that names field and index.
func (d *IDs) Rows(keys *Keys, field string) ([]int64, error) {
	if keys.Len() == 0 {
		return []int64{}, nil
	}
	if d.digits && len(keys.Names) < keys.Len() {
		keys = keys.asText()
	}
	if d.kind == Strings && len(keys.Names) < keys.Len() {
		return nil, problem.New(problem.UnknownID, "%s are integers, and the ids of the collection are strings", field).
			At(field, 0).Within(Strings)
	}
	if d.kind != Strings && len(keys.Ints) < keys.Len() {
		return nil, problem.New(problem.UnknownID, "%s are strings, and the ids of the collection are integers", field).
			At(field, 0).Within(Integers)
	}
	rows := make([]int64, keys.Len())
	for i := range rows {
		row, ok := d.row(keys, i)
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

// asText returns keys that are integers as their digits.
func (k *Keys) asText() *Keys {
	texts := &Keys{Names: make([]string, len(k.Ints))}
	for i, id := range k.Ints {
		texts.Names[i] = strconv.FormatInt(id, 10)
	}
	return texts
}

// Digits reports whether ids are Strings that are whole numbers below 2^64 throughout.
func (d *IDs) Digits() bool { return d.digits }

// findDigits sets digits.
func (d *IDs) findDigits() {
	d.digits = d.kind == Strings && d.n > 0
	for row := 0; row < d.n && d.digits; row++ {
		name := string(d.name(row))
		x, err := strconv.ParseUint(name, 10, 64)
		d.digits = err == nil && strconv.FormatUint(x, 10) == name
	}
}

// row returns the row of key i.
func (d *IDs) row(keys *Keys, i int) (row int64, ok bool) {
	switch d.kind {
	case RowNumbers:
		id := keys.Ints[i]
		return id, id >= 0 && id < int64(d.n)
	case Integers:
		return d.find(func(row int) int { return cmp.Compare(keys.Ints[i], d.ints[row]) })
	}
	name := []byte(keys.Names[i])
	return d.find(func(row int) int { return bytes.Compare(name, d.name(row)) })
}

// find returns the row whose id compares equal by binary search in the order of ids.
func (d *IDs) find(compare func(row int) int) (int64, bool) {
	at, ok := sort.Find(len(d.order), func(i int) int { return compare(int(d.order[i])) })
	if !ok {
		return 0, false
	}
	return int64(d.order[at]), true
}

func (k *Keys) quote(i int, kind Kind) string {
	if kind == Strings {
		return strconv.Quote(k.Names[i])
	}
	return strconv.FormatInt(k.Ints[i], 10)
}

// sorted orders the rows by id. If an id occurs twice it returns the two rows, the lower
// first.
func (d *IDs) sorted() (a, b int, unique bool) {
	d.order = make([]uint32, d.n)
	for i := range d.order {
		d.order[i] = uint32(i)
	}
	compare := func(a, b uint32) int { return cmp.Compare(d.ints[a], d.ints[b]) }
	if d.kind == Strings {
		compare = func(a, b uint32) int { return bytes.Compare(d.name(int(a)), d.name(int(b))) }
	}
	slices.SortFunc(d.order, func(a, b uint32) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	for i := 1; i < d.n; i++ {
		if compare(d.order[i-1], d.order[i]) == 0 {
			return int(d.order[i-1]), int(d.order[i]), false
		}
	}
	return 0, 0, true
}

// without refuses keys that d contains.
func (d *IDs) without(keys *Keys) error {
	for i := range keys.Len() {
		if d.kind == Strings && i >= len(keys.Names) || d.kind != Strings && i >= len(keys.Ints) {
			return nil // of another kind, which is refused elsewhere
		}
		if row, ok := d.row(keys, i); ok {
			return taken(i, d, row)
		}
	}
	return nil
}

// rowOfText returns the row of an id given as text.
func (d *IDs) rowOfText(id string) (row int64, ok bool) {
	if d.kind == Strings {
		return d.row(&Keys{Names: []string{id}}, 0)
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return 0, false
	}
	return d.row(&Keys{Ints: []int64{n}}, 0)
}
