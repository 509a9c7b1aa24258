package segments

import "fmt"

// Listed is the ids of a segment, as they are checked before there is one.
type Listed struct {
	N       int      // rows
	IDs     []int64  // by row, ascending; nil: the rows' numbers
	Deleted []uint32 // rows, ascending
}

// Check returns an error unless there is an id for each row, ids and deleted rows ascend, and these are there.
func (l Listed) Check() error {
	if l.IDs != nil && len(l.IDs) != l.N {
		return fmt.Errorf("%d ids for %d vectors", len(l.IDs), l.N)
	}
	for i, id := range l.IDs {
		if id < 0 {
			return fmt.Errorf("row %d: id %d, at least 0", i, id)
		}
		if i > 0 && id <= l.IDs[i-1] {
			return fmt.Errorf("row %d: id %d after %d; ids of a segment ascend", i, id, l.IDs[i-1])
		}
	}
	for i, row := range l.Deleted {
		if int(row) >= l.N || i > 0 && row <= l.Deleted[i-1] {
			return fmt.Errorf("deleted row %d is not below %d and above the one before it", row, l.N)
		}
	}
	return nil
}

// id is the id of a row.
func (l Listed) id(row int) int64 {
	if l.IDs == nil {
		return int64(row)
	}
	return l.IDs[row]
}

// CheckDistinct returns an error if an id is left in two of the segments, each of which has been checked.
func CheckDistinct(all []Listed) error {
	at, gone := make([]int, len(all)), make([]int, len(all)) // the next row of each, and the next of those deleted
	last, holder := int64(-1), -1
	for {
		next := -1
		for i, l := range all {
			for gone[i] < len(l.Deleted) && int(l.Deleted[gone[i]]) == at[i] {
				at[i], gone[i] = at[i]+1, gone[i]+1
			}
			if at[i] < l.N && (next < 0 || l.id(at[i]) < all[next].id(at[next])) {
				next = i
			}
		}
		if next < 0 {
			return nil
		}
		id := all[next].id(at[next])
		if id == last {
			return fmt.Errorf("id %d is in segment %d and in segment %d", id, holder, next)
		}
		last, holder = id, next
		at[next]++
	}
}
