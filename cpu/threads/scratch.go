package threads

import "thresher/cpu/topk"

// Scratch is the memory of one goroutine. Slices grow as needed and are reused; their
// contents are undefined between uses.
type Scratch struct {
	unchecked int // pairs computed since the last check of the context (Spend)

	Scores []float64
	IDs    []uint32
	Sorter topk.Sorter
}
