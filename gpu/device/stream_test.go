//go:build cuda && cgo

package device

import (
	"context"
	"errors"
	"testing"
)

// pipeline is an upload on one stream and a download after it on another.
type pipeline struct {
	up, down    *Stream
	start, over *Event
	in, out     *Pinned[uint32]
	b           *Buffer[uint32]
}

const pipelineLen = 4096

func newPipeline(th *Thread) (*pipeline, error) {
	var p pipeline
	var errs [7]error
	p.up, errs[0] = th.NewStream("up")
	p.down, errs[1] = th.NewStream("down")
	p.start, errs[2] = th.NewEvent("start")
	p.over, errs[3] = th.NewEvent("over")
	p.in, errs[4] = AllocPinned[uint32](th, "in", pipelineLen)
	p.out, errs[5] = AllocPinned[uint32](th, "out", pipelineLen)
	p.b, errs[6] = Alloc[uint32](th, "b", pipelineLen)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for i := range p.in.Slice() {
		p.in.Slice()[i], p.out.Slice()[i] = uint32(i)*2654435761, 0
	}
	return &p, nil
}

// enqueue makes down wait for the work on up.
func (p *pipeline) enqueue(th *Thread) error {
	return errors.Join(
		p.start.Record(th, p.up),
		p.b.UploadAsync(th, p.up, 0, p.in, 0, pipelineLen),
		p.over.Record(th, p.up),
		p.down.After(th, p.over),
		p.b.DownloadAsync(th, p.down, p.out, 0, 0, pipelineLen),
	)
}

func (p *pipeline) check(t *testing.T) {
	t.Helper()
	for i, v := range p.out.Slice() {
		if want := uint32(i) * 2654435761; v != want {
			t.Errorf("element %d is %d, want %d", i, v, want)
			return
		}
	}
}

func (p *pipeline) free(th *Thread) error {
	return errors.Join(p.up.Close(th), p.up.Close(th), p.down.Close(th), p.start.Close(th), p.over.Close(th), p.over.Close(th),
		p.in.Free(th), p.out.Free(th), p.b.Free(th))
}

func TestEventsOrderStreams(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		p, err := newPipeline(th)
		if err != nil {
			return err
		}
		if done, err := p.up.Done(th); err != nil || !done {
			t.Error("an idle stream: ", done, err)
		}
		if err := p.enqueue(th); err != nil {
			return err
		}
		if done, err := p.over.Done(th); err != nil || done && onEmulator() {
			t.Error("an event ahead: ", done, err)
		}
		if done, err := p.down.Done(th); err != nil || done && onEmulator() {
			t.Error("a stream with work: ", done, err)
		}
		if err := p.down.Sync(th); err != nil { // waits for up, by the event
			return err
		}
		p.check(t)
		if done, err := p.over.Done(th); err != nil || !done {
			t.Error("an event behind: ", done, err)
		}
		if err := errors.Join(p.over.Sync(th), p.over.Wait(t.Context(), th), p.up.Sync(th)); err != nil {
			return err
		}
		took, err := p.over.Since(th, p.start)
		if err != nil || took < 0 {
			t.Error("time between events: ", took, err)
		}
		back, err := p.start.Since(th, p.over)
		if err != nil || back != -took && onEmulator() {
			t.Errorf("%v one way, %v the other (%v)", took, back, err)
		}
		if err := p.free(th); err != nil {
			return err
		}
		refused(t, p.up.Sync(th), nil, "a stream was used that is closed")
		refused(t, p.over.Record(th, p.up), nil, "an event was used that is closed")
		refused(t, (*Stream)(nil).Sync(th), nil, "never made")
		refused(t, (*Event)(nil).Sync(th), nil, "never made")
		refused(t, p.down.Wait(t.Context(), th), nil, "closed")
		refused(t, p.down.Wait(context.Background(), th), nil, "closed")
		_, err = p.down.Done(th)
		refused(t, err, nil, "closed")
		return errors.Join((*Stream)(nil).Close(th), (*Event)(nil).Close(th))
	})
}

// A wait that its context ends leaves the work enqueued; a later wait completes it, and memory
// freed in between is freed after it.
func TestWaitGivesUp(t *testing.T) {
	d := openTest(t, Options{})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	onThread(t, d, func(th *Thread) error {
		p, err := newPipeline(th)
		if err != nil {
			return err
		}
		if err := p.enqueue(th); err != nil {
			return err
		}
		if err := p.down.Wait(ended, th); !errors.Is(err, context.Canceled) && (onEmulator() || err != nil) {
			t.Error(err)
		}
		if err := p.down.Wait(t.Context(), th); err != nil {
			t.Error(err)
		}
		p.check(t)
		if err := p.down.Wait(ended, th); err != nil {
			t.Error("nothing to wait for, and yet ", err)
		}
		if err := p.enqueue(th); err != nil {
			return err
		}
		if err := p.over.Wait(ended, th); !errors.Is(err, context.Canceled) && (onEmulator() || err != nil) {
			t.Error(err)
		}
		return p.free(th)
	})
}

// Waiting for an event that was never recorded returns at once.
func TestEventNotRecorded(t *testing.T) {
	d := openTest(t, Options{})
	onThread(t, d, func(th *Thread) error {
		e, err := th.NewEvent("unused")
		if err != nil {
			return err
		}
		if done, err := e.Done(th); err != nil || !done {
			t.Error(done, err)
		}
		return errors.Join(e.Sync(th), e.Close(th))
	})
}
