package dataset

import (
	"fmt"
	"io"
	"math"
)

// npzNamed is a matrix of an npz with the ids of its rows from another array.
type npzNamed struct {
	npzVectors
	source string // name of the array of ids
	array  *npzArray
	ids    []string
	row    int64
	err    error
}

// named adds the ids of an array to the rows of r.
func (e *npzEntry) named(src *source, r npzVectors) (Reader, error) {
	n := &npzNamed{npzVectors: r, source: e.name, array: e.array(src)}
	n.array.meter.passing = false
	if shape := e.header.shape; len(shape) != 1 || r.Len() >= 0 && shape[0] != r.Len() {
		return nil, fail(n.array.name, "ids are one a row, an array of shape (%d,); this one's is %v", r.Len(), shape)
	}
	if err := n.array.checkIDs(); err != nil {
		return nil, located(n.array.name, -1, err)
	}
	return n, n.array.open(src, e)
}

func (n *npzNamed) IDs() []string { return n.ids }

func (n *npzNamed) Read(dst []float32) (int, error) {
	return n.read(func() (int, error) { return n.npzVectors.Read(dst[:min(len(dst), n.most())]) })
}

func (n *npzNamed) readWide(dst []float64) (int, error) {
	return n.read(func() (int, error) { return n.npzVectors.readWide(dst[:min(len(dst), n.most())]) })
}

// read reads rows by from, and their ids.
func (n *npzNamed) read(from func() (int, error)) (int, error) {
	n.ids = n.ids[:0]
	n.array.meter.begin()
	if n.err != nil {
		return 0, n.err
	}
	rows, err := from()
	for i := range rows {
		id, e := n.array.id()
		if e != nil {
			n.err = failAt(n.array.name, n.row, -1, "%w", e)
			return i, n.err
		}
		n.ids = append(n.ids, id)
		n.row++
	}
	if all := n.array.header.shape[0]; err == io.EOF || err == nil && n.row == all {
		if n.err = n.array.finish(fmt.Sprintf("%d ids", n.row)); n.err != nil {
			return rows, n.err
		}
	}
	return rows, err
}

// most returns how many values Read may read, so that the ids of their rows take no more than they may.
func (n *npzNamed) most() int {
	rows := max(1, n.array.meter.budget.Flight/int64(n.array.size+idHeader))
	return int(min(rows, math.MaxInt32)) * n.Dim()
}

func (n *npzNamed) layout() Layout {
	l := n.npzVectors.layout()
	l.IDs = n.source
	return l
}

// justified reports that the ids bound the rows of a Read: there is no memory for all at once.
func (n *npzNamed) justified() bool { return false }
