package slate

import "math"

// cellSize is the most items of a cell.
const cellSize = 16

// deepest is the most splits by value above a cell. Deeper splits halve, which bounds the
// cost for vectors of many magnitudes.
const deepest = 64

// cells are groups of items of a Separable objective with similar vectors. Each has an
// envelope, the coordinate-wise maximum of its vectors. A function that is monotone in
// every coordinate, like the bounds of a ceiling, is at the envelope at least what it is
// at any item of the cell.
//
// They take n(8d+4) + cells(4d+4) bytes, with n/16 to n cells, mostly n/12.
type cells struct {
	d     int
	items []int32 // by slot: cell r has those at slots start[r]..start[r+1]
	start []int32
	rows  []float64 // the vectors, by slot
	// scale is the largest entry of all vectors, or 1 if that is 0; envelopes, by cell, are
	// divided by it.
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

// size returns the number of cells.
func (c *cells) size() int { return len(c.start) - 1 }

// splitter splits sets of items recursively into cells.
type splitter struct {
	d            int
	vectors      []float64
	scale        float64
	aside        []int32
	sum, squares []float64 // by coordinate
}

// split orders items and appends the ends of their cells. It splits at the mean of the
// coordinate of largest variance, which separates items that have a topic from those that
// do not; a median would split the noise of a rare topic.
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

// widest returns the coordinate of largest variance and its mean.
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

// partition moves the items with coordinate g up to mean to the front, keeps the order
// within both parts and returns the number in front.
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
