package columns

import (
	"sort"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"thresher/dataset"
)

// Column is the values of the rows under one name. It is not changed once it is made, and safe for concurrent use.
type Column struct {
	Name string
	Type Type
	rows int
	// filled are the rows that are not null, comparable those with a value that comparisons can match: of lists the
	// same, of floats those that are no NaN either.
	filled, comparable *roaring.Bitmap

	integers   *ordered[int64]   // of Integer, Bool and Time
	floats     *ordered[float64] // of Float and Single
	codes      *ordered[uint32]  // of Text and TextList: the number of a text in dictionary
	dictionary []string          // ascending
	counts     []uint32          // of TextList: texts of each row
	// example says why the column is no column of numbers, if it could have been: a value, with its row.
	example string
	finer   finer
}

// finer counts times that are finer than microseconds, to which they are cut.
type finer struct {
	rows  int
	first int // of these rows
}

// add counts a row.
func (f *finer) add(row int) {
	if f.rows == 0 {
		f.first = row
	}
	f.rows++
}

// Finer returns how many times of the column were finer than microseconds, to which they are cut, as they were read, and
// the row of the first.
func (c *Column) Finer() (rows, first int) { return c.finer.rows, c.finer.first }

// Field is the column's name and type.
func (c *Column) Field() Field { return Field{c.Name, c.Type} }

// Value returns the value of a row. The texts of a list are the caller's.
func (c *Column) Value(row int) dataset.Value {
	if !c.filled.Contains(uint32(row)) {
		return dataset.Value{}
	}
	switch c.Type {
	case Integer:
		return dataset.Value{Kind: dataset.IntegerValue, Integer: c.integers.keys[row]}
	case Bool:
		return dataset.Value{Kind: dataset.BoolValue, Integer: c.integers.keys[row]}
	case Time:
		return dataset.Value{Kind: dataset.TimeValue, Integer: c.integers.keys[row]}
	case Float:
		return dataset.Value{Kind: dataset.FloatValue, Float: c.floats.keys[row]}
	case Single:
		return dataset.Value{Kind: dataset.SingleValue, Float: c.floats.keys[row]}
	case Text:
		return dataset.Value{Kind: dataset.TextValue, Text: c.dictionary[c.codes.keys[row]]}
	}
	v := dataset.Value{Kind: dataset.ListValue, Texts: make([]string, 0, c.counts[row])}
	first := sort.Search(len(c.codes.owner), func(i int) bool { return c.codes.owner[i] >= uint32(row) })
	for _, code := range c.codes.keys[first : first+int(c.counts[row])] {
		v.Texts = append(v.Texts, c.dictionary[code])
	}
	return v
}

// bytes is the memory of the column, without an index.
func (c *Column) bytes() int64 {
	n := int64(c.filled.GetSizeInBytes()) + int64(4*len(c.counts))
	switch {
	case c.integers != nil:
		return n + int64(8*len(c.integers.keys))
	case c.floats != nil:
		return n + int64(8*len(c.floats.keys))
	}
	for _, text := range c.dictionary {
		n += int64(16 + len(text))
	}
	return n + int64(4*(len(c.codes.keys)+len(c.codes.owner)))
}

// all returns all rows of a column of n.
func allRows(n int) *roaring.Bitmap {
	b := roaring.New()
	b.AddRange(0, uint64(n))
	return b
}

// textSpan returns the codes of the texts from one on, before another.
func (c *Column) textSpan(from string, before string, bounded bool) []span[uint32] {
	lo := sort.SearchStrings(c.dictionary, from)
	hi := len(c.dictionary)
	if bounded {
		hi = sort.SearchStrings(c.dictionary, before)
	}
	if lo >= hi {
		return nil
	}
	return []span[uint32]{{uint32(lo), uint32(hi - 1)}}
}

// prefixSpan returns the codes of the texts that start with a prefix.
func (c *Column) prefixSpan(prefix string) []span[uint32] {
	for end := strings.Clone(prefix); end != ""; end = end[:len(end)-1] {
		if last := end[len(end)-1]; last < 0xff {
			return c.textSpan(prefix, end[:len(end)-1]+string([]byte{last + 1}), true)
		}
	}
	return c.textSpan(prefix, "", false)
}
