//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"time"

	"thresher/batch"
	"thresher/gpu/device"
)

// clock measures times on a card's device. Except for close it must be used within Do.
type clock struct {
	m       *machine
	own     *machine        // with the kernels that searches do not load
	events  []*device.Event // two for each launch
	names   []string        // names of the timed launches
	from    *device.Buffer[uint8]
	to      *device.Buffer[uint8]
	stalled *queue // the queue that already waits for a copy
	inside  bool   // between the two events of a launch
}

// ticking returns the clock of the card without a memory limit.
func (s *server) ticking() (*clock, error) {
	if s.clock != nil {
		return s.clock, nil
	}
	b, err := s.card(0)
	if err != nil {
		return nil, err
	}
	s.clock = &clock{m: b.machines[0], own: &machine{log: slog.New(slog.DiscardHandler), functions: map[string]*device.Function{}}}
	return s.clock, nil
}

func (k *clock) close() error {
	return k.m.d.Do(context.Background(), func(t *device.Thread) error {
		errs := []error{k.from.Free(t), k.to.Free(t)}
		for _, e := range k.events {
			errs = append(errs, e.Close(t))
		}
		for _, m := range k.own.modules {
			errs = append(errs, m.Unload(t))
		}
		return errors.Join(errs...)
	})
}

// load loads a module that searches do not load, unless its kernel is there.
func (k *clock) load(t *device.Thread, module, kernel string) error {
	if k.own.functions[kernel] != nil {
		return nil
	}
	return k.own.loadModule(t, module)
}

// buffers allocates memory for a copy of so many bytes, with random contents: copies of zeros are
// faster.
func (k *clock) buffers(t *device.Thread, bytes int) error {
	if k.from != nil && k.from.Len() >= bytes || bytes == 0 {
		return nil
	}
	if err := errors.Join(k.from.Free(t), k.to.Free(t)); err != nil {
		return err
	}
	var err error
	if k.from, err = device.Alloc[uint8](t, "copies", bytes); err != nil {
		return err
	}
	if k.to, err = device.Alloc[uint8](t, "copies", bytes); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(22, 1))
	part := make([]uint64, min(bytes, 1<<26)/8)
	for i := range part {
		part[i] = r.Uint64()
	}
	raw := bytesOfSlice(part)
	for at := 0; at < bytes; at += len(raw) {
		if err := k.from.Upload(t, at, raw[:min(len(raw), bytes-at)]); err != nil {
			return err
		}
	}
	return nil
}

// copy enqueues a copy by the kernel copy16.
func (k *clock) copy(t *device.Thread, s *device.Stream, bytes int) error {
	if err := k.load(t, "copy", "copy16"); err != nil {
		return err
	}
	q := &queue{t: t, s: s, machine: k.own}
	q.copy16(device.Shape{Grid: device.Dim{X: blocks(bytes/16, 256)}, Block: device.Dim{X: 256}}, copy16Args{
		src: device.View[[4]uint32](k.from, 0), dst: device.View[[4]uint32](k.to, 0), n: int64(bytes / 16),
	})
	return q.err
}

// event returns event i.
func (k *clock) event(t *device.Thread, i int) (*device.Event, error) {
	for len(k.events) <= i {
		e, err := t.NewEvent("times")
		if err != nil {
			return nil, err
		}
		k.events = append(k.events, e)
	}
	return k.events[i], nil
}

// note is machine.onLaunch: it records an event before and after each launch. Before the first of a
// queue it enqueues a copy of stall bytes.
func (k *clock) note(stall int) func(q *queue, kernel string) error {
	return func(q *queue, kernel string) error {
		if stall > 0 && k.stalled != q {
			k.stalled = q
			if err := k.copy(q.t, q.s, stall); err != nil {
				return err
			}
		}
		i := 2 * len(k.names)
		if k.inside {
			i--
		} else {
			k.names = append(k.names, kernel)
		}
		k.inside = !k.inside
		e, err := k.event(q.t, i)
		if err != nil {
			return err
		}
		return e.Record(q.t, q.s)
	}
}

// splitting is the device's time by kernel, for each batch.
type splitting struct {
	Kernels map[string]*kernelTimes `json:"kernels"`
	Sum     []float64               `json:"sum"`  // of all kernels, in seconds
	Span    []float64               `json:"span"` // from the first kernel's start to the last one's end
	// Phases are the seconds of each phase of the host's work, by batch, in a run without events.
	Phases map[hostPhase][]float64 `json:"phases"`
	// Singly are those of the same searches with each kernel enqueued by a call of its own; empty for more
	// queries than are enqueued by graphs.
	Singly map[hostPhase][]float64 `json:"singly"`
	Graphs uint64                  `json:"graphs"` // launched in the run of Phases
}

type kernelTimes struct {
	Launches int       `json:"launches"` // of the last batch
	Seconds  []float64 `json:"seconds"`
}

// split answers batches as search does, with events around every kernel, and again without them to measure
// the phases of the host's work, with graphs and without.
func (s *server) split(ctx context.Context, r *request) (*splitting, error) {
	x, err := s.set(r)
	if err != nil {
		return nil, err
	}
	k, err := s.ticking()
	if err != nil {
		return nil, err
	}
	if x.card.machines[0] != k.m {
		return nil, fmt.Errorf("set %q is on a card of its own", r.Set)
	}
	around := func(f func(*queue, string) error) error {
		return k.m.d.Do(ctx, func(t *device.Thread) error {
			k.names, k.stalled, k.inside, k.m.onLaunch = k.names[:0], nil, false, f
			return k.buffers(t, r.Stall)
		})
	}
	out := &splitting{Kernels: map[string]*kernelTimes{}, Phases: map[hostPhase][]float64{}, Singly: map[hostPhase][]float64{}}
	few := r.M <= k.m.graphQueries
	// phases adds those of a search to all.
	phases := func(ask batch.Request, all map[hostPhase][]float64) error {
		watch := newStopwatch()
		k.m.onPhase = watch.begin
		watch.begin(phaseCheck)
		_, err := x.engine.Search(ctx, ask)
		watch.end()
		k.m.onPhase = nil
		for _, p := range hostPhases {
			all[p] = append(all[p], watch.spent[p].Seconds())
		}
		return err
	}
	graphs := func() (n uint64, err error) {
		err = k.m.d.Do(ctx, func(t *device.Thread) error { n = t.Graphs().Launched; return nil })
		return n, err
	}
	if few { // so that there are graphs
		ask, err := x.ask(r, 0)
		for range 3 {
			if err == nil {
				_, err = x.engine.Search(ctx, ask)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range max(1, r.Count) {
		ask, err := x.ask(r, i)
		if err != nil {
			return nil, err
		}
		if err := around(k.note(r.Stall)); err != nil {
			return nil, err
		}
		_, err = x.engine.Search(ctx, ask)
		if err == nil {
			err = k.m.d.Do(ctx, func(t *device.Thread) error { return k.read(t, out, i) })
		}
		if err := errors.Join(err, around(nil)); err != nil {
			return nil, err
		}
		before, err := graphs()
		if err != nil {
			return nil, err
		}
		if err := phases(ask, out.Phases); err != nil {
			return nil, err
		}
		after, err := graphs()
		if err != nil {
			return nil, err
		}
		out.Graphs += after - before
		if few {
			k.m.graphQueries = 0
			err := phases(ask, out.Singly)
			k.m.graphQueries = graphQueries
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// read adds the times of batch i.
func (k *clock) read(t *device.Thread, out *splitting, i int) error {
	if err := k.m.stream.Sync(t); err != nil {
		return err
	}
	sum := 0.
	for _, of := range out.Kernels {
		of.Launches = 0
		of.Seconds = append(of.Seconds, 0)
	}
	for n, name := range k.names {
		took, err := k.events[2*n+1].Since(t, k.events[2*n])
		if err != nil {
			return err
		}
		of := out.Kernels[name]
		if of == nil {
			of = &kernelTimes{Seconds: make([]float64, i+1)}
			out.Kernels[name] = of
		}
		of.Launches++
		of.Seconds[i] += took.Seconds()
		sum += took.Seconds()
	}
	span := time.Duration(0)
	if n := len(k.names); n > 0 {
		var err error
		if span, err = k.events[2*n-1].Since(t, k.events[0]); err != nil {
			return err
		}
	}
	out.Sum, out.Span = append(out.Sum, sum), append(out.Span, span.Seconds())
	return nil
}

// peaks are the greatest rates of the device, with the seconds of each measurement.
type peaks struct {
	CopyBytes   int       `json:"copy_bytes"` // read and written
	Copy        []float64 `json:"copy"`
	Operations  int       `json:"mma_operations"` // a product and a sum are two
	Mma         []float64 `json:"mma"`
	Pairs       int       `json:"tests_pairs"`
	Tests       []float64 `json:"tests"`
	TestsPassed int       `json:"tests_passed"` // pairs that passed; 0 is expected
}

// ceilings times copies, products and tests of bounds, Count times each.
func (s *server) ceilings(ctx context.Context, r *request) (*peaks, error) {
	k, err := s.ticking()
	if err != nil {
		return nil, err
	}
	out := &peaks{CopyBytes: 2 * (r.Bytes &^ 15)}
	err = k.m.d.Do(ctx, func(t *device.Thread) error {
		if err := k.buffers(t, r.Bytes); err != nil {
			return err
		}
		var err error
		if out.Copy, err = k.times(t, r.Count, func() error { return k.copy(t, k.m.stream, r.Bytes) }); err != nil {
			return err
		}
		if err := k.products(t, r, out); err != nil {
			return err
		}
		return k.tests(t, r, out)
	})
	return out, err
}

// warming is how long a device is kept busy before repeated measurements: its clock rises under
// load.
const warming = 200 * time.Millisecond

// times runs f untimed for as long as warming, if count is large, and then count times between
// events.
func (k *clock) times(t *device.Thread, count int, f func() error) ([]float64, error) {
	s := k.m.stream
	for began := time.Now(); ; {
		if err := errors.Join(f(), s.Sync(t)); err != nil {
			return nil, err
		}
		if count < 10 || time.Since(began) > warming {
			break
		}
	}
	for i := range count {
		for side := range 2 {
			e, err := k.event(t, 2*i+side)
			if err == nil && side == 1 {
				err = f()
			}
			if err == nil {
				err = e.Record(t, s)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if err := s.Sync(t); err != nil {
		return nil, err
	}
	var out []float64
	for i := range count {
		took, err := k.events[2*i+1].Since(t, k.events[2*i])
		if err != nil {
			return nil, err
		}
		out = append(out, took.Seconds())
	}
	return out, nil
}

// randomWords returns 16 words for each lane.
func randomWords(from func(*rand.Rand) uint32) []uint32 {
	r := rand.New(rand.NewPCG(23, 1))
	w := make([]uint32, 16*32)
	for i := range w {
		w[i] = from(r)
	}
	return w
}

// products times ceiling_mma_s8.
func (k *clock) products(t *device.Thread, r *request, out *peaks) error {
	if err := k.load(t, "ceiling", "ceiling_mma_s8"); err != nil {
		return err
	}
	per, err := k.own.functions["ceiling_mma_s8"].BlocksPerSM(t, 256, 0)
	if err != nil {
		return err
	}
	grid := per * t.Device().Info().Multiprocessors
	var held stores
	words, err := copyToDevice(context.Background(), t, &held, "words", randomWords(func(r *rand.Rand) uint32 { return r.Uint32() }))
	if err == nil {
		var sums *device.Buffer[int32]
		if sums, err = allocOnDevice[int32](t, &held, "sums", 256*grid); err == nil {
			out.Mma, err = k.times(t, r.Count, func() error {
				q := &queue{t: t, s: k.m.stream, machine: k.own}
				q.ceilingMmaS8(device.Shape{Grid: device.Dim{X: grid}, Block: device.Dim{X: 256}}, ceilingMmaS8Args{words: device.Ptr(words), out: device.Ptr(sums), rounds: r.Rounds})
				return q.err
			})
		}
	}
	out.Operations = grid * 8 * r.Rounds * 8 * (2 * 16 * 8 * 32)
	return errors.Join(err, held.freeAll(t))
}

// tests times ceiling_tests, for as many queries as a block of the scan processes.
func (k *clock) tests(t *device.Thread, r *request, out *peaks) error {
	const slots, perSM = scanTile, 2
	if err := k.load(t, "ceiling", "ceiling_tests"); err != nil {
		return err
	}
	grid := perSM * t.Device().Info().Multiprocessors
	const bias = 0x4b400000 // of sums, as in kernels/tile.cuh
	rnd := rand.New(rand.NewPCG(24, 1))
	terms, factors := make([]float32, 12*32), make([][2]float32, 3*slots)
	for i := range terms {
		terms[i] = .5 + rnd.Float32()
	}
	for i := range slots {
		for of := range 2 { // a step of the codes, and the term that removes the bias
			step := 1e-6 * (.5 + rnd.Float32())
			factors[of*slots+i] = [2]float32{step, -step * math.Float32frombits(bias)}
		}
		factors[2*slots+i] = [2]float32{.5 + rnd.Float32(), -20} // sums are below 2^13 steps
	}
	var held stores
	ctx := context.Background()
	run := func() error {
		words, err := copyToDevice(ctx, t, &held, "words", randomWords(func(r *rand.Rand) uint32 { return bias - 1<<13 + r.Uint32N(1<<14) }))
		if err != nil {
			return err
		}
		onCard, err := copyToDevice(ctx, t, &held, "terms", terms)
		if err != nil {
			return err
		}
		pairs, err := copyToDevice(ctx, t, &held, "factors", factors)
		if err != nil {
			return err
		}
		passed, err := copyToDevice(ctx, t, &held, "passed", []int32{0})
		if err != nil {
			return err
		}
		out.Tests, err = k.times(t, r.Count, func() error {
			q := &queue{t: t, s: k.m.stream, machine: k.own}
			q.ceilingTests(device.Shape{Grid: device.Dim{X: grid}, Block: device.Dim{X: 256}, Shared: 24 * slots}, ceilingTestsArgs{
				words: device.Ptr(words), terms: device.Ptr(onCard), factors: device.Ptr(pairs), slots: slots, rounds: r.Rounds, out: device.Ptr(passed),
			})
			return q.err
		})
		if err != nil {
			return err
		}
		var n [1]int32
		err = passed.Download(t, n[:], 0)
		out.TestsPassed = int(n[0])
		return err
	}
	err := run()
	out.Pairs = grid * 8 * r.Rounds * (slots / 8) * 256
	return errors.Join(err, held.freeAll(t))
}
