//go:build cuda && cgo

package gpu

import (
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/gpu/device"
)

// preparer runs single kernels on a device, for the tests of kernels/*.cu.
type preparer struct {
	*testing.T
	th *device.Thread
	q  *queue // waits for every kernel
}

// onKernels calls f on a device's thread with modules loaded, and fails the test if f leaves
// anything on the device.
func onKernels(t *testing.T, f func(b *preparer), modules ...string) {
	t.Helper()
	onThread(t, 0, func(th *device.Thread) error {
		s, err := th.NewStream("test")
		if err != nil {
			return err
		}
		m := &machine{log: slog.New(slog.DiscardHandler), functions: map[string]*device.Function{}, onLaunch: func(q *queue, _ string) error { return q.s.Sync(q.t) }}
		for _, name := range modules {
			if err := m.loadModule(th, name); err != nil {
				return err
			}
		}
		b := &preparer{T: t, th: th, q: &queue{t: th, s: s, machine: m}}
		f(b)
		errs := []error{b.q.err, s.Close(th)}
		for _, module := range m.modules {
			errs = append(errs, module.Unload(th))
		}
		return errors.Join(errs...)
	})
}

// guard is the number of elements behind a buffer's own that must not change: memory is allocated
// in pages, so a kernel's write there would go undetected.
const guard = 64

// guards returns a buffer's guards, with bytes that occur in no result.
func guards[T any]() []T {
	g := make([]T, guard)
	for i := range bytesOfSlice(g) {
		bytesOfSlice(g)[i] = 0xa5
	}
	return g
}

// room allocates n elements with guards behind them; for n = 0 it is a null pointer to kernels.
func room[T any](b *preparer, n int) *device.Buffer[T] {
	b.Helper()
	if n > 0 {
		n += guard
	}
	buf, err := device.Alloc[T](b.th, "test", n)
	if err == nil && n > 0 {
		err = buf.Upload(b.th, n-guard, guards[T]())
	}
	if err != nil {
		b.Fatal(err)
	}
	return buf
}

// to uploads x; from frees the buffer.
func to[T any](b *preparer, x []T) *device.Buffer[T] {
	b.Helper()
	buf := room[T](b, len(x))
	if err := buf.Upload(b.th, 0, x); err != nil {
		b.Fatal(err)
	}
	return buf
}

// from downloads and frees buf, and checks its guards.
func from[T any](b *preparer, buf *device.Buffer[T]) []T {
	b.Helper()
	if b.q.err != nil {
		b.Fatal(b.q.err)
	}
	x := make([]T, buf.Len())
	if err := buf.Download(b.th, x, 0); err != nil {
		b.Fatal(err)
	}
	if err := buf.Free(b.th); err != nil {
		b.Fatal(err)
	}
	if len(x) == 0 {
		return x
	}
	n := len(x) - guard
	if !slices.Equal(bytesOfSlice(x[n:]), bytesOfSlice(guards[T]())) {
		b.Errorf("written behind the %d elements of a buffer", n)
	}
	return x[:n:n]
}

func ceil(n, by int) int { return (n + by - 1) / by }

// hiding is for each query the atoms that it may not return, ascending.
type hiding [][]uint32

// drawHiding draws lists of atoms below n of lengths around those at which a search ends early: none,
// few, many and all atoms, with and without the first and the last.
func drawHiding(r *rand.Rand, m, n int) hiding {
	h := make(hiding, m)
	for j := range h {
		share := []float64{0, 0, 1. / float64(n), 3. / float64(n), .3, 1}[j%6]
		for i := range n {
			if r.Float64() < share || share > 0 && (j%4 == 2 && i == n-1 || j%4 == 3 && i == 0) {
				h[j] = append(h[j], uint32(i))
			}
		}
	}
	return h
}

func (h hiding) has(j, i int) bool {
	if h == nil {
		return false
	}
	_, found := slices.BinarySearch(h[j], uint32(i))
	return found
}

// upload uploads the lists one after another and enters them in the states.
func (h hiding) upload(b *preparer, states []query) *device.Buffer[uint32] {
	b.Helper()
	var all []uint32
	for j := range h {
		all = append(append(all, h[j]...), math.MaxUint32)
	}
	d := to(b, all)
	at := uint64(0)
	for j := range h {
		states[j].excluded, states[j].excludes = d.Address()+at, uint32(len(h[j]))
		at += 4 * uint64(len(h[j])+1)
	}
	return d
}
