package thresher

import (
	"fmt"

	"thresher/dataset"
)

// IDs are what a program calls its vectors, in the order of their rows: whole numbers or texts, all different. nil
// stands for row numbers.
type IDs = dataset.IDs

// IDsOf returns ids as an Index takes them. Texts that are whole numbers throughout, as these are written, are
// whole numbers. Numbers are not copied, and must not change.
func IDsOf[T uint64 | string](ids []T) *IDs { return dataset.IDsOf(ids) }

// IDs are the vectors' own ids, in the order of their row numbers; nil, which stands for row numbers, if they have none and
// none was removed.
func (x *Index) IDs() *IDs {
	if c := x.life.changes(); c != nil {
		return c.ids()
	}
	return x.ids
}

// Rows returns the row numbers of vectors with these ids, for filters, exclusions, candidates and the answers of other
// programs. An id that no vector has is an error.
func (x *Index) Rows(ids *IDs) ([]int64, error) {
	if c := x.life.changes(); c != nil {
		return c.rows(ids)
	}
	rows := make([]int64, ids.Len())
	for at := range rows {
		id, found := ids.Text(int64(at)), 0
		if x.ids != nil {
			rows[at], found = x.ids.Find(id)
		} else if !ids.Textual() && ids.Number(int64(at)) < uint64(x.Len()) {
			rows[at], found = int64(ids.Number(int64(at))), 1
		}
		if found == 0 {
			return nil, fmt.Errorf("no vector has the id %.60q", id)
		}
	}
	return rows, nil
}

// adopt takes over the ids of the vectors, which have been checked where they came from. Those that are left of texts may all look
// like numbers.
func (x *Index) adopt(ids *IDs) error {
	if ids == nil {
		return nil
	}
	x.ids = ids
	if ids.Len() != x.Len() {
		return fmt.Errorf("ids: %d for %d vectors", ids.Len(), x.Len())
	}
	if err := dataset.CheckKept("ids", ids); err != nil {
		return err
	}
	return dataset.CheckUnique("ids", ids)
}
