//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"

	"thresher/kernels"
)

// machine is a device with its kernels, a stream, and the memory of finished runs. Everything but
// d must be used within Do.
type machine struct {
	d         *Device
	log       *slog.Logger
	modules   []*Module
	functions map[string]*Function
	stream    *Stream
	paced     [2]*Event
	pool      pool
	hostMost  int64 // most bytes of page-locked memory for a collection
	// Tests make these small: the most entries of a list, the most lists in memory at once (0 is no
	// limit for both), and the most pairs of an atom and a query in one launch of the scan.
	roomMost, listsMost, pairsMost int
	// around, if not nil, is called before and after each launch: benchmarks record events there.
	around func(q *queue, kernel string) error
}

// apart are modules that only tests and benchmarks load.
var apart = [...]string{"ceiling", "copy", "fragments"}

// openMachine opens a device and has the driver compile the modules.
func openMachine(index int, o *Options, log *slog.Logger) (*machine, error) {
	d, err := OpenDevice(index, DeviceOptions{Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	m := &machine{d: d, log: log, functions: make(map[string]*Function), hostMost: o.Host, pairsMost: scanPairs}
	switch {
	case o.Host == 0:
		m.hostMost = math.MaxInt64
	case o.Host < 0:
		m.hostMost = 0
	}
	if err := d.Do(context.Background(), m.start); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *machine) start(t *Thread) (err error) {
	for _, name := range kernels.Names() {
		if slices.Contains(apart[:], name) {
			continue
		}
		text, err := kernels.PTX(name)
		if err != nil {
			return err
		}
		module, err := t.Load(name, text)
		if err != nil {
			return err
		}
		m.modules = append(m.modules, module)
		for entry := range module.ptx.entries {
			if m.functions[entry], err = module.Function(t, entry); err != nil {
				return err
			}
		}
	}
	if m.stream, err = t.NewStream("searches"); err != nil {
		return err
	}
	for i := range m.paced {
		if m.paced[i], err = t.NewEvent("chunks"); err != nil {
			return err
		}
	}
	return nil
}

// close releases everything. On a lost device there is nothing to release.
func (m *machine) close() error {
	err := m.d.Do(context.Background(), func(t *Thread) error {
		errs := []error{m.pool.drop(t), m.stream.Close(t)}
		for _, e := range m.paced {
			errs = append(errs, e.Close(t))
		}
		for _, module := range m.modules {
			errs = append(errs, module.Unload(t))
		}
		return errors.Join(errs...)
	})
	closed := m.d.Close()
	if errors.Is(err, ErrLost) || m.d.Lost() != nil {
		return nil
	}
	return errors.Join(err, closed)
}

// do calls f by the device's Do with a queue.
func (m *machine) do(ctx context.Context, f func(*queue) error) error {
	return m.d.Do(ctx, func(t *Thread) error { return f(&queue{t: t, s: m.stream, p: m}) })
}

// queue enqueues work on one stream, in order. After the first error, which err holds, it enqueues
// nothing more.
type queue struct {
	t   *Thread
	s   *Stream
	p   *machine
	err error
	// Since the last complete wait: events recorded after chunks, and pairs of an atom and a query
	// after the last of them.
	marks, pairs int
}

// launch enqueues a kernel by name.
func (q *queue) launch(name string, shape Shape, args ...Arg) {
	q.tell(name)
	if q.err == nil {
		q.err = q.p.functions[name].Launch(q.t, q.s, shape, args...)
	}
	q.tell(name)
}

func (q *queue) tell(kernel string) {
	if q.err == nil && q.p.around != nil {
		q.err = q.p.around(q, kernel)
	}
}

// do enqueues other work.
func (q *queue) do(f func(*Thread, *Stream) error) {
	if q.err == nil {
		q.err = f(q.t, q.s)
	}
}

// sync waits for all enqueued work and returns the first error.
func (q *queue) sync() error {
	if q.err == nil {
		q.err, q.marks, q.pairs = q.s.Sync(q.t), 0, 0
	}
	return q.err
}

// A chunk of at least the most pairs of a launch divided by pacedPart is waited for individually:
// that is a tenth of a millisecond's work.
const pacedPart = 64

// pace ends a chunk of so many pairs of an atom and a query. It waits until the chunk before the
// last is complete, so that little is in flight when ctx ends, and returns ctx's error. Small
// chunks are combined.
func (q *queue) pace(ctx context.Context, pairs int) error {
	if q.pairs += pairs; q.pairs >= q.p.pairsMost/pacedPart {
		e := q.p.paced[q.marks%len(q.p.paced)]
		if q.marks >= len(q.p.paced) {
			q.do(func(t *Thread, _ *Stream) error { return e.Sync(t) })
		}
		q.do(e.Record)
		q.marks, q.pairs = q.marks+1, 0
	}
	if q.err != nil {
		return q.err
	}
	return ctx.Err()
}
