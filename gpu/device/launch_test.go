//go:build cuda && cgo

package device

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"thresher/gpu/device/emulator"
)

type quad [4]uint32

// copying is copy16 with memory to copy.
type copying struct {
	s        *Stream
	m        *Module
	f        *Function
	src, dst *Buffer[quad]
}

const copyLen = 1000

func newCopying(th *Thread) (*copying, error) {
	var c copying
	var errs [4]error
	c.s, errs[0] = th.NewStream("launches")
	c.m, c.f, errs[1] = copyKernel(th)
	c.src, errs[2] = Alloc[quad](th, "src", copyLen)
	c.dst, errs[3] = Alloc[quad](th, "dst", copyLen)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return &c, c.src.Upload(th, 0, quads(copyLen))
}

func quads(n int) []quad {
	q := make([]quad, n)
	for i := range q {
		q[i] = quad{uint32(i), uint32(i) * 3, ^uint32(i), 7}
	}
	return q
}

func (c *copying) free(th *Thread) error {
	return errors.Join(c.s.Close(th), c.m.Unload(th), c.m.Unload(th), c.src.Free(th), c.dst.Free(th))
}

func shape(n int) Shape { return Shape{Grid: Dim{X: (n + 255) / 256}, Block: Dim{X: 256}} }

func TestLaunch(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		if err := c.f.Launch(th, c.s, shape(copyLen), Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(copyLen)); err != nil {
			return err
		}
		got := make([]quad, copyLen)
		if err := c.dst.Download(th, got, 0); err != nil {
			return err
		}
		if !slices.Equal(got, quads(copyLen)) {
			t.Error("the copy differs")
		}

		// A part of the memory, a grid of two dimensions, unused shared memory.
		if err := c.dst.Fill(th, c.s, 0, copyLen, quad{}); err != nil {
			return err
		}
		part := Shape{Grid: Dim{1, 1, 1}, Block: Dim{64, 1, 1}, Shared: 1024}
		if err := c.f.Launch(th, c.s, part, View[quad](c.src, 10).Arg(), View[quad](c.dst, 20).Arg(), I64(50)); err != nil {
			return err
		}
		if err := c.dst.Download(th, got, 0); err != nil {
			return err
		}
		want := make([]quad, copyLen)
		copy(want[20:70], quads(copyLen)[10:])
		if !slices.Equal(got, want) {
			t.Error("the copy of a part differs")
		}
		return c.free(th)
	})
}

// Kernels read pinned memory in place.
func TestLaunchOnPinned(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		from, err1 := AllocPinned[quad](th, "from", copyLen)
		to, err2 := AllocPinned[quad](th, "to", copyLen)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		copy(from.Slice(), quads(copyLen))
		clear(to.Slice())
		if err := c.f.Launch(th, c.s, shape(copyLen), View[quad](from, 1).Arg(), View[quad](to, 2).Arg(), I64(copyLen-2)); err != nil {
			return err
		}
		if err := c.s.Sync(th); err != nil {
			return err
		}
		if to.Slice()[1] != (quad{}) || !slices.Equal(to.Slice()[2:], quads(copyLen)[1:copyLen-1]) {
			t.Error("the copy differs")
		}
		if err := errors.Join(from.Free(th), to.Free(th)); err != nil {
			return err
		}
		err = c.f.Launch(th, c.s, shape(1), Ptr(from).Arg(), Ptr(c.dst).Arg(), I64(1))
		refused(t, err, nil, "launch copy16: argument 0: from was used after it was freed")
		return c.free(th)
	})
}

func TestLaunchRefusals(t *testing.T) {
	d := openTest(t, Options{})
	other := openTest(t, Options{})
	var foreign *Buffer[quad]
	onThread(t, other, func(th *Thread) (err error) { foreign, err = Alloc[quad](th, "foreign", 1); return err })
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		freed, err := Alloc[quad](th, "freed", 1)
		if err != nil {
			return err
		}
		if err := freed.Free(th); err != nil {
			return err
		}
		src, dst, n := Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(0)
		for _, bad := range []struct {
			shape Shape
			args  []Arg
			want  string
		}{
			{shape(1), []Arg{src, dst}, "2 arguments for 3 parameters"},
			{shape(1), []Arg{src, dst, n, n}, "4 arguments for 3 parameters"},
			{shape(1), []Arg{src, dst, I32(1)}, "argument 2: an integer or pointer of 4 bytes for an integer or pointer of 8 bytes"},
			{shape(1), []Arg{src, dst, F64(1)}, "argument 2: a float of 8 bytes for an integer or pointer of 8 bytes"},
			{shape(1), []Arg{src, F32(1), n}, "argument 1: a float of 4 bytes"},
			{shape(1), []Arg{src, dst, I32(1 << 31)}, "argument 2: 2147483648 does not fit an int"},
			{shape(1), []Arg{src, Ptr(freed).Arg(), n}, "argument 1: freed was used after it was freed"},
			{shape(1), []Arg{src, Ptr((*Buffer[quad])(nil)).Arg(), n}, "argument 1: a buffer was used that was never allocated"},
			{shape(1), []Arg{Ptr((*Pinned[quad])(nil)).Arg(), dst, n}, "argument 0: pinned memory was used that was never allocated"},
			{shape(1), []Arg{src, Ptr(foreign).Arg(), n}, "argument 1: foreign is on device 0"},
			{shape(1), []Arg{View[quad](c.src, copyLen+1).Arg(), dst, n}, "argument 0: element 1001 of src, which has 1000"},
			{shape(1), []Arg{View[quad](c.src, -1).Arg(), dst, n}, "argument 0: element -1 of src"},
			{Shape{Block: Dim{X: 1}}, []Arg{src, dst, n}, "a grid of (0, 1, 1) blocks"},
			{Shape{Grid: Dim{X: 1 << 31}, Block: Dim{X: 1}}, []Arg{src, dst, n}, "a grid of"},
			{Shape{Grid: Dim{1, 65536, 1}, Block: Dim{X: 1}}, []Arg{src, dst, n}, "a grid of (1, 65536, 1) blocks"},
			{Shape{Grid: Dim{1, 1, 65536}, Block: Dim{X: 1}}, []Arg{src, dst, n}, "a grid of"},
			{Shape{Grid: Dim{1, 1, 1}, Block: Dim{1, -1, 1}}, []Arg{src, dst, n}, "a block of (1, -1, 1)"},
			{Shape{Grid: Dim{1, -1, 1}, Block: Dim{X: 1}}, []Arg{src, dst, n}, "a grid of (1, -1, 1)"},
			{Shape{Grid: Dim{X: 1}}, []Arg{src, dst, n}, "a block of (0, 1, 1) threads"},
			{Shape{Grid: Dim{X: 1}, Block: Dim{X: 1025}}, []Arg{src, dst, n}, "a block of (1025, 1, 1) threads"},
			{Shape{Grid: Dim{X: 1}, Block: Dim{64, 64, 1}}, []Arg{src, dst, n}, "a block of (64, 64, 1) threads"},
			{Shape{Grid: Dim{X: 1}, Block: Dim{1, 1, 65}}, []Arg{src, dst, n}, "64 along z"},
			{Shape{Grid: Dim{X: 1}, Block: Dim{1, 1 << 40, 1 << 40}}, []Arg{src, dst, n}, "a block of"},
			{Shape{Grid: Dim{X: 1}, Block: Dim{X: 1}, Shared: -1}, []Arg{src, dst, n}, "-1 bytes of dynamic shared memory"},
			{Shape{Grid: Dim{X: 1}, Block: Dim{X: 1}, Shared: 1 << 20}, []Arg{src, dst, n}, "1048576 bytes of dynamic shared memory"},
		} {
			refused(t, c.f.Launch(th, c.s, bad.shape, bad.args...), nil, "gpu:", "copy16", bad.want)
		}
		refused(t, c.f.Launch(th, nil, shape(1), src, dst, n), nil, "stream")
		refused(t, (*Function)(nil).Launch(th, c.s, shape(1)), nil, "never loaded")
		_, err = c.m.Function(th, "copy17")
		refused(t, err, nil, "copy has no kernel copy17")
		if again, err := c.m.Function(th, "copy16"); err != nil || again != c.f {
			t.Error("looked up again: ", err)
		}
		f := c.f
		if err := c.free(th); err != nil {
			return err
		}
		s, err := th.NewStream("late")
		if err != nil {
			return err
		}
		refused(t, f.Launch(th, s, shape(1), n, n, n), nil, "unloaded")
		_, err = c.m.Function(th, "copy16")
		refused(t, err, nil, "after Unload")
		_, err = f.BlocksPerSM(th, 256, 0)
		refused(t, err, nil, "unloaded")
		return errors.Join(s.Close(th), th.Synchronize()) // none of this lost the device
	})
	onThread(t, other, foreign.Free)
}

// Dynamic shared memory beyond 48 KiB is allowed to a function on request, up to the device's
// limit.
func TestSharedMemory(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		c, err := newCopying(th)
		if err != nil {
			return err
		}
		most := d.Info().SharedPerBlock - c.f.StaticShared
		for _, shared := range []int{0, plainShared - c.f.StaticShared, plainShared - c.f.StaticShared + 16, most} {
			sh := shape(copyLen)
			sh.Shared = shared
			if err := c.f.Launch(th, c.s, sh, Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(copyLen)); err != nil {
				t.Errorf("%d bytes: %v", shared, err)
			}
			if n, err := c.f.BlocksPerSM(th, 256, shared); err != nil || n < 1 {
				t.Errorf("%d bytes: %d blocks on a multiprocessor, %v", shared, n, err)
			}
		}
		if before, ok := emulator.Count("calls"); ok { // the limit is set only once
			sh := shape(copyLen)
			sh.Shared = most
			if err := c.f.Launch(th, c.s, sh, Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(copyLen)); err != nil {
				return err
			}
			if after, _ := emulator.Count("calls"); after != before+1 {
				t.Errorf("a launch took %d calls", after-before)
			}
		}
		sh := shape(copyLen)
		sh.Shared = most + 1
		refused(t, c.f.Launch(th, c.s, sh, Ptr(c.src).Arg(), Ptr(c.dst).Arg(), I64(copyLen)), nil, "a block has")
		if err := c.s.Sync(th); err != nil {
			return err
		}
		return c.free(th)
	})
}

func TestResources(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		m, f, err := copyKernel(th)
		if err != nil {
			return err
		}
		if f.Name() != "copy16" || f.MaxThreads < 256 || f.Local != 0 || f.StaticShared != 0 {
			t.Errorf("%s: %+v", f.Name(), f.Resources)
		}
		return m.Unload(th)
	})
}

func TestLoadRefusals(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		_, err := th.Load("junk", []byte("junk"), nil)
		refused(t, err, nil, "gpu: junk: PTX: no .version")
		_, err = th.Load("future", []byte(".version 8.1\n.target sm_80\n.address_size 64\n"), nil)
		refused(t, err, nil, "gpu: future: PTX 8.1, and drivers are checked for 8.0")
		_, err = th.Load("wide", []byte(".version 8.0\n.target sm_80\n.address_size 64\n.entry wide(.param .b8 p[129]){ret;}"), nil)
		refused(t, err, nil, "gpu: wide: PTX: entry wide: parameter 0 has 129 bytes")
		_, err = th.Load("elsewhere", []byte(".version 8.0\n.target sm_999\n.address_size 64\n"), nil)
		refused(t, err, nil, "cuModuleLoadDataEx(elsewhere, PTX 8.0 for sm_999)")
		if u := d.Usage(); u.Live != 0 {
			t.Errorf("%+v", u)
		}
		return th.Synchronize()
	})
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		arg  Arg
		want uint64
		p    ptxParam
	}{
		{I32(-2), 0xfffffffe, ptxParam{bytes: 4}},
		{I32(math.MaxInt32), 0x7fffffff, ptxParam{bytes: 4}},
		{U32(0xfedcba98), 0xfedcba98, ptxParam{bytes: 4}},
		{I64(-2), 0xfffffffffffffffe, ptxParam{bytes: 8}},
		{F32(-1.5), 0xbfc00000, ptxParam{bytes: 4, float: true}},
		{F64(-1.5), 0xbff8000000000000, ptxParam{bytes: 8, float: true}},
		{Pointer[int32]{}.Arg(), 0, ptxParam{bytes: 8}},
	} {
		var got [1]uint64
		if err := c.arg.fit(nil, c.p, got[:]); err != nil || got[0] != c.want {
			t.Errorf("%+v: %#x, %v; want %#x", c.arg, got, err, c.want)
		}
		c.p.float = !c.p.float
		refused(t, c.arg.fit(nil, c.p, got[:]), nil, "for")
	}
	structure, words := Struct([]uint64{1, 2, 3}), [4]uint64{}
	if err := structure.fit(nil, ptxParam{bytes: 24}, words[:]); err != nil || words != [4]uint64{1, 2, 3, 0} {
		t.Error(words, err)
	}
	refused(t, structure.fit(nil, ptxParam{bytes: 32}, words[:]), nil, "a structure of 24 bytes for a structure of 32 bytes")
}

func TestLaunchLog(t *testing.T) {
	var l launchLog
	if got := l.String(); got != "" {
		t.Error(got)
	}
	for i, want := range []string{"a", "a, b", "a, b, c", "a, b, c, d", "b, c, d, e", "c, d, e, f"} {
		l.record(string(rune('a' + i)))
		if got := strings.TrimPrefix(l.String(), "last kernels launched: "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
