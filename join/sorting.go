package join

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"thresher/collection"
	"thresher/dataset"
)

// CountGroups returns how many rows are in each group, of those from 0 on, for RightOptions.Left.
func CountGroups(groups []int32) []int64 {
	counts := []int64{}
	for _, g := range groups {
		if g < 0 {
			continue
		}
		if missing := int(g) + 1 - len(counts); missing > 0 {
			counts = append(counts, make([]int64, missing)...)
		}
		counts[g]++
	}
	return counts
}

// SortRows sorts vectors by their groups, in place, and those of a group by row: those without one come first. It returns
// the number of each as it was, and where each of the groups begins, after those without one; then where the last ends.
func SortRows(v dataset.Vectors, groups []int32) (rows []int64, starts []int) {
	rows, starts = sorted(groups)
	place := make([]int, len(rows)) // of each row
	for i, row := range rows {
		place[row] = i
	}
	permute(v, place)
	return rows, starts
}

// SortedRows is SortRows into a copy; rows that are in the order of their groups are not copied.
func SortedRows(v dataset.Vectors, groups []int32) (copied dataset.Vectors, rows []int64, starts []int, err error) {
	rows, starts = sorted(groups)
	if slices.IsSorted(groups) {
		return v, rows, starts, nil
	}
	from, to := v.Bytes(), make([]byte, len(v.Bytes()))
	if len(rows) == 0 {
		return v, rows, starts, nil
	}
	size, n := len(from)/len(rows), len(rows)
	var workers sync.WaitGroup
	parts := min(runtime.GOMAXPROCS(0), n/copiedTogether+1)
	for part := range parts {
		workers.Go(func() {
			for i := part * n / parts; i < (part+1)*n/parts; i++ {
				copy(to[i*size:(i+1)*size], from[int(rows[i])*size:])
			}
		})
	}
	workers.Wait()
	copied, err = dataset.NewVectors(v.Elem(), v.Dim(), to)
	return copied, rows, starts, err
}

// InTable returns an error of building from sorted rows, with the number that the row of a *collection.RowError had before; rows are
// those of SortRows, nil where nothing was sorted.
func InTable(err error, rows []int64) error {
	var of *collection.RowError
	if !errors.As(err, &of) || of.Row >= len(rows) {
		return err
	}
	return &collection.RowError{Row: int(rows[of.Row]), Column: of.Column, Err: of.Err}
}

// copiedTogether is from how many rows on several goroutines copy them.
const copiedTogether = 1 << 10

// sorted returns the rows by their groups, those without one first, and where each group begins; then where the last ends.
func sorted(groups []int32) (rows []int64, starts []int) {
	count := 0
	for _, g := range groups {
		count = max(count, int(g)+1)
	}
	starts = make([]int, count+1)
	for _, g := range groups {
		if int(g)+1 < len(starts) {
			starts[g+1]++
		}
	}
	for g := 1; g < len(starts); g++ {
		starts[g] += starts[g-1]
	}
	next := append([]int{0}, starts...) // of group g-1
	rows = make([]int64, len(groups))
	for row, g := range groups {
		rows[next[g+1]] = int64(row)
		next[g+1]++
	}
	// Now starts[g] is where group g begins, since those without one were counted into starts[0].
	return rows, starts
}

// permute moves each row to its place, which it uses up.
func permute(v dataset.Vectors, place []int) {
	if v.Len() == 0 {
		return
	}
	size := len(v.Bytes()) / v.Len()
	row := func(i int) []byte { return v.Bytes()[i*size : (i+1)*size] }
	spare := make([]byte, size)
	for i := range place {
		for to := place[i]; to != i; to = place[i] {
			copy(spare, row(to))
			copy(row(to), row(i))
			copy(row(i), spare)
			place[i], place[to] = place[to], to
		}
	}
}
