//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"runtime"
	"time"

	"gorgonia.org/cu"
)

// Stream is a queue of work on a device. Work on one stream runs in order; work on different streams
// may overlap. Synchronous copies are ordered with all streams.
type Stream struct {
	d    *Device
	s    cu.Stream
	held *allocation
}

// NewStream makes a stream; errors mention purpose.
func (t *Thread) NewStream(purpose string) (*Stream, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	// Not cu.NonBlocking: such streams are not ordered with synchronous copies, which may still be
	// transferring when the call returns.
	h, err := cu.MakeStream(cu.DefaultStream)
	if err != nil {
		return nil, t.fail(err, "cuStreamCreate(%s)", purpose)
	}
	s := &Stream{d: t.d, s: h}
	s.held = &allocation{kind: "stream", purpose: purpose, free: s.Close}
	t.d.memory.add(s.held)
	return s, nil
}

// owned returns an error unless s is open and belongs to t's device.
func (s *Stream) owned(t *Thread) error {
	if err := t.live(); err != nil {
		return err
	}
	if s == nil || s.held == nil {
		return errors.New("gpu: a stream was used that is closed or was never made")
	}
	return t.owns(s.d)
}

// inOrder is owned for a call that must follow the launches that were collected: it enqueues them.
func (s *Stream) inOrder(t *Thread) error {
	if err := s.owned(t); err != nil {
		return err
	}
	return t.enqueueCollected()
}

// Sync waits until all work enqueued on s is complete. A kernel's error is returned here at the latest.
func (s *Stream) Sync(t *Thread) error {
	if err := s.owned(t); err != nil {
		return err
	}
	ready := t.enqueueCollected()
	if err := s.s.Synchronize(); err != nil { // it waits also for work that was enqueued before an error
		if err = t.fail(err, "cuStreamSynchronize(%s)", s.held.purpose); ready == nil {
			return err
		}
	}
	return ready
}

// Done reports whether all work enqueued on s is complete.
func (s *Stream) Done(t *Thread) (bool, error) {
	if err := s.inOrder(t); err != nil {
		return false, err
	}
	return t.ready(s.s.Query(), "cuStreamQuery(%s)", s.held.purpose)
}

// Wait is Sync that returns ctx's error when ctx ends; the enqueued work continues. Buffers may then
// be freed, since freeing waits, but the host must not access them before a later Sync or Wait.
func (s *Stream) Wait(ctx context.Context, t *Thread) error {
	if ctx.Done() == nil {
		return s.Sync(t)
	}
	return poll(ctx, func() (bool, error) { return s.Done(t) })
}

// After makes work enqueued on s from now on wait for e.
func (s *Stream) After(t *Thread, e *Event) error {
	if err := s.inOrder(t); err != nil {
		return err
	}
	if err := e.owned(t); err != nil {
		return err
	}
	if err := s.s.Wait(e.e, 0); err != nil {
		return t.fail(err, "cuStreamWaitEvent(%s, %s)", s.held.purpose, e.held.purpose)
	}
	return nil
}

// Close waits for the device's work and releases s. It may be called again.
func (s *Stream) Close(t *Thread) error {
	if s == nil || s.held == nil {
		return nil
	}
	if err := t.owns(s.d); err != nil {
		return err
	}
	call := "cuStreamDestroy(" + s.held.purpose + ")"
	t.d.memory.remove(s.held)
	s.held = nil
	err := t.freeAfterSync(call, s.s.Destroy)
	if t.d.sequence.stream == s {
		t.d.sequence.stream = nil
	}
	return err
}

// Event marks a point in a stream. Streams can wait for it, and the time between two events can be
// measured.
type Event struct {
	d    *Device
	e    cu.Event
	held *allocation
}

// NewEvent makes an event; errors mention purpose.
func (t *Thread) NewEvent(purpose string) (*Event, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	h, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		return nil, t.fail(err, "cuEventCreate(%s)", purpose)
	}
	e := &Event{d: t.d, e: h}
	e.held = &allocation{kind: "event", purpose: purpose, free: e.Close}
	t.d.memory.add(e.held)
	return e, nil
}

// owned returns an error unless e is open and belongs to t's device.
func (e *Event) owned(t *Thread) error {
	if err := t.live(); err != nil {
		return err
	}
	if e == nil || e.held == nil {
		return errors.New("gpu: an event was used that is closed or was never made")
	}
	return t.owns(e.d)
}

// Record places e after all work enqueued on s.
func (e *Event) Record(t *Thread, s *Stream) error {
	if err := e.owned(t); err != nil {
		return err
	}
	if err := s.inOrder(t); err != nil {
		return err
	}
	if err := e.e.Record(s.s); err != nil {
		return t.fail(err, "cuEventRecord(%s, %s)", e.held.purpose, s.held.purpose)
	}
	return nil
}

// Sync waits until the stream has reached e. An event that was never recorded counts as reached.
func (e *Event) Sync(t *Thread) error {
	if err := e.owned(t); err != nil {
		return err
	}
	if err := e.e.Synchronize(); err != nil {
		return t.fail(err, "cuEventSynchronize(%s)", e.held.purpose)
	}
	return nil
}

// Done reports whether the stream has reached e.
func (e *Event) Done(t *Thread) (bool, error) {
	if err := e.owned(t); err != nil {
		return false, err
	}
	return t.ready(e.e.Query(), "cuEventQuery(%s)", e.held.purpose)
}

// Wait is Sync that gives up when ctx ends, as Stream.Wait does.
func (e *Event) Wait(ctx context.Context, t *Thread) error {
	if ctx.Done() == nil {
		return e.Sync(t)
	}
	return poll(ctx, func() (bool, error) { return e.Done(t) })
}

// Since returns the device's time from start to e, to half a microsecond. Both must have been
// reached.
func (e *Event) Since(t *Thread, start *Event) (time.Duration, error) {
	if err := e.owned(t); err != nil {
		return 0, err
	}
	if err := start.owned(t); err != nil {
		return 0, err
	}
	ms, err := start.e.Elapsed(e.e)
	if err != nil {
		return 0, t.fail(err, "cuEventElapsedTime(%s, %s)", start.held.purpose, e.held.purpose)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// Close waits for the device's work and releases e. It may be called again.
func (e *Event) Close(t *Thread) error {
	if e == nil || e.held == nil {
		return nil
	}
	if err := t.owns(e.d); err != nil {
		return err
	}
	call := "cuEventDestroy(" + e.held.purpose + ")"
	t.d.memory.remove(e.held)
	e.held = nil
	return t.freeAfterSync(call, func() error { return cu.DestroyEvent(&e.e) })
}

// ready converts the result of a driver's query.
func (t *Thread) ready(err error, call, purpose string) (bool, error) {
	switch {
	case err == nil:
		return true, nil
	case codeOf(err) == codeNotReady:
		return false, nil
	}
	return false, t.fail(err, call, purpose)
}

// poll calls done until it returns true or ctx ends. It spins for the first milliseconds, like the
// driver's own wait, since most waits are short; then it sleeps between calls.
func poll(ctx context.Context, done func() (bool, error)) error {
	const spin, nap = 5 * time.Millisecond, 50 * time.Microsecond
	start := time.Now()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(start) < spin {
			runtime.Gosched()
			continue
		}
		time.Sleep(nap)
	}
}
