//go:build cuda && cgo

package gpu

import (
	"context"
	"errors"
	"runtime"
	"time"

	"gorgonia.org/cu"
)

// Stream is a queue of work on a device: what is enqueued on one stream runs in
// order, what is on two may overlap. Synchronous copies are ordered with all
// streams.
type Stream struct {
	d    *Device
	s    cu.Stream
	held *entry
}

// NewStream makes a stream. purpose says what for, in errors.
func (t *Thread) NewStream(purpose string) (*Stream, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	// Not cu.NonBlocking: such streams have no order with synchronous copies,
	// whose last bytes may be on their way when the call returns.
	h, err := cu.MakeStream(cu.DefaultStream)
	if err != nil {
		return nil, t.fail(err, "cuStreamCreate(%s)", purpose)
	}
	s := &Stream{d: t.d, s: h}
	s.held = &entry{kind: "stream", purpose: purpose, free: s.Close}
	t.d.memory.add(s.held)
	return s, nil
}

// owned says whether s is alive and of t's device.
func (s *Stream) owned(t *Thread) error {
	if err := t.live(); err != nil {
		return err
	}
	if s == nil || s.held == nil {
		return errors.New("gpu: a stream was used that is closed or was never made")
	}
	return t.owns(s.d)
}

// Sync waits until everything enqueued on s is done. An error of a kernel shows
// here at the latest.
func (s *Stream) Sync(t *Thread) error {
	if err := s.owned(t); err != nil {
		return err
	}
	if err := s.s.Synchronize(); err != nil {
		return t.fail(err, "cuStreamSynchronize(%s)", s.held.purpose)
	}
	return nil
}

// Done reports whether everything enqueued on s is done.
func (s *Stream) Done(t *Thread) (bool, error) {
	if err := s.owned(t); err != nil {
		return false, err
	}
	return t.ready(s.s.Query(), "cuStreamQuery(%s)", s.held.purpose)
}

// Wait is Sync that gives up when ctx ends: it then returns ctx's error, and
// what is enqueued goes on. Buffers may be freed meanwhile, for freeing waits;
// they must not be read or written by the host before a later Sync or Wait.
func (s *Stream) Wait(ctx context.Context, t *Thread) error {
	if ctx.Done() == nil {
		return s.Sync(t)
	}
	return poll(ctx, func() (bool, error) { return s.Done(t) })
}

// After lets what is enqueued on s from now on wait for e.
func (s *Stream) After(t *Thread, e *Event) error {
	if err := s.owned(t); err != nil {
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

// Close waits for the device's work and gives s back. Closing again does nothing.
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
	return t.giveBack(call, s.s.Destroy)
}

// Event marks a point in a stream: others can wait for it, and the time between
// two can be told.
type Event struct {
	d    *Device
	e    cu.Event
	held *entry
}

// NewEvent makes an event. purpose says what for, in errors.
func (t *Thread) NewEvent(purpose string) (*Event, error) {
	if err := t.live(); err != nil {
		return nil, err
	}
	h, err := cu.MakeEvent(cu.DefaultEvent)
	if err != nil {
		return nil, t.fail(err, "cuEventCreate(%s)", purpose)
	}
	e := &Event{d: t.d, e: h}
	e.held = &entry{kind: "event", purpose: purpose, free: e.Close}
	t.d.memory.add(e.held)
	return e, nil
}

// owned says whether e is alive and of t's device.
func (e *Event) owned(t *Thread) error {
	if err := t.live(); err != nil {
		return err
	}
	if e == nil || e.held == nil {
		return errors.New("gpu: an event was used that is closed or was never made")
	}
	return t.owns(e.d)
}

// Record puts e at the end of what is enqueued on s.
func (e *Event) Record(t *Thread, s *Stream) error {
	if err := e.owned(t); err != nil {
		return err
	}
	if err := s.owned(t); err != nil {
		return err
	}
	if err := e.e.Record(s.s); err != nil {
		return t.fail(err, "cuEventRecord(%s, %s)", e.held.purpose, s.held.purpose)
	}
	return nil
}

// Sync waits until the stream has reached e. An event never recorded is reached.
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

// Since is the time on the device from start to e, to half a microsecond. Both
// must have been reached.
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

// Close waits for the device's work and gives e back. Closing again does nothing.
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
	return t.giveBack(call, func() error { return cu.DestroyEvent(&e.e) })
}

// ready reads the answer of a query.
func (t *Thread) ready(err error, call, purpose string) (bool, error) {
	switch {
	case err == nil:
		return true, nil
	case codeOf(err) == codeNotReady:
		return false, nil
	}
	return false, t.fail(err, call, purpose)
}

// poll asks until done says so or ctx ends. It spins for the first
// milliseconds, as the driver's own wait does, for most waits are short; then
// it sleeps between questions.
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
