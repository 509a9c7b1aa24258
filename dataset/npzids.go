package dataset

import "math"

// npzNamed is a matrix of an npz with the ids of its rows from another array.
type npzNamed struct {
	Reader
	source string // name of the array of ids
	array  *npzArray
	ids    []string
	row    int64
	err    error
}

// named adds the ids of an array to the rows of r.
func (e *npzEntry) named(src *source, r Reader) (Reader, error) {
	n := &npzNamed{Reader: r, source: e.name, array: e.array(src)}
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
	n.ids = n.ids[:0]
	n.array.meter.begin()
	if n.err != nil {
		return 0, n.err
	}
	rows, err := n.Reader.Read(dst[:min(len(dst), n.most())])
	for i := range rows {
		id, e := n.array.id()
		if e != nil {
			n.err = failAt(n.array.name, n.row, -1, "%w", e)
			return i, n.err
		}
		n.ids = append(n.ids, id)
		n.row++
	}
	return rows, err
}

// most returns how many values Read may read, so that the ids of their rows take no more than they may.
func (n *npzNamed) most() int {
	rows := max(1, n.array.meter.budget.Flight/int64(n.array.size+idHeader))
	return int(min(rows, math.MaxInt32)) * n.Dim()
}

func (n *npzNamed) layout() Layout {
	l := LayoutOf(n.Reader)
	l.IDs = n.source
	return l
}
func (n *npzNamed) narrowing() *narrowed { return narrowingOf(n.Reader) }
