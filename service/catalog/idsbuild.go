package catalog

import (
	"errors"
	"math"
	"strconv"

	"thresher/dataset"
	"thresher/service/problem"
)

// idsBuilder gathers the ids of a version being built, row by row: Integers, or Strings once there is another id.
type idsBuilder struct {
	dataset.IDsBuilder
	want Kind  // Integers or Strings; "" means integers until there is another id
	most int   // bytes of one id
	next int64 // greater than any integer that was ever an id of the collection; 0 at first
	base int   // rows of the previous version
}

// newIDsBuilder returns a builder without rows.
func newIDsBuilder(want Kind, most int) *idsBuilder {
	b := &idsBuilder{want: want, most: most}
	if want == Strings {
		b.BecomeTexts()
	}
	return b
}

// row returns the number of the next row among the new ones, as errors count them.
func (b *idsBuilder) row() int { return b.Len() - b.base }

// addInt appends an id to integers.
func (b *idsBuilder) addInt(v int64) {
	b.AddInt(v)
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
	if !b.Textual() {
		v, err := strconv.ParseInt(id, 10, 64)
		if err == nil && strconv.FormatInt(v, 10) == id {
			b.addInt(v)
			return nil
		}
		if b.want == Integers {
			return problem.New(problem.InvalidValue, "row %d has the id %q, and ids are integers of 64 bits", b.row(), clip(id)).
				At("ids", b.row()).Within(Integers)
		}
		b.BecomeTexts()
	}
	switch {
	case id == "":
		return problem.New(problem.InvalidValue, "row %d has an empty id", b.row()).At("ids", b.row())
	case len(id) > b.most:
		return problem.New(problem.OverLimit, "row %d has an id of %d bytes, at most %d", b.row(), len(id), b.most).
			At("ids", b.row()).Within(b.most)
	}
	b.AddText(id)
	return nil
}

// refuseNumbers refuses new ids that are negative integers or floats, if the ids are numbers throughout.
func (b *idsBuilder) refuseNumbers(ids *dataset.IDs) error {
	if b.want == Strings {
		return nil
	}
	if !ids.Textual() {
		for row := b.base; row < ids.Len(); row++ {
			if id := int64(ids.Number(int64(row))); id < 0 {
				return problem.New(problem.InvalidValue, "row %d has the id %d, which is negative; ids are integers from 0 on, or strings", row-b.base, id).At("ids", row-b.base)
			}
		}
		return nil
	}
	var added dataset.IDsBuilder
	for row := b.base; row < ids.Len(); row++ {
		added.AddText(ids.Text(int64(row)))
	}
	var odd *dataset.Error
	if err := dataset.CheckIDs("ids", added.IDs()); errors.As(err, &odd) {
		return problem.New(problem.InvalidValue, "row %d: %v", odd.Row, odd.Err).At("ids", int(odd.Row))
	}
	return nil
}

// finish refuses duplicates.
func (b *idsBuilder) finish() (*RowIDs, error) {
	ids := b.IDs()
	if err := b.refuseNumbers(ids); err != nil {
		return nil, err
	}
	first, second, twice := ids.Duplicate()
	if !twice {
		return rowIDs(ids), nil
	}
	id := ids.Text(int64(first))
	if ids.Textual() {
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
