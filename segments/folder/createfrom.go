package folder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/segments"
)

// CreateFrom makes a folder at path, where nothing may be, of the vectors of a file of collection: c is that file, opened
// and verified, whose row i has the id i of ids; nil stands for row numbers. If the rows are in the order in which folders
// have them, by ids that are numbers below 2^62, or any of texts, the file becomes the first segment by a hard link, or a copy
// where there are none; else they are coded again in that order. described are the columns of the rows, nil for none. The folder
// can be read by whoever can read the file, and appears whole and durable or not at all.
func CreateFrom(ctx context.Context, path, file string, c *collection.Collection, ids *dataset.IDs, described *columns.Columns) error {
	form := Form{Metric: c.Metric, Dim: c.Dim, Seed: c.Seed, Elem: c.Elem(), Basis: c.Basis, Origin: c.Origin}
	if described != nil {
		if described.Rows() != c.N {
			return fmt.Errorf("columns of %d rows for %d vectors", described.Rows(), c.N)
		}
		form.Columns = described.Fields()
	}
	if err := form.check(); err != nil {
		return err
	}
	numbers, table, err := numbersOfRows(c.N, ids)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	return whole(files{}, path, mode|mode>>2&0o111, func(aside string) error {
		m := form.contents()
		m.Log, m.Next, m.Texts, m.Numbers = 2, 3, ids.Textual(), !ids.Textual()
		e := segmentFile{Number: 1, Rows: c.N, Generation: -1}
		to := filepath.Join(aside, e.file())
		if slices.IsSorted(numbers) {
			if err := linkFile(file, to); err != nil {
				return err
			}
			now, err := seen(to)
			if err != nil {
				return err
			}
			e.Verified = &now
		} else {
			r := inOrder(c, numbers)
			made, err := collection.Create(ctx, to, r, true, &collection.Options{Metric: c.Metric, Elem: form.Elem, Basis: c.Basis, Seed: c.Seed, Mode: modeIn(aside)})
			if err == nil {
				err = made.Close()
			}
			if err != nil {
				return err
			}
			if described != nil {
				described = described.Gather(r.places())
			}
			slices.Sort(numbers)
		}
		now, err := seen(to)
		if err != nil {
			return err
		}
		if e.Bytes = now.Bytes; ids != nil {
			if err := e.writeNumbers(files{}, aside, numbers, table.IDs(numbers)); err != nil {
				return err
			}
		}
		if err := e.writeColumns(files{}, aside, described); err != nil {
			return err
		}
		if _, e.Header, err = checksum(to, headerBytes); err != nil {
			return err
		}
		m.Segments = []segmentFile{e}
		return errors.Join(writeFile(files{}, filepath.Join(aside, logFile(m.Log)), encodeLogHeader(c.Dim, form.Elem, 0)), writeManifest(files{}, aside, m))
	})
}

// Ordered reports whether n rows with these ids are in the order in which folders have them, so that CreateFrom codes none of them again.
func Ordered(n int, ids *dataset.IDs) bool {
	numbers, _, err := numbersOfRows(n, ids)
	return err == nil && slices.IsSorted(numbers)
}

// numbersOfRows returns the numbers of n rows with ids, and the table that has them; nil of row numbers, which are theirs.
func numbersOfRows(n int, ids *dataset.IDs) ([]int64, *segments.Table, error) {
	if ids == nil {
		return nil, nil, nil
	}
	if ids.Len() != n {
		return nil, nil, fmt.Errorf("%d ids for %d vectors", ids.Len(), n)
	}
	table := segments.NewTable()
	if err := table.Check("ids", ids); err != nil {
		return nil, nil, err
	}
	numbers, err := table.Assign(ids)
	return numbers, table, err
}

// reordered is the rows of a collection in another order. It is a dataset.TypedReader, and a collection.Rounded.
type reordered struct {
	*collection.Collection
	order []int // rows
	read  int
}

// inOrder returns the rows of c by ascending number.
func inOrder(c *collection.Collection, numbers []int64) *reordered {
	r := &reordered{Collection: c, order: make([]int, c.N)}
	for row := range r.order {
		r.order[row] = row
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return int(min(1, max(-1, numbers[a]-numbers[b]))) })
	return r
}

// places are the rows in their order.
func (r *reordered) places() []int64 {
	all := make([]int64, len(r.order))
	for i, row := range r.order {
		all[i] = int64(row)
	}
	return all
}

func (r *reordered) Dim() int { return r.Collection.Dim }

// Read is that of collection.Source.
func (r *reordered) Read(dst []float32) (rows int, err error) {
	dim := r.Collection.Dim
	for ; rows < len(dst)/dim && r.read < len(r.order); rows++ {
		out := dst[rows*dim : (rows+1)*dim]
		copy(out, r.RowIn(out, r.order[r.read]))
		r.read++
	}
	if r.read == len(r.order) {
		return rows, io.EOF
	}
	return rows, nil
}

// ReadTyped is that of dataset.TypedReader.
func (r *reordered) ReadTyped(dst []byte) (rows int, err error) {
	size := r.Collection.Dim * r.Elem().Size()
	for ; rows < len(dst)/size && r.read < len(r.order); rows++ {
		row := r.order[r.read]
		copy(dst[rows*size:], r.Vectors.Slice(row, row+1).Bytes())
		r.read++
	}
	if r.read == len(r.order) {
		return rows, io.EOF
	}
	return rows, nil
}

func (r *reordered) Origin() []float64      { return r.Collection.Origin }
func (r *reordered) Change() dataset.Change { return r.Collection.Change }

var (
	_ collection.Rounded  = (*reordered)(nil)
	_ dataset.TypedReader = (*reordered)(nil)
)
