package data

import (
	"context"
	"sync"
)

// Rows computes all coordinates of atoms on threads goroutines and returns the atoms one after the other, n*d values. It
// returns the context's error if that ends first.
func Rows(ctx context.Context, atoms Atoms, threads int) ([]float32, error) {
	n, d := atoms.Len(), atoms.Dim()
	rows, all := make([]float32, n*d), make([]int, n)
	for i := range all {
		all[i] = i
	}
	const block = 64 // coordinates that are written side by side
	blocks := (d + block - 1) / block
	var running sync.WaitGroup
	for t := range threads {
		running.Go(func() {
			columns := make([]float64, block*n)
			for b := blocks * t / threads; b < blocks*(t+1)/threads && ctx.Err() == nil; b++ {
				from, to := b*block, min((b+1)*block, d)
				for j := from; j < to; j++ {
					atoms.Pull(j, all, columns[(j-from)*n:(j-from+1)*n])
				}
				for i := range n {
					for j := from; j < to; j++ {
						rows[i*d+j] = float32(columns[(j-from)*n+i])
					}
				}
			}
		})
	}
	running.Wait()
	return rows, ctx.Err()
}

// matrix is atoms in memory, one after the other.
type matrix struct {
	n, d int
	rows []float32
}

func (m *matrix) Len() int { return m.n }
func (m *matrix) Dim() int { return m.d }
func (m *matrix) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		dst[p] = float64(m.rows[i*m.d+j])
	}
}
