package catalog

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
)

// List returns the row numbers of at most limit ids that begin with prefix and come after another, "" for none, and whether there are
// more. Ids that are numbers come in the order of their values, texts in that of their bytes. Of a version that changes it looks at all
// ids; of others at those that it returns.
func (v *Version) List(ctx context.Context, prefix, after string, limit int) (rows []int64, more bool, err error) {
	ids := v.IDs()
	if ids.kind == Strings {
		rows, err = v.texts(ctx, prefix, after, limit+1)
	} else {
		least := int64(math.MinInt64)
		if after != "" {
			last, err := strconv.ParseInt(after, 10, 64)
			if err != nil {
				return nil, false, problem.New(problem.InvalidValue, "after is %.60q, and the ids of the collection are integers", after).In("after").Within(Integers)
			}
			if last == math.MaxInt64 {
				return []int64{}, false, nil
			}
			least = last + 1
		}
		rows, err = v.numbers(ctx, rangesOf(prefix), least, limit+1)
	}
	if err != nil {
		return nil, false, err
	}
	if len(rows) > limit {
		return rows[:limit], true, nil
	}
	return rows, false, nil
}

// texts returns the rows of the first ids, most of them at most, that begin with prefix and come after another.
func (v *Version) texts(ctx context.Context, prefix, after string, most int) ([]int64, error) {
	rows := []int64{}
	if v.now != nil {
		first := firstIDs[string]{most: most, compare: strings.Compare}
		err := v.eachID(ctx, func(ids *dataset.IDs, i int, number int64) {
			if id := ids.Text(int64(i)); id > after && strings.HasPrefix(id, prefix) {
				first.add(id, number)
			}
		})
		return first.sorted(), err
	}
	ids := v.o.ids.ids
	for i := ids.Before(max(prefix, after)); i < ids.Len() && len(rows) < most; i++ {
		row := ids.Ranked(i)
		id := ids.Text(row)
		if !strings.HasPrefix(id, prefix) {
			break
		}
		if id != after || after == "" {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// numbers returns the rows of the first ids, most of them at most, that are in ranges and at least least.
func (v *Version) numbers(ctx context.Context, in []idRange, least int64, most int) ([]int64, error) {
	rows := []int64{}
	if v.now != nil {
		first := firstIDs[int64]{most: most, compare: cmp.Compare[int64]}
		err := v.eachID(ctx, func(ids *dataset.IDs, i int, number int64) {
			id := int64(ids.Number(int64(i)))
			if id >= least && slices.ContainsFunc(in, func(s idRange) bool { return s.low <= id && id <= s.high }) {
				first.add(id, number)
			}
		})
		return first.sorted(), err
	}
	for _, s := range in {
		low := max(s.low, least)
		if v.o.ids.kind == RowNumbers {
			for row := max(low, 0); row <= min(s.high, int64(v.o.ids.n)-1) && len(rows) < most; row++ {
				rows = append(rows, row)
			}
			continue
		}
		ids := v.o.ids.ids
		for i := ids.BeforeNumber(low); i < ids.Len() && len(rows) < most; i++ {
			row := ids.Ranked(i)
			if int64(ids.Number(row)) > s.high {
				break
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// eachID calls do with all ids of a version that changes: id i of ids is that of a number.
func (v *Version) eachID(ctx context.Context, do func(ids *dataset.IDs, i int, number int64)) error {
	v.now.Each(func(numbers []int64) bool {
		ids := v.now.IDs(numbers)
		for i, number := range numbers {
			do(ids, i, number)
		}
		return ctx.Err() == nil
	})
	return context.Cause(ctx)
}

// firstIDs are the first ids of those added, at most most.
type firstIDs[T any] struct {
	most    int
	compare func(a, b T) int
	ids     []T
	at      []int64
}

func (f *firstIDs[T]) add(id T, row int64) {
	if len(f.ids) == f.most && f.compare(id, f.ids[f.most-1]) >= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(f.ids, id, f.compare)
	f.ids, f.at = slices.Insert(f.ids, i, id), slices.Insert(f.at, i, row)
	if len(f.ids) > f.most {
		f.ids, f.at = f.ids[:f.most], f.at[:f.most]
	}
}

// sorted returns the rows of the ids, in the order of these.
func (f *firstIDs[T]) sorted() []int64 { return append([]int64{}, f.at...) }

// idRange is the integers from low to high.
type idRange struct{ low, high int64 }

// rangesOf returns the integers whose digits begin with a prefix, ascending.
func rangesOf(prefix string) []idRange {
	digits, negative := strings.CutPrefix(prefix, "-")
	switch {
	case prefix == "":
		return []idRange{{math.MinInt64, math.MaxInt64}}
	case digits == "":
		return []idRange{{math.MinInt64, -1}}
	case digits == "0" && !negative:
		return []idRange{{0, 0}}
	}
	first, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || digits[0] == '0' || digits[0] == '+' || first <= 0 {
		return nil // no integer is written so
	}
	var all []idRange
	for low, high := uint64(first), uint64(first); low <= math.MaxInt64; low, high = 10*low, 10*high+9 {
		s := idRange{int64(low), int64(min(high, math.MaxInt64))}
		if negative {
			s = idRange{-s.high, -s.low}
		}
		all = append(all, s)
		if low > math.MaxInt64/10 {
			break
		}
	}
	if negative {
		slices.Reverse(all)
	}
	return all
}

// Columns returns the columns of rows, in their order; nil of a version without.
func (v *Version) Columns(rows []int64) *columns.Columns {
	switch {
	case v.now != nil:
		return v.now.Columns(rows)
	case v.o.columns == nil:
		return nil
	}
	return v.o.columns.Gather(rows)
}
