//go:build cuda && cgo

package gpu

import (
	"context"
	"unsafe"

	"thresher/gpu/device"
)

// queue enqueues work on one stream, in order. After the first error, which err holds, it enqueues
// nothing more.
type queue struct {
	t       *device.Thread
	s       *device.Stream
	machine *machine
	err     error
	// Since the last complete wait: events recorded after chunks, and pairs of an atom and a query
	// after the last of them.
	marks, pairs int
}

// launch enqueues a kernel by name.
func (q *queue) launch(name string, shape device.Shape, args ...device.Arg) {
	q.notifyLaunch(name)
	if q.err == nil {
		q.err = q.machine.functions[name].Launch(q.t, q.s, shape, args...)
	}
	q.machine.packed = q.machine.packed[:0]
	q.notifyLaunch(name)
}

// pack makes a structure of whole words of 8 bytes an argument of the next kernel.
func pack[T any](q *queue, v T) device.Arg {
	to := &q.machine.packed
	from := len(*to)
	*to = append(*to, unsafe.Slice((*uint64)(unsafe.Pointer(&v)), device.Size[T]()/8)...)
	return device.Struct((*to)[from:])
}

// notifyLaunch calls onLaunch.
func (q *queue) notifyLaunch(kernel string) {
	if q.err == nil && q.machine.onLaunch != nil {
		q.err = q.machine.onLaunch(q, kernel)
	}
}

// enqueue calls f, which enqueues work other than a kernel.
func (q *queue) enqueue(f func(*device.Thread, *device.Stream) error) {
	if q.err == nil {
		q.err = f(q.t, q.s)
	}
}

// sync waits for all enqueued work and returns the first error.
func (q *queue) sync() error {
	if q.err == nil {
		q.machine.beginPhase(phaseWait)
		q.err, q.marks, q.pairs = q.s.Sync(q.t), 0, 0
		q.machine.beginPhase(phaseEnqueue)
	}
	return q.err
}

// pacedShare: paceChunk waits separately for a chunk of at least maxPairs/pacedShare pairs; smaller ones are
// not worth a wait of their own.
const pacedShare = 64

// paceChunk ends a chunk of so many pairs of an atom and a query. It waits until the chunk before the
// last is complete, so that little is in flight when ctx ends, and returns ctx's error. Small chunks
// are combined.
func (q *queue) paceChunk(ctx context.Context, pairs int) error {
	if q.pairs += pairs; q.pairs >= q.machine.maxPairs/pacedShare {
		e := q.machine.chunkEvents[q.marks%len(q.machine.chunkEvents)]
		if q.marks >= len(q.machine.chunkEvents) {
			q.machine.beginPhase(phaseWait)
			q.enqueue(func(t *device.Thread, _ *device.Stream) error { return e.Sync(t) })
			q.machine.beginPhase(phaseEnqueue)
		}
		q.enqueue(e.Record)
		q.marks, q.pairs = q.marks+1, 0
	}
	if q.err != nil {
		return q.err
	}
	return ctx.Err()
}
