//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thresher/gpu/device/emulator"
)

// copyPart launches a copy of 10 elements from src's element from to dst's element to, on s.
func (c *copying) copyPart(th *Thread, s *Stream, from, to int) error {
	return c.f.Launch(th, s, shape(10), View[quad](c.src, from).Arg(), View[quad](c.dst, to).Arg(), I64(10))
}

// copyParts launches n copies, of the parts of src that begin at first, first+10 and so on, to the same places
// of dst in reverse order.
func (c *copying) copyParts(th *Thread, first, n int) error {
	var errs []error
	for i := range n {
		errs = append(errs, c.copyPart(th, c.s, first+10*i, first+10*(n-1-i)))
	}
	return errors.Join(errs...)
}

// graphLaunches is how many graphs the emulator has launched.
func graphLaunches(t *testing.T) int {
	n, ok := emulator.Count("graph_launches")
	if !ok {
		t.Fatal("the emulator counts no graph_launches")
	}
	return int(n)
}

// TestCollect: launches that come for the second time are enqueued as a graph, and from then on; other arguments, fewer
// than minGraph launches and launches that are not collected are not.
func TestCollect(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	var c *copying
	onThread(t, d, func(th *Thread) (err error) {
		if c, err = newCopying(th); err != nil {
			return err
		}
		for i, step := range []struct {
			collect  bool
			first, n int
			graphs   int
		}{
			{false, 0, 8, 0}, {false, 0, 8, 0}, {false, 0, 8, 0},
			{true, 0, 8, 0}, {true, 0, 8, 1}, {true, 0, 8, 1},
			{true, 10, 8, 0}, {true, 0, 8, 1}, {true, 10, 8, 1},
			{true, 0, minGraph - 1, 0}, {true, 0, minGraph - 1, 0}, {true, 0, minGraph - 1, 0},
			{true, 0, minGraph, 0}, {true, 0, minGraph, 1},
			{true, 0, maxGraph + 8, 0}, {true, 0, maxGraph + 8, 2}, // of maxGraph launches and of 8
		} {
			if err := c.dst.Fill(th, c.s, 0, copyLen, quad{}); err != nil {
				return err
			}
			if step.collect && th.d.sequence.stream == nil {
				if err := c.s.Collect(th); err != nil {
					return err
				}
			}
			before := graphLaunches(t)
			if err := c.copyParts(th, step.first, step.n); err != nil {
				return err
			}
			got := make([]quad, copyLen)
			if err := c.dst.Download(th, got, 0); err != nil {
				return err
			}
			want := make([]quad, copyLen)
			for p := range step.n {
				copy(want[step.first+10*(step.n-1-p):][:10], quads(copyLen)[step.first+10*p:])
			}
			if !slices.Equal(got, want) {
				t.Errorf("step %d: the copies differ", i)
			}
			if n := graphLaunches(t) - before; n != step.graphs {
				t.Errorf("step %d: %d graphs launched, want %d", i, n, step.graphs)
			}
		}
		if use := th.Graphs(); use.Kept != 5 || use.Launched != 7 || use.Refused != nil {
			t.Errorf("%+v", use)
		}
		return nil
	})
	onThread(t, d, func(th *Thread) error { // in which nothing is collected
		before := graphLaunches(t)
		for range 3 {
			if err := errors.Join(c.copyParts(th, 0, 8), c.s.Sync(th)); err != nil {
				return err
			}
		}
		if n := graphLaunches(t) - before; n != 0 {
			t.Errorf("%d graphs launched in another function", n)
		}
		return c.free(th)
	})
}

// TestGraphsOfOthers: launches that differ in one figure of the shape, or in the kernel, are no repetition.
func TestGraphsOfOthers(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		m, f, err := copyKernel(th) // loaded again: another kernel for the driver
		if err != nil {
			return err
		}
		plain := Shape{Grid: Dim{2, 2, 2}, Block: Dim{2, 2, 2}}
		shapes := []Shape{plain}
		for i := range 7 {
			other := plain
			*[]*int{&other.Grid.X, &other.Grid.Y, &other.Grid.Z, &other.Block.X, &other.Block.Y, &other.Block.Z, &other.Shared}[i] = 1
			shapes = append(shapes, other)
		}
		launch := func(f *Function, s Shape) (graphs int) {
			errs := []error{c.s.Collect(th)}
			for range minGraph {
				errs = append(errs, f.Launch(th, c.s, s, Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(copyLen)))
			}
			before := graphLaunches(t)
			if err := errors.Join(append(errs, c.s.Sync(th))...); err != nil {
				t.Error(err)
			}
			return graphLaunches(t) - before
		}
		for round, want := range []int{0, 1} {
			for i, s := range shapes {
				if n := launch(c.f, s); n != want {
					t.Errorf("round %d, shape %d: %d graphs launched", round, i, n)
				}
			}
			if n := launch(f, plain); n != want {
				t.Errorf("round %d, another kernel: %d graphs launched", round, n)
			}
		}
		return errors.Join(m.Unload(th), c.free(th))
	})
}

// TestCollectKeepsOrder runs random work on two streams, a part of it collected, and compares the memory with the host's
// after each download: whatever follows launches finds their results.
func TestCollectKeepsOrder(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	rng := rand.New(rand.NewPCG(5, 1))
	ended, cancel := context.WithCancel(t.Context())
	defer cancel()
	const parts = 3 // of 10 elements, so that sequences come again
	src, dst := quads(copyLen), make([]quad, copyLen)
	var c *copying
	var other *Stream
	var done *Event
	var up, down *Pinned[quad] // 10 elements for each piece of work of a round
	onThread(t, d, func(th *Thread) (err error) {
		if c, err = newCopying(th); err != nil {
			return err
		}
		var errs [4]error
		other, errs[0] = th.NewStream("other")
		done, errs[1] = th.NewEvent("done")
		up, errs[2] = AllocPinned[quad](th, "up", 50)
		down, errs[3] = AllocPinned[quad](th, "down", 50)
		return errors.Join(errors.Join(errs[:]...), c.dst.Upload(th, 0, dst))
	})
	compare := func(th *Thread, what string, b *Buffer[quad], want []quad) error {
		got := make([]quad, 10*parts)
		if err := b.Download(th, got, 0); err != nil {
			return err
		}
		if !slices.Equal(got, want[:10*parts]) {
			return fmt.Errorf("%s differs", what)
		}
		return nil
	}
	launched := graphLaunches(t)
	for round := range 400 {
		onThread(t, d, func(th *Thread) error {
			errs := []error{c.s.Sync(th)} // what the round before has enqueued may use up and down
			if rng.IntN(4) > 0 {
				errs = append(errs, c.s.Collect(th))
			}
			var downloaded [5][]quad
			for i := range 1 + rng.IntN(5) {
				part, to := 10*rng.IntN(parts), 10*rng.IntN(parts)
				switch rng.IntN(14) {
				default: // launches
					for p := range 2 * rng.IntN(4) {
						from := (part + 10*p) % (10 * parts)
						errs = append(errs, c.copyPart(th, c.s, from, to))
						copy(dst[to:to+10], src[from:])
					}
				case 0:
					v := quad{uint32(round)}
					v = quad{v[0], v[0], v[0], v[0]}
					errs = append(errs, c.dst.Fill(th, c.s, to, 10, v))
					copy(dst[to:], slices.Repeat([]quad{v}, 10))
				case 1:
					errs = append(errs, c.src.CopyAsync(th, c.s, part, c.dst, to, 10))
					copy(src[part:part+10], dst[to:])
				case 2:
					v := slices.Repeat([]quad{{uint32(round), 1, 2, 3}}, 10)
					errs = append(errs, c.src.Upload(th, part, v))
					copy(src[part:], v)
				case 3:
					v := up.Slice()[10*i : 10*i+10]
					copy(v, slices.Repeat([]quad{{uint32(round), uint32(i)}}, 10))
					errs = append(errs, c.src.UploadAsync(th, c.s, part, up, 10*i, 10))
					copy(src[part:], v)
				case 4:
					errs = append(errs, c.dst.DownloadAsync(th, c.s, down, 10*i, to, 10))
					downloaded[i] = slices.Clone(dst[to : to+10])
				case 5: // the other stream's launch after this one's, and the reverse
					errs = append(errs, done.Record(th, c.s), other.After(th, done), c.copyPart(th, other, part, to), done.Record(th, other), c.s.After(th, done))
					if copy(dst[to:to+10], src[part:]); rng.IntN(2) == 0 {
						errs = append(errs, other.Sync(th))
					}
				case 6, 7, 8: // into page-locked memory, which the host reads after it has waited
					errs = append(errs, c.f.Launch(th, c.s, shape(10), View[quad](c.src, part).Arg(), View[quad](down, 10*i).Arg(), I64(10)))
					switch rng.IntN(3) {
					case 0:
						errs = append(errs, c.s.Sync(th))
					case 1:
						errs = append(errs, c.s.Wait(ended, th))
					case 2:
						errs = append(errs, th.Synchronize())
					}
					if !slices.Equal(down.Slice()[10*i:10*i+10], src[part:part+10]) {
						errs = append(errs, errors.New("what a launch wrote for the host differs"))
					}
				}
			}
			if rng.IntN(2) == 0 { // otherwise the end of the function enqueues
				errs = append(errs, compare(th, "dst", c.dst, dst), compare(th, "src", c.src, src))
			}
			for i, want := range downloaded {
				if want == nil {
					continue
				}
				errs = append(errs, c.s.Sync(th))
				if !slices.Equal(down.Slice()[10*i:10*i+10], want) {
					errs = append(errs, fmt.Errorf("download %d differs", i))
				}
			}
			if err := errors.Join(errs...); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			return nil
		})
	}
	onThread(t, d, func(th *Thread) error {
		return errors.Join(compare(th, "dst", c.dst, dst), compare(th, "src", c.src, src), up.Free(th), down.Free(th), done.Close(th), other.Close(th), c.free(th))
	})
	if n := graphLaunches(t) - launched; n < 20 {
		t.Errorf("%d graphs launched in 400 rounds", n)
	}
}

// TestCollectBeforeEvent: an event comes after the launches that were collected before it.
func TestCollectBeforeEvent(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		other, err1 := th.NewStream("other")
		done, err2 := th.NewEvent("done")
		got := make([]quad, 10)
		err = errors.Join(err1, err2, c.s.Collect(th), c.copyPart(th, c.s, 0, 0), done.Record(th, c.s),
			other.After(th, done), c.copyPart(th, other, 10, 0), other.Sync(th), c.dst.Download(th, got, 0))
		if !slices.Equal(got, quads(20)[10:]) {
			t.Errorf("got %v, want what the other stream copied last", got)
		}
		return errors.Join(err, done.Close(th), other.Close(th), c.free(th))
	})
}

// TestGraphsKept: a device keeps graphsKept graphs, those launched last, and none once a module is unloaded, whose kernels they
// may refer to.
func TestGraphsKept(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		kept := func(want int) {
			t.Helper()
			n, _ := emulator.Count("graphs")
			if use := th.Graphs(); use.Kept != want || int(n) != want || use.Refused != nil {
				t.Errorf("%+v, the driver has %d graphs, want %d", use, n, want)
			}
		}
		// twice enqueues n launches from first on, for which there is a graph then.
		twice := func(first, n int) error {
			var errs []error
			for range 2 {
				errs = append(errs, c.s.Collect(th), c.copyParts(th, first, n), c.s.Sync(th))
			}
			return errors.Join(errs...)
		}
		for i := range graphsKept + 5 {
			errs := []error{twice(i, 5)}
			if i > 0 && i%20 == 0 { // the first is launched again, and so kept
				errs = append(errs, twice(0, 5))
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
		}
		kept(graphsKept)
		for _, x := range []struct{ first, graphs int }{{0, 1}, {1, 0}, {graphsKept, 1}} {
			before := graphLaunches(t)
			if err := errors.Join(c.copyParts(th, x.first, 5), c.s.Sync(th)); err != nil {
				return err
			}
			if n := graphLaunches(t) - before; n != x.graphs {
				t.Errorf("launches from %d on are %d graphs, want %d", x.first, n, x.graphs)
			}
		}
		// The launches that wait come for the second time. They are enqueued first.
		if err := errors.Join(c.copyParts(th, 0, 6), c.s.Sync(th), c.copyParts(th, 0, 6), c.m.Unload(th)); err != nil {
			return err
		}
		kept(0)
		return c.free(th)
	})
}

// TestGraphRefused has each call that makes or launches a graph fail: launches are then enqueued one by one, and the reason is
// kept. A code that ends the device is returned.
func TestGraphRefused(t *testing.T) {
	needEmulator(t)
	for _, call := range []string{"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiate", "cuGraphDestroy", "cuGraphLaunch", "cuGraphExecDestroy"} {
		for _, code := range []int{codeOutOfMemory, 719} {
			what := fmt.Sprintf("%s fails with %d", call, code)
			d, err := Open(0, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var use GraphUse
			err = d.Do(context.Background(), func(th *Thread) error {
				c, err := newCopying(th)
				if err != nil {
					return err
				}
				t.Setenv(failVariable, fmt.Sprintf("%s:1:%d", call, code))
				defer t.Setenv(failVariable, "")
				for i := range 3 {
					errs := []error{c.dst.Fill(th, c.s, 0, copyLen, quad{}), c.s.Collect(th), c.copyParts(th, 0, 6)}
					got := make([]quad, 60)
					errs = append(errs, c.dst.Download(th, got, 0))
					if err := errors.Join(errs...); err != nil {
						return errors.Join(err, c.free(th))
					}
					for p := range 6 {
						if !slices.Equal(got[10*(5-p):][:10], quads(copyLen)[10*p:][:10]) {
							t.Errorf("%s: copy %d of round %d differs", what, p, i)
						}
					}
				}
				use = th.Graphs()
				return c.free(th)
			})
			closed := d.Close()
			said := err
			if said == nil {
				said = use.Refused
			}
			if said == nil || !strings.Contains(said.Error(), call+"(") || !strings.Contains(said.Error(), fmt.Sprintf("(%d)", code)) {
				t.Errorf("%s: %v", what, said)
			}
			if lost := code == 719; errors.Is(said, ErrLost) != lost || (err != nil) != (lost || call == "cuGraphExecDestroy") {
				t.Errorf("%s: %v, refused %v", what, err, use.Refused)
			}
			if closed != nil {
				t.Errorf("%s: %v", what, closed)
			}
			if n, _ := emulator.Count("contexts"); n != 0 {
				t.Errorf("%s: %d contexts are left", what, n)
			}
		}
	}
}

// TestCollectFails: if launches that were collected cannot be enqueued, every call that they precede returns that error until the
// function ends, Sync waits nevertheless, and Do returns it even if the function was merely interrupted. The next function begins
// anew.
func TestCollectFails(t *testing.T) {
	needEmulator(t)
	d := openTest(t, Options{})
	var c *copying
	onThread(t, d, func(th *Thread) (err error) {
		c, err = newCopying(th)
		return err
	})
	for name, then := range map[string]func(th *Thread) error{
		"nothing":    func(*Thread) error { return nil },
		"ended":      func(*Thread) error { return context.Canceled },
		"swallowed":  func(th *Thread) error { _ = c.s.Sync(th); return c.copyParts(th, 0, 2) },
		"fill":       func(th *Thread) error { return c.dst.Fill(th, c.s, 0, 1, quad{}) },
		"later wait": func(th *Thread) error { _ = c.dst.Fill(th, c.s, 0, 1, quad{}); return c.s.Sync(th) },
	} {
		t.Setenv(failVariable, "cuLaunchKernel:2:701")
		err := d.Do(t.Context(), func(th *Thread) error {
			return errors.Join(c.s.Collect(th), c.copyParts(th, 20, 3), then(th))
		})
		t.Setenv(failVariable, "")
		if err == nil || !strings.Contains(err.Error(), "cuLaunchKernel(") || errors.Is(err, context.Canceled) || strings.Count(err.Error(), "cuLaunchKernel(") != 1 {
			t.Errorf("%s: %v", name, err)
		}
		onThread(t, d, func(th *Thread) error { return errors.Join(c.s.Collect(th), c.copyParts(th, 0, 2), c.s.Sync(th)) })
	}
	waits, _ := emulator.Count("waits")
	t.Setenv(failVariable, "cuLaunchKernel:1:701")
	_ = d.Do(t.Context(), func(th *Thread) error { return errors.Join(c.s.Collect(th), c.copyParts(th, 0, 2), c.s.Sync(th)) })
	t.Setenv(failVariable, "")
	if after, _ := emulator.Count("waits"); after != waits+1 {
		t.Errorf("%d waits after a launch that failed", after-waits)
	}
	onThread(t, d, func(th *Thread) error { return c.free(th) })
}
