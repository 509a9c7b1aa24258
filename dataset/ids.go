package dataset

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// IDs are what the rows of a table are called, in their order: whole numbers, or texts. nil stands for row numbers.
// They do not change, and several goroutines may use them. They take 8 bytes a row as numbers, 8 and their text as
// texts, and 4 more once one has been looked for, unless they ascend.
type IDs struct {
	numbers []uint64
	signed  bool     // numbers are those of int64
	ends    []uint64 // of texts: that of row i is text[ends[i]:ends[i+1]]; nil for numbers
	text    string
	index   struct {
		once  sync.Once
		order []uint32 // the rows by ascending id, those of one id by row; nil if that is their order
	}
}

// IDsOf returns ids of rows. Texts that are whole numbers throughout, as these are written, are whole numbers.
// Numbers are not copied.
func IDsOf[T uint64 | string](ids []T) *IDs {
	if numbers, ok := any(ids).([]uint64); ok {
		return &IDs{numbers: numbers}
	}
	var b IDsBuilder
	for _, id := range any(ids).([]string) {
		b.Add(id)
	}
	return b.IDs()
}

// Len is the number of ids, 0 of nil.
func (d *IDs) Len() int {
	switch {
	case d == nil:
		return 0
	case d.ends != nil:
		return len(d.ends) - 1
	}
	return len(d.numbers)
}

// Textual reports whether the ids are texts.
func (d *IDs) Textual() bool { return d != nil && d.ends != nil }

// Text is the id of a row, as text.
func (d *IDs) Text(row int64) string {
	switch {
	case d == nil:
		return strconv.FormatInt(row, 10)
	case d.ends != nil:
		return d.text[d.ends[row]:d.ends[row+1]]
	case d.signed:
		return strconv.FormatInt(int64(d.numbers[row]), 10)
	}
	return strconv.FormatUint(d.numbers[row], 10)
}

// Number is the id of a row, which is that of an int64 if such were added. Ids must not be texts.
func (d *IDs) Number(row int64) uint64 {
	if d == nil {
		return uint64(row)
	}
	return d.numbers[row]
}

// Whole reports whether the ids are whole numbers from 0 to 2^64-1 throughout, also as texts.
func (d *IDs) Whole() bool {
	for row := range d.Len() {
		if d.ends != nil && !isWhole(d.Text(int64(row))) || d.ends == nil && d.signed && int64(d.numbers[row]) < 0 {
			return false
		}
	}
	return true
}

// Find returns the first row that has an id, given as text, and how many rows have it: none, one, or 2 for several.
// Rows that are called by their numbers are not found.
func (d *IDs) Find(id string) (row int64, rows int) {
	if d == nil {
		return 0, 0
	}
	if d.ends != nil {
		return d.find(func(row int64) int { return strings.Compare(id, d.Text(row)) })
	}
	if x, ok := parseWhole(id); ok && !(d.signed && x > math.MaxInt64) {
		return d.findKey(d.key(x))
	}
	if x, err := strconv.ParseInt(id, 10, 64); d.signed && err == nil && strconv.FormatInt(x, 10) == id {
		return d.findKey(d.key(uint64(x)))
	}
	return 0, 0
}

// FindNumber is Find of an integer, which as an id of texts is its digits.
func (d *IDs) FindNumber(id int64) (row int64, rows int) {
	switch {
	case d == nil || d.ends == nil && !d.signed && id < 0:
		return 0, 0
	case d.ends != nil:
		return d.Find(strconv.FormatInt(id, 10))
	}
	return d.findKey(d.key(uint64(id)))
}

// key has the order of the numbers.
func (d *IDs) key(number uint64) uint64 {
	if d.signed {
		return number ^ 1<<63
	}
	return number
}

func (d *IDs) findKey(key uint64) (row int64, rows int) {
	return d.find(func(row int64) int { return cmp.Compare(key, d.key(d.numbers[row])) })
}

// find searches for the id that compare compares with that of a row.
func (d *IDs) find(compare func(row int64) int) (row int64, rows int) {
	d.sort()
	n := d.Len()
	at, ok := sort.Find(n, func(i int) int { return compare(d.ranked(i)) })
	switch {
	case !ok:
		return 0, 0
	case at+1 < n && compare(d.ranked(at+1)) == 0:
		return d.ranked(at), 2
	}
	return d.ranked(at), 1
}

// Before returns how many ids come before a text, of ids that are texts, in the order of their bytes.
func (d *IDs) Before(id string) int {
	d.sort()
	return sort.Search(d.Len(), func(i int) bool { return d.Text(d.ranked(i)) >= id })
}

// BeforeNumber returns how many ids are less than a number, of ids that are numbers of int64.
func (d *IDs) BeforeNumber(id int64) int {
	d.sort()
	return sort.Search(d.Len(), func(i int) bool { return int64(d.numbers[d.ranked(i)]) >= id })
}

// Ranked is the row of the i-th id in their order.
func (d *IDs) Ranked(i int) int64 {
	d.sort()
	return d.ranked(i)
}

// ranked is the row of the i-th id.
func (d *IDs) ranked(i int) int64 {
	if d.index.order == nil {
		return int64(i)
	}
	return int64(d.index.order[i])
}

// sort finds the order of the rows.
func (d *IDs) sort() {
	d.index.once.Do(func() {
		if d.ascend() {
			return
		}
		all, next := make([]sortedID, d.Len()), d.sortKeys()
		for row := range all {
			all[row] = sortedID{next(int64(row)), uint32(row)}
		}
		slices.SortFunc(all, func(a, b sortedID) int {
			if a.key != b.key {
				return cmp.Compare(a.key, b.key)
			}
			return cmp.Or(d.compare(int64(a.row), int64(b.row)), cmp.Compare(a.row, b.row))
		})
		d.index.order = make([]uint32, len(all))
		for i := range all {
			d.index.order[i] = all[i].row
		}
	})
}

// sortedID is a row with a number that has the order of the ids, as far as it tells them apart, so that most are
// compared where they are sorted.
type sortedID struct {
	key uint64
	row uint32
}

// sortKeys returns what finds the key of a row: a number itself, of texts the eight bytes after those that all share.
func (d *IDs) sortKeys() func(row int64) uint64 {
	if d.ends == nil {
		return func(row int64) uint64 { return d.key(d.numbers[row]) }
	}
	shared := d.Text(0)
	for row := range int64(d.Len()) {
		id := d.Text(row)
		n := 0
		for n < min(len(shared), len(id)) && shared[n] == id[n] {
			n++
		}
		shared = shared[:n]
	}
	return func(row int64) uint64 {
		var first [8]byte
		copy(first[:], d.Text(row)[len(shared):])
		return binary.BigEndian.Uint64(first[:])
	}
}

// compare compares the ids of two rows.
func (d *IDs) compare(a, b int64) int {
	if d.ends != nil {
		return strings.Compare(d.Text(a), d.Text(b))
	}
	return cmp.Compare(d.key(d.numbers[a]), d.key(d.numbers[b]))
}

// ascend reports whether every id is greater than the one before.
func (d *IDs) ascend() bool {
	for row := 1; row < d.Len(); row++ {
		if d.compare(int64(row-1), int64(row)) >= 0 {
			return false
		}
	}
	return true
}

// Duplicate returns the first row, second, whose id an earlier row has, first. ok is false if all ids differ.
func (d *IDs) Duplicate() (first, second int, ok bool) {
	if d.ascend() {
		return 0, 0, false
	}
	n := d.Len()
	table := make([]uint32, 1<<bits.Len(uint(n+n/2))) // rows from 1 on, where their hashes say
	seed := maphash.MakeSeed()
	for row := range n {
		hash := uint64(0)
		if d.ends != nil {
			hash = maphash.String(seed, d.Text(int64(row)))
		} else {
			hash = maphash.Comparable(seed, d.numbers[row])
		}
		at := int(hash) & (len(table) - 1)
		for ; table[at] != 0; at = (at + 1) & (len(table) - 1) {
			if first := int(table[at] - 1); d.compare(int64(first), int64(row)) == 0 {
				return first, row, true
			}
		}
		table[at] = uint32(row + 1)
	}
	return 0, 0, false
}

// CheckIDs refuses ids that are no UTF-8, of which several would be written as one, and ids that are numbers
// throughout, of which one has a point or an exponent, is negative, or is 2^64-1 as a number: floats stand for several
// integers from 2^53 on, and -1 and 2^64-1 stand for none where answers are padded. A column with another text has
// texts for ids, whatever they look like. The error, a *Error, names file, row and id.
func CheckIDs(file string, ids *IDs) error {
	if err := CheckKept(file, ids); err != nil || !ids.Textual() {
		return err
	}
	float, negative := int64(-1), int64(-1)
	for row := range int64(ids.Len()) {
		switch id := ids.Text(row); {
		case isWhole(id):
		case strings.HasPrefix(id, "-") && isWhole(id[1:]):
			if negative < 0 {
				negative = row
			}
		case isNumber(id) && strings.ContainsAny(id, ".eE"):
			if float < 0 {
				float = row
			}
		default:
			return nil
		}
	}
	switch {
	case float >= 0:
		return failAt(file, float, -1, "id %.40s is a float, which can be a number, or an id that a float64 rounds from 2^53 on; ids are integers from 0 on, or texts", ids.Text(float))
	case negative >= 0:
		return negativeID(file, negative, ids.Text(negative))
	}
	return nil
}

// CheckKept is CheckIDs of ids that are known to be texts if they look so: of some of those that it has accepted together, for
// example, which may all look like numbers once the others are gone.
func CheckKept(file string, ids *IDs) error {
	if !ids.Textual() {
		return checkNumbers(file, ids)
	}
	for row := range int64(ids.Len()) {
		if id := ids.Text(row); !utf8.ValidString(id) {
			return failAt(file, row, -1, "id %.40q is no UTF-8", id)
		}
	}
	return nil
}

func checkNumbers(file string, ids *IDs) error {
	for row := range int64(ids.Len()) {
		switch x := ids.Number(row); {
		case ids.signed && int64(x) < 0:
			return negativeID(file, row, ids.Text(row))
		case x == math.MaxUint64:
			return failAt(file, row, -1, "id is 2^64 - 1, which stands for none in answers")
		}
	}
	return nil
}

func negativeID(file string, row int64, id string) error {
	return failAt(file, row, -1, "id %.40s is negative; ids are integers from 0 on, or texts: -1 stands for none in answers", id)
}

// CheckUnique refuses an empty id, and one that two rows have: an answer by it would name several rows. The error, a
// *Error, names file, rows and id.
func CheckUnique(file string, ids *IDs) error {
	first, second, twice := ids.Duplicate()
	for row := range int64(ids.Len()) {
		if ids.Textual() && ids.Text(row) == "" && (!twice || row <= int64(second)) {
			return failAt(file, row, -1, "id is empty, which stands for none in answers")
		}
	}
	if twice {
		return failAt(file, int64(second), -1, "has the id %.60q, which row %d has already", ids.Text(int64(second)), first)
	}
	return nil
}

// findsIDs reports whether a column called id is taken for ids, or refused.
func (o *Options) findsIDs() bool { return o.IDs == "" && o.FindIDs && o.Column != idName }

// noIDs is the error of a column called id that cannot be ids, which is what.
func (o *Options) noIDs(what string) error {
	return fmt.Errorf("%q is %s, and ids are integers or strings throughout: %s names another column of ids; rename %q if it is none (pandas writes floats where an id is missing)", idName, what, o.words().IDs, idName)
}

// isWhole reports whether id is an integer of 64 bits without a sign, as an id is written.
func isWhole(id string) bool {
	_, ok := parseWhole(id)
	return ok
}

// parseWhole returns the integer that isWhole reports.
func parseWhole(id string) (uint64, bool) {
	if id == "" || id[0] < '0' || id[0] > '9' || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	x, err := strconv.ParseUint(id, 10, 64)
	return x, err == nil
}
