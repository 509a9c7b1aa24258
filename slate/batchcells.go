package slate

import "math"

// cellSize is the most items of a cell.
const cellSize = 16

// deepest is the most splits by values above a cell. Deeper ones halve, so that
// vectors of many magnitudes cost no more than others.
const deepest = 64

// cells are the items of a Separable objective in groups of similar vectors, each
// with an envelope: the largest entry of its vectors in every coordinate. A
// function that grows with every coordinate, as the bounds of a ceiling do, is at
// an envelope at least what it is at any item of the cell.
//
// They take n(8d+4) + cells(4d+4) bytes, with n/16 to n cells, mostly n/12.
type cells struct {
	d     int
	items []int32 // by place: the items of cell r are those of places start[r]..start[r+1]
	start []int32
	rows  []float64 // the vectors, by place
	// scale is the largest entry of all vectors, or 1 if that is 0; envelopes are
	// divided by it, by cell.
	scale     float64
	envelopes []float32
}

// newCells groups n items with vectors of d numbers >= 0, row-major.
func newCells(n, d int, vectors []float64) *cells {
	c := &cells{d: d, items: make([]int32, n), start: []int32{0}, rows: make([]float64, n*d)}
	for e := range c.items {
		c.items[e] = int32(e)
	}
	for _, x := range vectors {
		c.scale = max(c.scale, x)
	}
	if c.scale == 0 {
		c.scale = 1
	}
	s := splitter{d: d, vectors: vectors, aside: make([]int32, n), sum: make([]float64, d), squares: make([]float64, d), scale: c.scale}
	s.split(c, c.items, 0)
	c.envelopes = make([]float32, c.size()*d)
	for r := range c.size() {
		envelope := c.envelopes[r*d : (r+1)*d]
		for p := c.start[r]; p < c.start[r+1]; p++ {
			row := c.rows[int(p)*d : (int(p)+1)*d]
			copy(row, vectors[int(c.items[p])*d:])
			for g, x := range row {
				envelope[g] = max(envelope[g], float32(x/c.scale))
			}
		}
	}
	return c
}

// size is the number of cells.
func (c *cells) size() int { return len(c.start) - 1 }

// splitter halves sets of items until they are cells.
type splitter struct {
	d            int
	vectors      []float64
	scale        float64
	aside        []int32
	sum, squares []float64 // by coordinate
}

// split orders items and adds the ends of their cells: at the mean of the
// coordinate of the largest variance, which separates what has a topic from what
// has not, where a median would cut through the noise of a rare topic.
func (s *splitter) split(c *cells, items []int32, depth int) {
	if len(items) <= cellSize {
		c.start = append(c.start, c.start[len(c.start)-1]+int32(len(items)))
		return
	}
	at := len(items) / 2
	if g, mean := s.widest(items); depth < deepest {
		if low := s.partition(items, g, mean); low > 0 && low < len(items) {
			at = low
		}
	}
	s.split(c, items[:at], depth+1)
	s.split(c, items[at:], depth+1)
}

// widest is the coordinate of the largest variance and its mean.
func (s *splitter) widest(items []int32) (g int, mean float64) {
	clear(s.sum)
	clear(s.squares)
	for _, e := range items {
		for g, x := range s.vectors[int(e)*s.d:][:s.d] {
			x /= s.scale // squares of large entries do not overflow
			s.sum[g] += x
			s.squares[g] += x * x
		}
	}
	most, k := math.Inf(-1), float64(len(items))
	for h, sum := range s.sum {
		if v := s.squares[h] - sum*sum/k; v > most {
			g, most = h, v
		}
	}
	return g, s.sum[g] / k * s.scale
}

// partition moves the items up to mean in coordinate g to the front, keeps the
// order of either part and returns the number in front.
func (s *splitter) partition(items []int32, g int, mean float64) int {
	low, high := 0, 0
	for _, e := range items {
		if s.vectors[int(e)*s.d+g] <= mean {
			items[low] = e
			low++
		} else {
			s.aside[high] = e
			high++
		}
	}
	copy(items[low:], s.aside[:high])
	return low
}
