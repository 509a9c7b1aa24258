package collection

import (
	"fmt"
	"runtime"

	"thresher/dataset"
)

// sizer is a memory that only adds up the sizes of sections.
type sizer int64

func (m *sizer) bytes(_ string, n int64) ([]byte, error) {
	*m += sizer(n)
	return nil, nil
}

// Size returns a tight upper bound of Collection.Bytes for a collection of n rows of dim
// columns made by Build or Create; o may be nil. It does not check that such a collection is
// allowed.
func Size(n int64, dim int, o *Options) int64 {
	c := newShape(int(min(n, MaxAtoms)), min(dim, MaxDim), o)
	coded := c.D > 0
	if coded {
		c.transform = &transform{dim: c.Dim, D: c.D, r: c.R, rounds: rotationRounds(c.D)}
	}
	if c.Metric.Differences() && c.Origin == nil { // which the rows may turn out to need
		c.Origin = make([]float64, 0)
	}
	var sections sizer
	var elem dataset.Elem
	if o != nil {
		elem = o.Elem
	}
	c.layout(&sections, elem, false, fileVersion) // a sizer returns no error
	size := int64(sections) + fileOverhead(int64(sections))
	if coded {
		size += 8*int64(c.PanelCount()) + c.transform.bytes() // NormCaps and NormFloors
	}
	if o != nil && o.KeepRotated {
		size += 4 * int64(c.N) * int64(c.D)
	}
	return size
}

// MemoryError says that a build needs more memory than it may take.
type MemoryError struct {
	Rows, Dim    int
	Need, Memory int64 // bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("building a file of %d x %d takes %d MB of memory; %d MB are available", e.Rows, e.Dim, (e.Need+999_999)/1_000_000, e.Memory/1_000_000)
}

// memory is Options.Memory; o may be nil.
func (o *Options) memory() int64 {
	if o == nil {
		return 0
	}
	return o.Memory
}

// segmentFor returns the segments in which the file of a collection is built, 0 if it fits the memory, or a
// MemoryError.
func (o *Options) segmentFor(c *Collection, elem dataset.Elem) (int64, error) {
	if o.memory() == 0 {
		return 0, nil
	}
	own := *o
	own.Elem = elem
	if need := BuildMemory(int64(c.N), c.Dim, &own); need > o.Memory {
		return 0, &MemoryError{c.N, c.Dim, need, o.Memory}
	}
	if Size(int64(c.N), c.Dim, &own) <= o.Memory {
		return 0, nil
	}
	return segmentOf(o.Memory), nil
}

// heldFor returns how many bytes of codes a build of a file in segments holds in memory: three quarters of what is left of
// Options.Memory, for what else a program allocates is not known.
func (o *Options) heldFor(c *Collection, elem dataset.Elem) int64 {
	if o == nil || !o.HoldCodes {
		return 0
	}
	own := *o
	own.Elem = elem
	return max(0, o.Memory-BuildMemory(int64(c.N), c.Dim, &own)) / 4 * 3
}

// BuildMemory returns the least memory in which a file of n rows of dim columns can be built: what is kept of each
// row, a sample of them, and a few segments. o, as of Size, also says the number of threads.
func BuildMemory(n int64, dim int, o *Options) int64 {
	threads := runtime.GOMAXPROCS(0)
	var elem dataset.Elem
	if o != nil {
		elem = o.Elem
		if o.Threads > 0 {
			threads = o.Threads
		}
	}
	const ofRow = 8 + 2 + 4 + 8 // norm, step or bucket, order and terms
	row := int64(dim) * int64(max(4, elem.Size()))
	sample := 3 * row * min(headSample, max(4*headTerms, n/8))
	block := max(row, 4*streamFloats)
	return n*ofRow + min(sample, 3*4*headSampleMax) + 2*block + int64(threads)*(64*row+4<<20) + 4*max(minSegment, PanelAtoms*row)
}
