//go:build cuda && cgo

package device

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"gorgonia.org/cu"
)

// maxArgs is the most parameters of a kernel, and maxWords the most words of 8 bytes that they take.
const maxArgs, maxWords = 32, 64

// plainShared is the most shared memory of a block, in bytes, for which no limit must be set on
// the kernel first.
const plainShared = 48 << 10

// Function is a kernel of a Module.
type Function struct {
	m       *Module
	name    string
	f       cu.Function
	params  []ptxParam
	first   []int32 // of each parameter, the first word of its argument
	dynamic int     // the limit of dynamic shared memory that is set for it, in bytes
	Resources
}

// Resources is what the driver's compiler allocated to a kernel.
type Resources struct {
	Registers    int // per thread
	StaticShared int // bytes per block
	Local        int // bytes per thread, of spilled registers and of arrays indexed at run time
	MaxThreads   int // per block
}

// Function returns a kernel by name. The first call for a name asks the driver, later ones do not.
func (m *Module) Function(t *Thread, name string) (*Function, error) {
	if err := t.owns(m.d); err != nil {
		return nil, err
	}
	if m.held == nil {
		return nil, fmt.Errorf("gpu: %s of %s was asked for after Unload", name, m.name)
	}
	if f := m.functions[name]; f != nil {
		return f, nil
	}
	params, ok := m.ptx.entries[name]
	if !ok {
		return nil, fmt.Errorf("gpu: %s has no kernel %s", m.name, name)
	}
	words, first := 0, make([]int32, len(params))
	for i, p := range params {
		first[i] = int32(words)
		words += p.words()
	}
	if len(params) > maxArgs || words > maxWords {
		return nil, fmt.Errorf("gpu: %s has %d parameters of %d words; %d of %d can be passed", name, len(params), words, maxArgs, maxWords)
	}
	h, err := m.m.Function(name)
	if err != nil {
		return nil, t.fail(err, "cuModuleGetFunction(%s, %s)", m.name, name)
	}
	f := &Function{m: m, name: name, f: h, params: params, first: first, dynamic: plainShared}
	for _, a := range []struct {
		to   *int
		what cu.FunctionAttribute
	}{
		{&f.Registers, cu.NumRegs}, {&f.StaticShared, cu.SharedSizeBytes},
		{&f.Local, cu.LocalSizeBytes}, {&f.MaxThreads, cu.FnMaxThreadsPerBlock},
	} {
		if *a.to, err = h.Attribute(a.what); err != nil {
			return nil, t.fail(err, "cuFuncGetAttribute(%s, %d)", name, int(a.what))
		}
	}
	f.dynamic -= f.StaticShared
	m.functions[name] = f
	return f, nil
}

// Name is the kernel's name.
func (f *Function) Name() string { return f.name }

// Dim is a size in up to three dimensions; Y or Z of 0 means 1.
type Dim struct{ X, Y, Z int }

// full returns d with 1 for a Y or Z of 0.
func (d Dim) full() Dim {
	if d.Y == 0 {
		d.Y = 1
	}
	if d.Z == 0 {
		d.Z = 1
	}
	return d
}

// within reports whether d is at least 1 and at most most in every dimension.
func (d Dim) within(most Dim) bool {
	return d.X >= 1 && d.Y >= 1 && d.Z >= 1 && d.X <= most.X && d.Y <= most.Y && d.Z <= most.Z
}

func (d Dim) String() string { return fmt.Sprintf("(%d, %d, %d)", d.X, d.Y, d.Z) }

// Shape is the number of threads that run a kernel.
type Shape struct {
	Grid   Dim // blocks
	Block  Dim // threads of a block
	Shared int // bytes of dynamic shared memory a block
}

// Launch enqueues f on s, or collects it (Stream.Collect), and does not wait for it. It checks the arguments against the kernel's
// parameters, and the shape against the limits of kernel and device. An error during execution is
// returned by the call that waits for the kernel.
func (f *Function) Launch(t *Thread, s *Stream, shape Shape, args ...Arg) error {
	if err := f.usable(t); err != nil {
		return err
	}
	if err := s.owned(t); err != nil {
		return err
	}
	g, b := shape.Grid.full(), shape.Block.full()
	if most := (Dim{math.MaxInt32, 65535, 65535}); !g.within(most) { // the limits of every device that can be opened
		return fmt.Errorf("gpu: launch %s: a grid of %v blocks; up to %v are possible", f.name, g, most)
	}
	if !b.within(Dim{f.MaxThreads, f.MaxThreads, 64}) || b.X*b.Y*b.Z > f.MaxThreads {
		return fmt.Errorf("gpu: launch %s: a block of %v threads; up to %d are possible, 64 along z", f.name, b, f.MaxThreads)
	}
	if err := f.allowShared(t, shape.Shared); err != nil {
		return err
	}
	if len(args) != len(f.params) {
		return fmt.Errorf("gpu: launch %s: %d arguments for %d parameters", f.name, len(args), len(f.params))
	}
	var words [maxWords]uint64
	n := 0
	for i := range args {
		if err := args[i].fit(t.d, f.params[i], words[n:]); err != nil {
			return fmt.Errorf("gpu: launch %s: argument %d: %w", f.name, i, err)
		}
		n += f.params[i].words()
	}
	t.d.last.record(f.name)
	if q := &t.d.sequence; q.stream == s {
		if len(q.launches) == maxGraph {
			if err := t.enqueueCollected(); err != nil {
				return err
			}
		}
		q.collect(f, g, b, shape.Shared, words[:n])
		return nil
	}
	return t.launch(f, s, g, b, shape.Shared, words[:n])
}

// launch enqueues f with arguments that are these words.
func (t *Thread) launch(f *Function, s *Stream, grid, block Dim, shared int, words []uint64) error {
	if err := launchKernel(f.f, s.s, grid, block, shared, words, f.first); err != nil {
		return t.fail(err, "cuLaunchKernel(%s, grid %v, block %v, %d bytes shared)", f.name, grid, block, shared)
	}
	return nil
}

// BlocksPerSM returns how many blocks a multiprocessor runs concurrently, of the given number of
// threads and bytes of dynamic shared memory each.
func (f *Function) BlocksPerSM(t *Thread, threads, shared int) (int, error) {
	if err := f.usable(t); err != nil {
		return 0, err
	}
	if err := f.allowShared(t, shared); err != nil {
		return 0, err
	}
	n, err := f.f.MaxActiveBlocksPerMultiProcessor(threads, int64(shared))
	if err != nil {
		return 0, t.fail(err, "cuOccupancyMaxActiveBlocksPerMultiprocessor(%s, %d threads, %d bytes)", f.name, threads, shared)
	}
	return n, nil
}

// usable returns an error unless f may be used on t.
func (f *Function) usable(t *Thread) error {
	if err := t.live(); err != nil {
		return err
	}
	if f == nil || f.m.held == nil {
		return errors.New("gpu: a kernel was used whose module is unloaded or was never loaded")
	}
	return t.owns(f.m.d)
}

// allowShared raises f's limit of dynamic shared memory to shared bytes if it is lower. More than
// the device has for a block is an error.
func (f *Function) allowShared(t *Thread, shared int) error {
	if shared < 0 || shared+f.StaticShared > max(t.d.info.SharedPerBlock, plainShared) {
		return fmt.Errorf("gpu: %s: %d bytes of dynamic shared memory beside %d static ones; a block has %d",
			f.name, shared, f.StaticShared, t.d.info.SharedPerBlock)
	}
	if shared <= f.dynamic {
		return nil
	}
	if err := setDynamicShared(f.f, shared); err != nil {
		return t.fail(err, "cuFuncSetAttribute(%s, %d bytes of dynamic shared memory)", f.name, shared)
	}
	f.dynamic = shared
	return nil
}

// launchLog records the names of the last kernels that were enqueued, for error messages: the
// driver's errors say neither which kernel failed nor when.
type launchLog struct {
	names [4]string
	n     int
}

// record adds a name, in place of the oldest.
func (l *launchLog) record(name string) {
	l.names[l.n%len(l.names)] = name
	l.n++
}

func (l *launchLog) String() string {
	if l.n == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("last kernels launched: ")
	for i := max(0, l.n-len(l.names)); i < l.n; i++ {
		if i > max(0, l.n-len(l.names)) {
			b.WriteString(", ")
		}
		b.WriteString(l.names[i%len(l.names)])
	}
	return b.String()
}
