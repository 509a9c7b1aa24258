package data

import (
	"context"
	"math"
	"sync"
)

// Stored is atoms in memory, coordinate by coordinate: the atoms' values of one coordinate lie side by side, which is the
// order in which elimination reads them. It takes 4 bytes a value.
type Stored struct {
	n, d   int
	values []float32 // [j*n + i]
}

func (s *Stored) Len() int { return s.n }
func (s *Stored) Dim() int { return s.d }

// Pull copies coordinate j of the listed atoms.
func (s *Stored) Pull(j int, arms []int, dst []float64) {
	column := s.values[j*s.n : (j+1)*s.n]
	for p, i := range arms {
		dst[p] = float64(column[i])
	}
}

// Store computes all coordinates on threads goroutines. It returns the context's error if that ends first.
func Store(ctx context.Context, atoms Atoms, threads int) (*Stored, error) {
	n, d := atoms.Len(), atoms.Dim()
	s := &Stored{n: n, d: d, values: make([]float32, n*d)}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	var running sync.WaitGroup
	for t := range threads {
		running.Go(func() {
			column := make([]float64, n)
			for j := d * t / threads; j < d*(t+1)/threads; j++ {
				if j%1024 == 0 && ctx.Err() != nil {
					return
				}
				atoms.Pull(j, all, column)
				for i, v := range column {
					s.values[j*n+i] = float32(v)
				}
			}
		})
	}
	running.Wait()
	return s, ctx.Err()
}

// Rows returns the atoms one after the other, n*d values.
func (s *Stored) Rows() []float32 {
	rows := make([]float32, len(s.values))
	const block = 64 // coordinates, so that both sides stay in cache
	for from := 0; from < s.d; from += block {
		for i := range s.n {
			for j := from; j < min(from+block, s.d); j++ {
				rows[i*s.d+j] = s.values[j*s.n+i]
			}
		}
	}
	return rows
}

// Scores returns the inner products of all atoms and a query in float64.
func (s *Stored) Scores(query []float32) []float64 {
	sums := make([]float64, s.n)
	for j, q := range query {
		for i, v := range s.values[j*s.n : (j+1)*s.n] {
			sums[i] += float64(q) * float64(v)
		}
	}
	return sums
}

// Range returns the least and the greatest product of a coordinate of any atom and the query's.
func (s *Stored) Range(query []float32) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for j, q := range query {
		for _, v := range s.values[j*s.n : (j+1)*s.n] {
			x := float64(q) * float64(v)
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi
}
