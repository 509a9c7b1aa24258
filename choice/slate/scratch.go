package slate

import (
	"fmt"
	"math"
)

// ScratchError means that choosing a list, or those of many users, would need more memory
// than Options.Memory. Nothing was allocated.
type ScratchError struct {
	Need, Memory  int64 // bytes
	Items, Length int   // usable items, and length of the longest list
}

func (e *ScratchError) Error() string {
	return fmt.Sprintf("slate: to choose up to %d of %d items takes %d bytes of memory, and %d may be taken", e.Length, e.Items, e.Need, e.Memory)
}

// Upper bounds of the bytes of scratch.
const (
	entryBytes = 20            // an item of a step: number, mean, width
	stepBytes  = 160           // a step
	pickBytes  = 32            // a Pick
	frontBytes = 3 * pickBytes // a position of a node's list, in both fronts and while they grow
)

// Scratch returns an upper bound of the bytes that a Planner allocates, and keeps for
// later calls, to choose a list by an algorithm.
func (c *Constraint) Scratch(a Algorithm) int64 {
	n, m := float64(c.available), float64(c.length)
	entries := 2 * n // of one step, and of the list being extended
	if a == "" || a == AFSM || a == MCSGreedy {
		entries += m*n - m*(m-1)/2
	}
	const classes = 1.125 // size classes of Go's allocator, which round up by an eighth at most
	total := classes*entryBytes*entries + (stepBytes+3*pickBytes)*m + 16*float64(len(c.usable))
	return bytesOf(total)
}

// CheckScratch returns a *ScratchError if Scratch exceeds memory; 0 is no limit.
func (c *Constraint) CheckScratch(a Algorithm, memory int64) error {
	return c.fits(c.Scratch(a), memory)
}

// bytesOf converts to int64, saturating.
func bytesOf(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Ceil(x))
}

// fits returns a *ScratchError if need exceeds memory; 0 is no limit.
func (c *Constraint) fits(need, memory int64) error {
	if memory <= 0 || need <= memory {
		return nil
	}
	return &ScratchError{need, memory, c.available, c.length}
}

// share divides Options.Memory among workers. It returns how many of the wanted workers
// there may be, and how many users each may plan together. If some users have bounds and
// some do not, the latter are planned one by one with half of the memory.
func (p *plan) share(wanted int) (workers, users int, err error) {
	memory := p.options.Memory
	if p.single {
		err := p.c.CheckScratch(p.options.Algorithm, memory)
		if err != nil || memory <= 0 {
			return wanted, blockUsers, err
		}
		return int(min(int64(wanted), memory/p.c.Scratch(p.options.Algorithm))), blockUsers, nil
	}
	if memory <= 0 {
		return wanted, blockUsers, nil
	}
	fixed, each := p.blockBytes()
	if err := p.c.fits(bytesOf(2*(fixed+each)), memory); err != nil {
		return 0, 0, err
	}
	half := float64(memory) / 2
	workers = int(min(float64(wanted), half/(fixed+each)))
	return workers, int(min(blockUsers, (half/float64(workers)-fixed)/each)), nil
}

// blockBytes returns upper bounds of the bytes of a block: fixed, and for each of its
// users. A user has at most one node for each threshold.
func (p *plan) blockBytes() (fixed, each float64) {
	n, d, cells, m := float64(len(p.c.usable)), float64(p.many.cells.d), float64(p.many.cells.size()), float64(p.c.length)
	thresholds := float64(len(p.grid) + 1)
	fixed = n + 24*cells + 8*d*(d+4) + 64*thresholds + 8*m
	each = 4*cells + d*(24*d+96) + thresholds*(frontBytes*m+frontBytes) + 2*pickBytes*m + 512
	return fixed, each
}
