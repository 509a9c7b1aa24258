//go:build cuda && cgo

package device

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The driver allocates device memory in multiples of granule bytes; so does the budget.
const granule = 512

// ledger keeps a device's byte budget and its live allocations. Its figures may be read
// concurrently; entries change within Do only.
type ledger struct {
	mu     sync.Mutex
	budget int64
	used   int64 // device memory
	pinned int64 // page-locked host memory, outside the budget
	live   map[*allocation]struct{}
}

// allocation is memory or an object of the driver that must be released.
type allocation struct {
	kind    string // "device memory", "stream", ..
	purpose string // its owner's name for it
	bytes   int64  // counted against the budget
	host    int64  // page-locked bytes
	free    func(*Thread) error
}

// Usage is the state of a Device's allocations.
type Usage struct {
	Budget int64 // bytes of device memory that may be allocated
	Used   int64 // bytes of device memory allocated, rounded up to steps of 512
	Pinned int64 // bytes of page-locked host memory
	Live   int   // buffers, streams, events and modules not freed yet
}

// Usage returns the present state of allocations.
func (d *Device) Usage() Usage {
	l := &d.memory
	l.mu.Lock()
	defer l.mu.Unlock()
	return Usage{Budget: l.budget, Used: l.used, Pinned: l.pinned, Live: len(l.live)}
}

// setBudget sets the budget to want bytes or, if that is 0, to what is free less a reserve for the
// driver (modules, local memory, fragmentation) of a 64th of the device and at least 64 MiB. If nothing is
// left the error wraps ErrMemory.
func (l *ledger) setBudget(want, free, total int64) error {
	l.live = make(map[*allocation]struct{})
	switch {
	case want < 0:
		return fmt.Errorf("a memory budget of %d bytes", want)
	case want > free:
		return fmt.Errorf("%w: a budget of %s was asked for, %s of %s are free", ErrMemory, FormatBytes(want), FormatBytes(free), FormatBytes(total))
	case want > 0:
		l.budget = want
	default:
		reserve := max(total/64, 64<<20)
		if free <= reserve {
			return fmt.Errorf("%w: %s of %s are free, and %s are the driver's", ErrMemory, FormatBytes(free), FormatBytes(total), FormatBytes(reserve))
		}
		l.budget = free - reserve
	}
	return nil
}

// admit returns an error unless bytes more fit the budget; it states the request, its purpose, and
// the purposes that hold the rest.
func (l *ledger) admit(bytes int64, purpose string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes <= l.budget-l.used {
		return nil
	}
	return fmt.Errorf("gpu: %w: %s", ErrMemory, l.refusal(bytes, purpose))
}

// refusal describes a request and the memory in use. l.mu must be held.
func (l *ledger) refusal(bytes int64, purpose string) string {
	return fmt.Sprintf("%s asked for %s, %s of a budget of %s in use%s",
		FormatBytes(bytes), purpose, FormatBytes(l.used), FormatBytes(l.budget), l.holders())
}

// holders lists the purposes that hold most, as " (panels 4 GiB, rows 2 GiB)". l.mu must be held.
func (l *ledger) holders() string {
	sums := make(map[string]int64)
	for e := range l.live {
		if e.bytes > 0 {
			sums[e.purpose] += e.bytes
		}
	}
	if len(sums) == 0 {
		return ""
	}
	names := make([]string, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	const most = 6
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		parts = append(parts, name+" "+FormatBytes(sums[name]))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func (l *ledger) add(e *allocation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[e] = struct{}{}
	l.used += e.bytes
	l.pinned += e.host
}

func (l *ledger) remove(e *allocation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.live[e]; !ok {
		return
	}
	delete(l.live, e)
	l.used -= e.bytes
	l.pinned -= e.host
}

// freeAll releases all live allocations; the error lists them.
func (l *ledger) freeAll(t *Thread) error {
	l.mu.Lock()
	left := make([]*allocation, 0, len(l.live))
	for e := range l.live {
		left = append(left, e)
	}
	l.mu.Unlock()
	if len(left) == 0 || t.d.Lost() != nil {
		return nil
	}
	counts := make(map[string]int)
	for _, e := range left {
		counts[e.kind+" "+e.purpose]++
	}
	var names []string
	for name, n := range counts {
		if n > 1 {
			name = fmt.Sprintf("%s (%d times)", name, n)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	errs := []error{fmt.Errorf("gpu: close device %d: not freed before: %s", t.d.info.Index, strings.Join(names, ", "))}
	for _, e := range left {
		errs = append(errs, e.free(t))
	}
	return errors.Join(errs...)
}
