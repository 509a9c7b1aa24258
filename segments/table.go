package segments

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"thresher/dataset"
)

// Table says which ids of a Set stand for the ids that its user gives vectors: texts, or whole numbers below 2^64-1.
// The Set's ids are called numbers here.
//
// Of a new Table, numbers below 2^62 stand for themselves and take no memory. Texts and greater numbers are numbered in
// the order in which they were first written; equal scores are in the order of the numbers. An id
// keeps its number as long as the Table lives, also when its vector is deleted, so that whatever holds a number,
// a snapshot or a filter, never means another vector by it. A Table takes about 42 bytes for each number that does not stand
// for itself, and 62 and its length for each text; those of TableOf take what dataset.IDs take.
//
// Several goroutines may use it.
type Table struct {
	mu      sync.RWMutex
	block   *dataset.IDs // id i has the number i
	own     bool         // numbers below ownEnd stand for themselves
	idKind  atomic.Int32 // changes once, with mu held
	next    int64        // the next number that is given
	numbers names[uint64]
	texts   names[string]
	odd     int // of texts: those that are no whole numbers
}

// ownEnd is the least number that does not stand for itself.
const ownEnd = 1 << 62

const (
	noKind int32 = iota // there are no ids yet
	numeric
	textual
)

// names are ids that were numbered.
type names[T uint64 | string] struct {
	of   map[T]int64
	list []named[T] // by ascending number
}

type named[T uint64 | string] struct {
	number int64
	id     T
}

// NewTable returns a table without ids. They are texts or numbers, as the first ones are.
func NewTable() *Table { return &Table{own: true} }

// TableOf returns the table of a collection whose row i has the id i of ids, all different, and is vector i of a Set; later
// ids are numbered from the number of rows on, in the order in which they are written. nil stands for row numbers: all ids
// stand for themselves.
func TableOf(ids *dataset.IDs) *Table {
	if ids == nil {
		t := NewTable()
		t.idKind.Store(numeric)
		return t
	}
	t := &Table{block: ids, next: int64(ids.Len())}
	t.settle(ids.Textual())
	return t
}

// Textual reports whether the ids are texts. It is false while there are none.
func (t *Table) Textual() bool { return t.idKind.Load() == textual }

// Numeric reports whether the ids are numbers. It is false while there are none.
func (t *Table) Numeric() bool { return t.idKind.Load() == numeric }

// Settle says what the ids of a new Table are, before there are any.
func (t *Table) Settle(texts bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.idKind.Load() == noKind {
		t.settle(texts)
	}
}

// Check returns the error that Assign of these ids would have: a *dataset.Error that names the row, from 0 on, of an id
// that is there twice, cannot be an id, or is a text among numbers. Numbers among texts are their digits. what is how the error calls the ids.
func (t *Table) Check(what string, ids *dataset.IDs) error {
	check := dataset.CheckIDs
	if t.Textual() {
		check = dataset.CheckKept
	}
	if err := cmp.Or(check(what, ids), dataset.CheckUnique(what, ids)); err != nil {
		return err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.checkKind(what, ids)
}

// checkKind refuses texts among numbers, and 2^64-1 as the digits of one.
func (t *Table) checkKind(what string, ids *dataset.IDs) error {
	if t.idKind.Load() != numeric || !ids.Textual() {
		return nil
	}
	for row := range int64(ids.Len()) {
		err := error(nil)
		if id, ok := numberOf(ids, row); !ok {
			err = fmt.Errorf("id %.60q is a text, and the other vectors' ids are numbers", ids.Text(row))
		} else if id == math.MaxUint64 {
			err = errors.New("id is 2^64 - 1, which stands for none in answers")
		}
		if err != nil {
			return &dataset.Error{File: what, Row: row, Column: -1, Err: err}
		}
	}
	return nil
}

// Assign returns the number of each id, a new one for those that have none. ids have been checked.
func (t *Table) Assign(ids *dataset.IDs) ([]int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.checkKind("ids", ids); err != nil {
		return nil, err
	}
	if t.idKind.Load() == noKind && ids.Len() > 0 {
		t.settle(ids.Textual())
	}
	numbers := make([]int64, ids.Len())
	for row := range numbers {
		number, known := t.find(ids, int64(row))
		if !known {
			if t.next == math.MaxInt64 {
				return nil, fmt.Errorf("ids: 2^63 have been numbered")
			}
			number = t.next
			t.next++
			t.add(ids, int64(row), number)
		}
		numbers[row] = number
	}
	return numbers, nil
}

// settle takes the kind of the first ids.
func (t *Table) settle(texts bool) {
	switch {
	case texts:
		t.idKind.Store(textual)
		return
	case t.own:
		t.next = ownEnd
	}
	t.idKind.Store(numeric)
}

// add adds the id of a row.
func (t *Table) add(ids *dataset.IDs, row, number int64) {
	if t.idKind.Load() == textual {
		text := ids.Text(row)
		t.texts.add(text, number)
		if !isWhole(text) {
			t.odd++
		}
	} else if id, ok := numberOf(ids, row); ok {
		t.numbers.add(id, number)
	}
}

// add adds an id.
func (n *names[T]) add(id T, number int64) {
	if n.of == nil {
		n.of = map[T]int64{}
	}
	n.of[id] = number
	n.list = append(n.list, named[T]{number, id})
}

// numberOf is the id of a row as a number; false for a text that is none.
func numberOf(ids *dataset.IDs, row int64) (uint64, bool) {
	if !ids.Textual() {
		return ids.Number(row), true
	}
	text := ids.Text(row)
	if !isWhole(text) {
		return 0, false
	}
	id, err := strconv.ParseUint(text, 10, 64)
	return id, err == nil
}

// isWhole reports whether a text is a whole number from 0 to 2^64-1, as one is written.
func isWhole(text string) bool { return dataset.AreWhole([]string{text}) }

// Whole reports whether the ids of the numbers that are there are whole numbers from 0 to 2^64-1 throughout, also as texts. It takes
// time for each id if there were texts that are none, and all of them are gone; none else.
func (t *Table) Whole(there func(number int64) bool) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.idKind.Load() != textual {
		return true
	}
	for number := range int64(t.block.Len()) {
		if !isWhole(t.block.Text(number)) && there(number) {
			return false
		}
	}
	return t.odd == 0 || !slices.ContainsFunc(t.texts.list, func(e named[string]) bool { return !isWhole(e.id) && there(e.number) })
}

// find returns the number of the id of a row.
func (t *Table) find(ids *dataset.IDs, row int64) (number int64, known bool) {
	if t.idKind.Load() == textual {
		if at, found := t.block.Find(ids.Text(row)); found > 0 {
			return at, true
		}
		number, known = t.texts.of[ids.Text(row)]
		return number, known
	}
	id, ok := numberOf(ids, row)
	if !ok {
		return 0, false
	}
	if t.own && id < ownEnd {
		return int64(id), true
	}
	if t.block != nil {
		at, found := t.block.FindNumber(int64(min(id, math.MaxInt64)))
		if id > math.MaxInt64 {
			at, found = t.block.Find(strconv.FormatUint(id, 10))
		}
		if found > 0 {
			return at, true
		}
	}
	number, known = t.numbers.of[id]
	return number, known
}

// Find returns the number of each id; -1 for those that were never written. A number that stands for itself is found whether
// or not there is a vector.
func (t *Table) Find(ids *dataset.IDs) []int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	numbers := make([]int64, ids.Len())
	for row := range numbers {
		number, known := t.find(ids, int64(row))
		if !known {
			number = -1
		}
		numbers[row] = number
	}
	return numbers
}

// IDs returns the ids of numbers that Assign, TableOf or Restore has given; it panics if another is among them.
func (t *Table) IDs(numbers []int64) *dataset.IDs {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.idKind.Load() != textual {
		ids := make([]uint64, len(numbers))
		for i, number := range numbers {
			ids[i] = t.number(number)
		}
		return dataset.IDsOf(ids)
	}
	var b dataset.IDsBuilder
	b.BecomeTexts()
	for _, number := range numbers {
		if number < int64(t.block.Len()) {
			b.AddText(t.block.Text(number))
		} else {
			b.AddText(t.texts.id(number))
		}
	}
	return b.IDs()
}

// number is the id of a number, of ids that are numbers.
func (t *Table) number(number int64) uint64 {
	switch {
	case t.own && number < ownEnd:
		return uint64(number)
	case number < int64(t.block.Len()):
		return t.block.Number(number)
	}
	return t.numbers.id(number)
}

// id is the id of a number that was given.
func (n *names[T]) id(number int64) T {
	at, found := slices.BinarySearchFunc(n.list, number, func(e named[T], number int64) int { return cmp.Compare(e.number, number) })
	if !found {
		panic(fmt.Sprintf("segments: no id has the number %d", number))
	}
	return n.list[at].id
}

// Restore tells a new Table of ids that have numbers from one before it, as those of a folder that is opened. Numbers that are
// given from then on are greater.
func (t *Table) Restore(numbers []int64, ids *dataset.IDs) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(numbers) != ids.Len() {
		return fmt.Errorf("%d numbers for %d ids", len(numbers), ids.Len())
	}
	if err := t.checkKind("ids", ids); err != nil {
		return err
	}
	if t.idKind.Load() == noKind && ids.Len() > 0 {
		t.settle(ids.Textual())
	}
	for row, number := range numbers {
		before, known := t.find(ids, int64(row))
		switch {
		case known && before != number:
			return fmt.Errorf("row %d: id %.60q has the number %d, not %d", row, ids.Text(int64(row)), before, number)
		case known:
			continue
		case number < 0 || t.own && t.idKind.Load() == numeric && number < ownEnd:
			return fmt.Errorf("row %d: id %.60q cannot have the number %d", row, ids.Text(int64(row)), number)
		}
		t.add(ids, int64(row), number)
		t.next = max(t.next, number+1)
	}
	return cmp.Or(t.numbers.sort(), t.texts.sort())
}

// sort puts the list in order, and refuses ids that have the same number.
func (n *names[T]) sort() error {
	slices.SortFunc(n.list, func(a, b named[T]) int { return cmp.Compare(a.number, b.number) })
	for i := 1; i < len(n.list); i++ {
		if before, e := n.list[i-1], n.list[i]; before.number == e.number {
			return fmt.Errorf("ids %.60q and %.60q have the number %d", fmt.Sprint(before.id), fmt.Sprint(e.id), e.number)
		}
	}
	return nil
}
