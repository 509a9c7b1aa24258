package cpu

import (
	"thresher/collection"
	"thresher/cpu/simd"
)

// scratch is one goroutine's memory.
type scratch struct {
	query []float32
	scan  simd.ScanScratch
	out   [64]float32
}

func newScratch(c *collection.Collection) *scratch {
	s := &scratch{}
	if c.Coded() {
		s.query = make([]float32, c.Dim+c.D)
	}
	return s
}
