package thresher

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"thresher/collection"
	"thresher/dataset"
)

// IDs are what a program calls its vectors, in the order of their rows: whole numbers or texts, all different. nil
// stands for row numbers. They do not change once an Index has them, and several goroutines may use them.
type IDs struct {
	numbers []uint64
	texts   []string // nil if all are whole numbers
	index   struct {
		once  sync.Once
		order []int32 // rows in ascending order of their ids
	}
}

// IDsOf returns ids as an Index takes them. Texts that are whole numbers throughout, as these are written, are
// whole numbers. Ids are not copied.
func IDsOf[T uint64 | string](ids []T) *IDs {
	switch all := any(ids).(type) {
	case []uint64:
		return &IDs{numbers: all}
	case []string:
		if numbers := wholes(all); numbers != nil {
			return &IDs{numbers: numbers}
		}
		return &IDs{texts: all}
	}
	return nil
}

// wholes returns the numbers that texts are, nil unless all are.
func wholes(texts []string) []uint64 {
	numbers := make([]uint64, len(texts))
	for i, text := range texts {
		x, err := strconv.ParseUint(text, 10, 64)
		if err != nil || x == math.MaxUint64 || strconv.FormatUint(x, 10) != text {
			return nil
		}
		numbers[i] = x
	}
	return numbers
}

// Len is the number of ids.
func (ids *IDs) Len() int { return max(len(ids.numbers), len(ids.texts)) }

// Text is the id of a row, as text.
func (ids *IDs) Text(row int64) string {
	switch {
	case ids == nil:
		return strconv.FormatInt(row, 10)
	case ids.texts != nil:
		return ids.texts[row]
	}
	return strconv.FormatUint(ids.numbers[row], 10)
}

// check refuses ids that cannot be those of n vectors.
func (ids *IDs) check(n int) error {
	if ids.Len() != n {
		return fmt.Errorf("ids: %d for %d vectors", ids.Len(), n)
	}
	order := ids.sorted()
	for at, row := range order {
		switch {
		case ids.texts != nil && ids.texts[row] == "":
			return fmt.Errorf("ids: that of row %d is empty", row)
		case ids.texts == nil && ids.numbers[row] == math.MaxUint64:
			return fmt.Errorf("ids: that of row %d is 2^64 - 1, which stands for none", row)
		case at > 0 && ids.compare(order[at-1], row) == 0:
			return fmt.Errorf("ids: rows %d and %d have the id %.60q", order[at-1], row, ids.Text(int64(row)))
		}
	}
	if ids.texts != nil {
		return dataset.CheckIDs("ids", ids.texts)
	}
	return nil
}

// sorted returns the rows in ascending order of their ids.
func (ids *IDs) sorted() []int32 {
	x := &ids.index
	x.once.Do(func() {
		x.order = make([]int32, ids.Len())
		for i := range x.order {
			x.order[i] = int32(i)
		}
		slices.SortFunc(x.order, func(a, b int32) int { return cmp.Or(ids.compare(a, b), cmp.Compare(a, b)) })
	})
	return x.order
}

func (ids *IDs) compare(a, b int32) int {
	if ids.texts != nil {
		return cmp.Compare(ids.texts[a], ids.texts[b])
	}
	return cmp.Compare(ids.numbers[a], ids.numbers[b])
}

// row returns the row of the id at a place of wanted.
func (ids *IDs) row(wanted *IDs, at int) (int64, bool) {
	if (ids.texts != nil) != (wanted.texts != nil) {
		return 0, false
	}
	order := ids.sorted()
	place, ok := slices.BinarySearchFunc(order, at, func(row int32, at int) int {
		if ids.texts != nil {
			return cmp.Compare(ids.texts[row], wanted.texts[at])
		}
		return cmp.Compare(ids.numbers[row], wanted.numbers[at])
	})
	if !ok {
		return 0, false
	}
	return int64(order[place]), true
}

// IDs are the vectors' own ids; nil, which stands for row numbers, if they have none.
func (x *Index) IDs() *IDs { return x.ids }

// Rows returns the row numbers of vectors with these ids, for filters, exclusions, candidates and the answers of other
// programs. An id that no vector has is an error.
func (x *Index) Rows(ids *IDs) ([]int64, error) {
	rows := make([]int64, ids.Len())
	for at := range rows {
		ok := false
		if x.ids != nil {
			rows[at], ok = x.ids.row(ids, at)
		} else if ids.texts == nil && ids.numbers[at] < uint64(x.Len()) {
			rows[at], ok = int64(ids.numbers[at]), true
		}
		if !ok {
			return nil, fmt.Errorf("no vector has the id %.60q", ids.Text(int64(at)))
		}
	}
	return rows, nil
}

// saveIDs writes the ids of the index that was saved at path into the file beside it.
func (x *Index) saveIDs(path string) error {
	if x.ids == nil {
		return collection.SaveIDs(path, nil)
	}
	all := make([]string, x.ids.Len())
	for row := range all {
		all[row] = x.ids.Text(int64(row))
	}
	return collection.SaveIDs(path, all)
}

// openIDs reads the ids beside a file.
func openIDs(path string, n int) (*IDs, error) {
	all, err := dataset.SavedIDs(path, n)
	if err != nil || all == nil {
		return nil, err
	}
	return IDsOf(all), nil
}

// adopt checks the ids of the vectors and takes them over.
func (x *Index) adopt(ids *IDs) error {
	if ids == nil {
		return nil
	}
	x.ids = ids
	return ids.check(x.Len())
}
