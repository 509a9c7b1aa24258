//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"thresher/backend"
	"thresher/gpu/device"
)

var _ backend.Stager = (*resident)(nil)

const (
	// copiedValues is machine.pieceValues.
	copiedValues = 1 << 16
	// cachedValues is the number of coordinates that are checked and then copied: so few that they stay in the
	// core's first cache.
	cachedValues = 1 << 12
)

// stagedQueries are queries as given, on their way to the device: in pinned memory, from which their upload is
// enqueued, in their order.
type stagedQueries struct {
	m      *machine
	used   atomic.Bool // by a run, or released
	pinned *device.Pinned[uint8]
	mem    *device.Buffer[uint8]
}

// Stage checks the queries and copies them to pinned memory in one pass on all cores, and enqueues their
// upload in pieces behind it.
func (r *resident) Stage(q backend.Queries, check func(lo, hi int) error) (backend.Queries, error) {
	q.Staged = nil
	threads, piece, cached := runtime.GOMAXPROCS(0), max(1, r.m.pieceValues/q.Dim), max(1, cachedValues/q.Dim)
	if q.M*q.Dim < 2*r.m.pieceValues || r.closed.Load() {
		return q, backend.EachPiece(1, q.M, piece, check, nil)
	}
	var s *stagedQueries
	var bad error
	_, err := r.m.d.TryDo(func(t *device.Thread) (err error) {
		if s, err = newStagedQueries(t, r.m, 4*q.M*q.Dim); err != nil {
			return err
		}
		to, sent := viewPinned(s.pinned, array[float32](0), 0, q.M*q.Dim), 0
		bad = backend.EachPiece(threads, q.M, piece, func(lo, hi int) error {
			for at := lo; at < hi; at += cached {
				end := min(at+cached, hi)
				if err := check(at, end); err != nil {
					return err
				}
				copy(to[at*q.Dim:end*q.Dim], q.Data[at*q.Dim:end*q.Dim])
			}
			return nil
		}, func(hi int) {
			from, end := 4*sent*q.Dim, 4*hi*q.Dim
			if sent = hi; err == nil {
				err = s.mem.UploadAsync(t, r.m.stream, from, s.pinned, from, end-from)
			}
		})
		if err != nil || bad != nil {
			err = errors.Join(err, r.m.stream.Sync(t), s.freeMemory(t))
			s = nil
		}
		return err
	})
	if bad != nil {
		return q, bad
	}
	if err == nil && s != nil {
		q.Staged = s
		return q, nil
	}
	if s != nil {
		s.Release()
	}
	// Another search has the device, or there is no memory, or an error that the run will meet, too.
	return q, backend.EachPiece(threads, q.M, piece, check, nil)
}

// newStagedQueries takes memory from the pool.
func newStagedQueries(t *device.Thread, m *machine, bytes int) (s *stagedQueries, err error) {
	s = &stagedQueries{m: m}
	if s.mem, err = m.pool.TakeDevice(t, "queries as given", bytes); err != nil {
		return nil, err
	}
	if s.pinned, err = m.pool.TakePinned(t, "queries as given", bytes); err != nil {
		return nil, errors.Join(err, m.pool.ReturnDevice(t, s.mem))
	}
	return s, nil
}

// takeStaged returns what is staged of queries if it is for machine m and nobody has used it yet, else nil.
func takeStaged(m *machine, staged backend.Staged) *stagedQueries {
	if s, ok := staged.(*stagedQueries); ok && s.m == m && s.used.CompareAndSwap(false, true) {
		return s
	}
	return nil
}

// freeMemory returns the memory to the pool; no enqueued work may use it.
func (s *stagedQueries) freeMemory(t *device.Thread) error {
	if s == nil {
		return nil
	}
	err := errors.Join(s.m.pool.ReturnDevice(t, s.mem), s.m.pool.ReturnPinned(t, s.pinned))
	s.mem, s.pinned = nil, nil
	return err
}

// Release returns the memory to the pool, unless a run has it.
func (s *stagedQueries) Release() {
	if s.used.CompareAndSwap(false, true) {
		// An error loses the device or the memory, which the next search reports.
		_ = s.m.do(context.Background(), func(q *queue) error { return errors.Join(q.s.Sync(q.t), s.freeMemory(q.t)) })
	}
}
