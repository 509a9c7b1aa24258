//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
)

type point struct {
	x, y float32
	id   [2]int32
}

func TestCopies(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		b, err := Alloc[point](th, "points", 5)
		if err != nil {
			return err
		}
		src := []point{{1, 2, [2]int32{3, 4}}, {5, 6, [2]int32{7, 8}}, {9, 10, [2]int32{11, 12}}}
		if err := b.Upload(th, 2, src); err != nil {
			return err
		}
		if err := b.Upload(th, 0, src[:2]); err != nil {
			return err
		}
		got := make([]point, 4)
		if err := b.Download(th, got, 1); err != nil {
			return err
		}
		if want := []point{src[1], src[0], src[1], src[2]}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		for _, c := range []struct {
			at, n int
			want  string
		}{
			{-1, 1, "elements [-1, 0) of points, which has 5"},
			{3, 3, "elements [3, 6) of points, which has 5"},
			{6, 0, "elements [6, 6) of points, which has 5"},
			{math.MaxInt, 1, "of points, which has 5"},
		} {
			refused(t, b.Upload(th, c.at, make([]point, c.n)), nil, c.want)
			refused(t, b.Download(th, make([]point, c.n), c.at), nil, c.want)
		}
		if err := errors.Join(b.Upload(th, 5, nil), b.Download(th, nil, 0)); err != nil {
			t.Error("empty copies: ", err)
		}
		if err := b.Free(th); err != nil {
			return err
		}
		refused(t, b.Upload(th, 0, src), nil, "points was used after it was freed")
		refused(t, new(Buffer[point]).Upload(th, 0, src), nil, "never allocated")
		refused(t, (*Buffer[point])(nil).Upload(th, 0, src), nil, "never allocated")
		return errors.Join(b.Free(th), new(Buffer[point]).Free(th))
	})
}

func TestAllocRefusals(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		_, err := Alloc[float32](th, "rows", -1)
		refused(t, err, nil, "-1 elements of 4 bytes asked for rows")
		_, err = Alloc[float32](th, "rows", math.MaxInt)
		refused(t, err, nil, "elements of 4 bytes asked for rows")
		_, err = AllocPinned[float32](th, "rows", -1)
		refused(t, err, nil, "-1 pinned elements of 4 bytes asked for rows")
		_, err = Alloc[*int](th, "pointers", 1)
		refused(t, err, nil, "pointers: device memory cannot hold a *int")
		_, err = Alloc[struct{ s []int32 }](th, "slices", 1)
		refused(t, err, nil, "cannot hold a []int32")
		_, err = Alloc[[2]bool](th, "bools", 1)
		refused(t, err, nil, "cannot hold a bool")
		_, err = Alloc[struct{}](th, "nothing", 1)
		refused(t, err, nil, "cannot hold a struct {}")
		_, err = AllocPinned[int](th, "ints", 1) // another element size elsewhere
		refused(t, err, nil, "cannot hold a int")
		return nil
	})
	if u := d.Usage(); u.Live != 0 || u.Used != 0 || u.Pinned != 0 {
		t.Errorf("%+v", u)
	}
}

func TestGrow(t *testing.T) {
	d := openTest(t, Options{Memory: 64 << 10})
	onThread(t, d, func(th *Thread) error {
		b, err := Alloc[uint32](th, "scratch", 0)
		if err != nil {
			return err
		}
		for _, c := range []struct{ want, len int }{{100, 125}, {120, 125}, {1000, 1250}, {0, 1250}, {1251, 1563}, {16000, 16000}} {
			if err := b.Grow(th, c.want); err != nil {
				return err
			}
			if b.Len() != c.len || d.Usage().Used != int64(c.len*4+511)/512*512 {
				t.Errorf("grown to %d: %d elements, %d bytes; want %d", c.want, b.Len(), d.Usage().Used, c.len)
			}
		}
		refused(t, b.Grow(th, 1<<20), ErrMemory, "4 MiB asked for scratch, 0 B of a budget of 64 KiB")
		if b.Len() != 0 || d.Usage().Used != 0 {
			t.Errorf("after a refusal: %d elements, %+v", b.Len(), d.Usage())
		}
		if err := b.Grow(th, 3); err != nil { // the buffer is still usable
			return err
		}
		if err := b.Upload(th, 0, []uint32{1, 2, 3}); err != nil {
			return err
		}
		if err := b.Free(th); err != nil {
			return err
		}
		refused(t, b.Grow(th, 1), nil, "scratch was used after it was freed")
		refused(t, new(Buffer[uint32]).Grow(th, 1), nil, "never allocated")
		return nil
	})
}

func TestFill(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		s, err := th.NewStream("fill")
		if err != nil {
			return err
		}
		if err := errors.Join(
			fills(t, th, s, int8(-3)), fills(t, th, s, uint16(0xabcd)), fills(t, th, s, float32(math.Inf(-1))), fills(t, th, s, uint32(0x12345678)),
			fills(t, th, s, uint64(0)), fills(t, th, s, int64(-1)), fills(t, th, s, uint64(0x1234567812345678)), fills(t, th, s, point{}),
			fills(t, th, s, [3]uint16{7, 7, 7}),
		); err != nil {
			return err
		}
		b, err := Alloc[float64](th, "thresholds", 4)
		if err != nil {
			return err
		}
		refused(t, b.Fill(th, s, 0, 4, 1.5), nil, "fill thresholds with 1.5: its bytes do not repeat")
		odd, err := Alloc[[3]uint16](th, "odd", 1)
		if err != nil {
			return err
		}
		refused(t, odd.Fill(th, s, 0, 1, [3]uint16{1, 2, 1}), nil, "fill odd with [1 2 1]: its bytes do not repeat")
		refused(t, b.Fill(th, s, 1, 4, 0), nil, "elements [1, 5) of thresholds, which has 4")
		refused(t, b.Fill(th, nil, 0, 4, 0), nil, "stream")
		if err := b.Fill(th, s, 4, 0, 0); err != nil {
			t.Error("nothing to fill: ", err)
		}
		return errors.Join(b.Free(th), odd.Free(th), s.Close(th))
	})
}

// fills fills between two other values and reads all back.
func fills[T comparable](t *testing.T, th *Thread, s *Stream, v T) error {
	t.Helper()
	b, err := Alloc[T](th, "fill", 5)
	if err != nil {
		return err
	}
	before := make([]T, 5)
	if err := b.Upload(th, 0, before); err != nil {
		return err
	}
	if err := b.Fill(th, s, 1, 3, v); err != nil {
		return err
	}
	got := make([]T, 5)
	if err := b.Download(th, got, 0); err != nil {
		return err
	}
	if want := []T{before[0], v, v, v, before[4]}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	return b.Free(th)
}

// Copies wait in their stream; synchronous copies see all work enqueued before them, on any stream.
func TestAsyncCopies(t *testing.T) {
	d := openTest(t, Options{})
	const n = 1024
	onThread(t, d, func(th *Thread) error {
		s, err := th.NewStream("copies")
		if err != nil {
			return err
		}
		in, err1 := AllocPinned[float32](th, "in", n)
		out, err2 := AllocPinned[float32](th, "out", n)
		a, err3 := Alloc[float32](th, "a", n)
		b, err4 := Alloc[float32](th, "b", n)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return err
		}
		for i := range in.Slice() {
			in.Slice()[i], out.Slice()[i] = float32(i), -1
		}
		if err := errors.Join(
			a.UploadAsync(th, s, 1, in, 0, n-1),
			b.CopyAsync(th, s, 0, a, 1, n-2),
			b.DownloadAsync(th, s, out, 2, 0, n-3),
		); err != nil {
			return err
		}
		if onEmulator() && out.Slice()[2] != -1 {
			t.Error("a copy ran before anything waited for it")
		}
		got := make([]float32, 3)
		if err := b.Download(th, got, 5); err != nil { // waits for s, too
			return err
		}
		if !slices.Equal(got, []float32{5, 6, 7}) {
			t.Errorf("a synchronous copy overtook: %v", got)
		}
		if err := s.Sync(th); err != nil {
			return err
		}
		for i, v := range out.Slice() {
			want := float32(i - 2)
			if i < 2 || i == n-1 {
				want = -1
			}
			if v != want {
				t.Errorf("out[%d] = %v, want %v", i, v, want)
				break
			}
		}
		refused(t, a.UploadAsync(th, s, 1, in, 0, n), nil, "elements [1, 1025) of a, which has 1024")
		refused(t, a.UploadAsync(th, s, 0, in, 1, n), nil, "elements [1, 1025) of in, which has 1024")
		refused(t, a.DownloadAsync(th, s, out, n, 0, 1), nil, "of out, which has 1024")
		refused(t, a.DownloadAsync(th, s, out, 0, -1, 1), nil, "elements [-1, 0) of a")
		refused(t, a.CopyAsync(th, s, 0, b, n, 1), nil, "of b, which has 1024")
		refused(t, a.CopyAsync(th, nil, 0, b, 0, 1), nil, "stream")
		if err := errors.Join(in.Free(th), in.Free(th), out.Free(th), a.Free(th), b.Free(th), s.Close(th)); err != nil {
			return err
		}
		refused(t, a.UploadAsync(th, s, 0, in, 0, 1), nil, "a was used after it was freed")
		if in.Len() != 0 || in.Slice() != nil {
			t.Error("freed memory is still reachable")
		}
		return nil
	})
}

// Memory is freed only after all enqueued work that uses it.
func TestFreeWaits(t *testing.T) {
	d := openTest(t, Options{})
	const n = 256
	onThread(t, d, func(th *Thread) error {
		s, err := th.NewStream("work")
		if err != nil {
			return err
		}
		host, err1 := AllocPinned[uint32](th, "host", n)
		a, err2 := Alloc[uint32](th, "a", n)
		b, err3 := Alloc[uint32](th, "b", n)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		for i := range host.Slice() {
			host.Slice()[i] = uint32(i)
		}
		if err := errors.Join(a.UploadAsync(th, s, 0, host, 0, n), b.CopyAsync(th, s, 0, a, 0, n), host.Free(th), a.Free(th)); err != nil {
			return err
		}
		got := make([]uint32, n)
		if err := b.Download(th, got, 0); err != nil {
			return err
		}
		for i, v := range got {
			if v != uint32(i) {
				t.Fatalf("element %d is %d", i, v)
			}
		}
		return errors.Join(b.Free(th), s.Close(th))
	})
}

// Many goroutines, each with buffers of its own, use one device.
func TestConcurrentUse(t *testing.T) {
	d := openTest(t, Options{})
	const users, rounds, n = 8, 10, 300
	errs := make(chan error, users)
	for u := range users {
		go func() {
			errs <- func() error {
				var b *Buffer[int64]
				ctx := context.Background()
				if err := d.Do(ctx, func(th *Thread) (err error) { b, err = Alloc[int64](th, "mine", n); return err }); err != nil {
					return err
				}
				src, got := make([]int64, n), make([]int64, n)
				for r := range rounds {
					for i := range src {
						src[i] = int64(u*1000000 + r*1000 + i)
					}
					if err := d.Do(ctx, func(th *Thread) error { return b.Upload(th, 0, src) }); err != nil {
						return err
					}
					if err := d.Do(ctx, func(th *Thread) error { return b.Download(th, got, 0) }); err != nil {
						return err
					}
					if !slices.Equal(src, got) {
						return errors.New("another user's data")
					}
					_ = d.Usage()
				}
				return d.Do(ctx, b.Free)
			}()
		}()
	}
	for range users {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
