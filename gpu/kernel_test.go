//go:build cuda && cgo

package gpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/device"
	"thresher/kernels"
)

// preparer runs single kernels on a device, for the tests of kernels/*.cu.
type preparer struct {
	*testing.T
	th *device.Thread
	s  *device.Stream
	m  []*device.Module
}

// onKernels calls f on a device's thread with modules loaded, and fails the test if f leaves
// anything on the device.
func onKernels(t *testing.T, f func(b *preparer), modules ...string) {
	t.Helper()
	onThread(t, 0, func(th *device.Thread) error {
		b := &preparer{T: t, th: th}
		var err error
		if b.s, err = th.NewStream("test"); err != nil {
			return err
		}
		for _, name := range modules {
			text, err := kernels.PTX(name)
			if err != nil {
				return err
			}
			m, err := th.Load(name, text)
			if err != nil {
				return err
			}
			b.m = append(b.m, m)
		}
		f(b)
		for _, m := range b.m {
			if err := m.Unload(th); err != nil {
				return err
			}
		}
		return b.s.Close(th)
	})
}

// launch runs a kernel of the modules and waits for it.
func (b *preparer) launch(name string, shape device.Shape, args ...device.Arg) {
	b.Helper()
	var f *device.Function
	var err error
	for _, m := range b.m {
		if f, err = m.Function(b.th, name); err == nil {
			break
		}
	}
	if err == nil {
		err = f.Launch(b.th, b.s, shape, args...)
	}
	if err == nil {
		err = b.s.Sync(b.th)
	}
	if err != nil {
		b.Fatal(err)
	}
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
