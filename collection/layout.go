package collection

import (
	"fmt"
	"strconv"
	"unsafe"

	"thresher/bandit"
	"thresher/dataset"
	"thresher/internal/machine"
)

// A collection's arrays are named sections of one memory, which is either
// allocated or a file's mapping: filling the sections of a mapping is saving.

// originSection is the section of Collection.Origin, in files that have one.
const originSection = "origin"

// rowSquares is the section of Collection.RowSquares. Older files have rowNorms instead,
// whose last bits depend on the processor that built them; squares are then summed anew.
const (
	rowSquares = "row-squares"
	rowNorms   = "row-norm"
)

// section is one array of a collection file.
type section struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	CRC    uint32 `json:"crc32c"`
}

// memory allocates the sections of a collection by name. An implementation that only
// measures returns nil.
type memory interface {
	bytes(name string, n int64) ([]byte, error)
}

// heap is memory from the Go allocator.
type heap struct{}

func (heap) bytes(_ string, n int64) ([]byte, error) {
	// float64 makes every view aligned.
	b := make([]float64, (n+7)/8)
	machine.LargePages(b)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

type scalar interface {
	~uint8 | ~uint32 | ~float32 | ~float64
}

// array returns section name of m as n scalars.
func array[T scalar](m memory, name string, n int) ([]T, error) {
	if n == 0 {
		return nil, nil
	}
	var z T
	b, err := m.bytes(name, int64(n)*int64(unsafe.Sizeof(z)))
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	if b == nil {
		return nil, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// layout points a collection's slices at the sections of m, for a version of the file
// format. N, Dim, Metric, Basis, R and D must be set. The rows are of type elem; with keepRows, Vectors stays as
// it is.
func (c *Collection) layout(m memory, elem dataset.Elem, keepRows bool, version int) error {
	var err error
	get32 := func(dst *[]float32, name string, n int) {
		if err == nil {
			*dst, err = array[float32](m, name, n)
		}
	}
	padded := c.PanelCount() * PanelAtoms
	if !keepRows {
		err = c.layoutRows(m, elem)
	}
	if err == nil {
		c.Order, err = array[uint32](m, "order", c.N)
	}
	if c.Origin != nil && err == nil {
		c.Origin, err = array[float64](m, originSection, c.Dim)
	}
	get32(&c.Norm, "norm", c.N)
	if c.Metric.Normalises() && err == nil {
		c.RowSquares, err = array[float64](m, rowSquares, c.N)
	}
	if c.Metric.Differences() {
		get32(&c.Offset, "offset", padded)
		if c.Basis != Raw && version >= centreVersion && err == nil {
			c.Centre, err = array[float64](m, "centre", c.Dim)
		}
	}
	if c.Basis == Raw {
		if err == nil {
			c.Perm, err = array[uint32](m, "permutation", c.Dim)
		}
		c.Bounds = rawBounds(c.Dim)
		c.SuffixNorm, c.SuffixMax = make([][]float32, len(c.Bounds)), make([][]float32, len(c.Bounds))
		for b, w := range c.Bounds {
			get32(&c.SuffixNorm[b], fmt.Sprintf("suffix-norm-%d", w), c.N)
			get32(&c.SuffixMax[b], fmt.Sprintf("suffix-max-%d", w), c.N)
		}
		return err
	}
	if c.D == 0 {
		return err
	}
	get32(&c.HeadScale, "head-scale", padded)
	get32(&c.HeadNorm, "head-norm", padded)
	get32(&c.HeadErr, "head-err", padded)
	for _, l := range newStages(c.R, c.D, version) {
		name := strconv.Itoa(l.Width)
		if l.Coding != Int8 {
			name = codings[l.Coding].name
		} else {
			get32(&l.Beyond, "beyond-"+name, padded)
		}
		get32(&l.Scale, "scale-"+name, padded)
		get32(&l.Radius, "radius-"+name, padded)
		get32(&l.XNorm, "x-norm-"+name, padded)
		c.Stages = append(c.Stages, l)
	}
	if err == nil {
		c.RowScale = c.Stages[len(c.Stages)-1].Scale
		c.PanelWidth = panelWidth(c.D)
		c.Panels, err = array[uint8](m, "panels", c.PanelCount()*c.PanelStride())
	}
	if err == nil {
		c.Codes, err = array[uint8](m, "codes", c.N*(c.R+c.D))
	}
	for k := range c.Stages {
		if err == nil {
			err = c.Stages[k].layout(m, c.N, c.R, c.D)
		}
	}
	get32(&c.transform.u, "head-directions", c.R*c.Dim)
	if c.D <= bandit.HaarMaxDim {
		get32(&c.transform.haar, "rotation", c.D*c.D)
	}
	return err
}

// layoutRows points Vectors and Rows at the rows of m, which are of type elem.
func (c *Collection) layoutRows(m memory, elem dataset.Elem) error {
	rows, err := array[uint8](m, rowsSection, c.N*c.Dim*elem.Size())
	if err != nil || rows == nil {
		return err
	}
	v, err := dataset.NewVectors(elem, c.Dim, rows)
	c.setVectors(v)
	return err
}

// panelWidth returns the number of rest coordinates in a panel: as many as a first look
// with large k may need, within the memory for it.
func panelWidth(D int) int {
	if D >= 1280 {
		return 192
	}
	return min(128, D)
}

// newStages returns the looks possible at a rest of D coordinates, without terms: prefixes of
// int8 codes, other codings, and all int8 codes. Each stage takes 12 to 16 bytes an atom.
// Prefixes longer than a panel serve where there is no other coding.
func newStages(R, D, version int) []Stage {
	own := ownCodings(R, D, version)
	var all []Stage
	for _, v := range [][2]int{{32, 768}, {64, 128}, {96, 768}, {128, 256}, {192, 1280}, {256, 640}} {
		if D >= v[1] && (len(own) == 0 || v[0] <= panelWidth(D)) {
			all = append(all, Stage{Width: v[0]})
		}
	}
	for _, k := range own {
		all = append(all, Stage{Width: D, Coding: k})
	}
	return append(all, Stage{Width: D})
}

// rawBounds returns the numbers of coordinates at which looks on raw coordinates can start
// and stop: 0, 16, 32, 64, .. and dim.
func rawBounds(dim int) []int {
	b := []int{0}
	for w := 16; w < dim; w *= 2 {
		b = append(b, w)
	}
	return append(b, dim)
}
