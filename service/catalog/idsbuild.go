package catalog

import (
	"errors"
	"math"
	"strconv"

	"thresher/dataset"
	"thresher/service/problem"
)

// idsBuilder gathers the ids of a version being built, row by row.
type idsBuilder struct {
	d    IDs
	want Kind  // Integers or Strings; "" means integers until there is another id
	most int   // bytes of one id
	next int64 // greater than any integer that was ever an id of the collection; 0 at first
	base int   // rows of the previous version
}

// newIDsBuilder returns a builder without rows.
func newIDsBuilder(want Kind, most int) *idsBuilder {
	b := &idsBuilder{want: want, most: most}
	b.d.kind = Integers
	if want == Strings {
		b.become(Strings)
	}
	return b
}

// become converts the ids, which are all integers, to strings of their digits.
func (b *idsBuilder) become(kind Kind) {
	b.d.kind, b.d.ends = kind, []uint64{0}
	for _, v := range b.d.ints {
		b.text(strconv.AppendInt(nil, v, 10))
	}
	b.d.ints = nil
}

func (b *idsBuilder) text(name []byte) {
	b.d.text = append(b.d.text, name...)
	b.d.ends = append(b.d.ends, uint64(len(b.d.text)))
}

// row returns the number of the next row among the new ones, as errors count them.
func (b *idsBuilder) row() int { return b.d.n - b.base }

// addInt appends an id to integers.
func (b *idsBuilder) addInt(v int64) {
	if b.d.kind == Strings {
		b.text(strconv.AppendInt(nil, v, 10))
	} else {
		b.d.ints = append(b.d.ints, v)
	}
	b.d.n++
	if v >= b.next {
		b.next = v // not used again if no integer follows
		if v < math.MaxInt64 {
			b.next++
		}
	}
}

// addNext appends the integer after the greatest that was ever an id.
func (b *idsBuilder) addNext() error {
	if b.next == math.MaxInt64 {
		return problem.New(problem.InvalidValue, "there is no integer left for the id of row %d", b.row()).At("rows", b.row())
	}
	b.addInt(b.next)
	return nil
}

// add appends an id as text.
func (b *idsBuilder) add(id string) error {
	if b.d.kind == Integers {
		v, err := strconv.ParseInt(id, 10, 64)
		if err == nil && strconv.FormatInt(v, 10) == id {
			b.addInt(v)
			return nil
		}
		if b.want == Integers {
			return problem.New(problem.InvalidValue, "row %d has the id %q, and ids are integers of 64 bits", b.row(), clip(id)).
				At("ids", b.row()).Within(Integers)
		}
		b.become(Strings)
	}
	switch {
	case id == "":
		return problem.New(problem.InvalidValue, "row %d has an empty id", b.row()).At("ids", b.row())
	case len(id) > b.most:
		return problem.New(problem.OverLimit, "row %d has an id of %d bytes, at most %d", b.row(), len(id), b.most).
			At("ids", b.row()).Within(b.most)
	}
	b.text([]byte(id))
	b.d.n++
	return nil
}

// refuseNumbers refuses new ids that are negative integers or floats, if the ids are numbers throughout.
func (b *idsBuilder) refuseNumbers() error {
	if b.d.kind == RowNumbers || b.want == Strings {
		return nil
	}
	if b.d.kind == Integers {
		for row := b.base; row < b.d.n; row++ {
			if b.d.ints[row] < 0 {
				return problem.New(problem.InvalidValue, "row %d has the id %d, which is negative; ids are integers from 0 on, or strings", row-b.base, b.d.ints[row]).At("ids", row-b.base)
			}
		}
		return nil
	}
	names := make([]string, 0, b.d.n-b.base)
	for row := b.base; row < b.d.n; row++ {
		names = append(names, string(b.d.name(row)))
	}
	var odd *dataset.Error
	if err := dataset.CheckIDs("ids", names); errors.As(err, &odd) {
		return problem.New(problem.InvalidValue, "row %d: %v", odd.Row, odd.Err).At("ids", int(odd.Row))
	}
	return nil
}

// finish sorts the ids and refuses duplicates.
func (b *idsBuilder) finish() (*IDs, error) {
	if err := b.refuseNumbers(); err != nil {
		return nil, err
	}
	b.d.findDigits()
	first, second, unique := b.d.sorted()
	if unique {
		return &b.d, nil
	}
	id := b.d.Name(int64(first))
	if b.d.kind == Strings {
		id = strconv.Quote(clip(id))
	}
	if first < b.base {
		return nil, problem.New(problem.InvalidValue, "row %d has the id %s, which the collection has already, at row %d",
			second-b.base, id, first).At("ids", second-b.base)
	}
	return nil, problem.New(problem.InvalidValue, "rows %d and %d have the same id %s", first-b.base, second-b.base, id).
		At("ids", second-b.base)
}

// clip shortens text from a client for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
