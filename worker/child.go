package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
)

// maxCalls bounds the calls in progress.
const maxCalls = 256

// Options configure a Child.
type Options struct {
	// Version is the program's, for hello.
	Version string
	Log     *slog.Logger
	// Device opens a device for a collection by name ("auto", "cpu", "cuda"), or returns it if it is open. On
	// the CPU it computes with so many threads; 0 is the program's setting.
	Device func(ctx context.Context, name string, threads int, c *collection.Collection) (*Device, error)
	// Costs returns the costs by which it is decided whether building pays for a device of that name; nil if
	// it is a GPU, for which codes are always built but for method exact.
	Costs func(ctx context.Context, name string) (*backend.Costs, error)
	// Devices lists what can search. Without probe no GPU is opened, so that it is not known whether one
	// is full or busy.
	Devices func(probe bool) []Listed
	// Spare returns the number of bytes that one piece of work may take; 0 if unknown.
	Spare func() int64
	// Threads is the number of goroutines of a build; 0 is GOMAXPROCS.
	Threads int
	// DenseLimit is dataset.Options' DenseLimit, ReadLimit what dataset.BudgetOf takes.
	DenseLimit, ReadLimit int64
}

// Device answers searches.
type Device struct {
	Backend backend.Backend
	Engine  *batch.Options
	// Unused says of each GPU that is there and does not search why, and what to do about it; instead is
	// why the fallback searches in the backend's place, or nil. nil for none.
	Unused func(instead error) []string
}

// UnknownDevice is the error of Options.Device for a name that it does not know.
func UnknownDevice(name string) error {
	return wrong("device", "%q is none of auto, cpu, cuda", name)
}

// Child answers the calls of one client.
type Child struct {
	o        Options
	link     link
	sending  sync.Mutex
	segments segments
	registry registry
	calls    sync.WaitGroup
	idle     idle

	// Of the reading goroutine: whether it performed the last call itself, and how many it will not.
	prompt  bool
	crowded int

	mu     sync.Mutex
	active map[int64]context.CancelCauseFunc // by the calls' ids
}

// New returns a child of the client at the other end of in, a socket, or of in and out, two
// pipes. It owns both.
func New(in, out *os.File, o Options) (*Child, error) {
	l, err := connect(in, out)
	if err != nil {
		return nil, err
	}
	s := newChild(l, o)
	s.registry.last = rand.Int64N(1<<31) << 20 // no handle of another worker is one of this one's
	return s, nil
}

func newChild(l link, o Options) *Child {
	return &Child{o: o, link: l, active: map[int64]context.CancelCauseFunc{}}
}

// Serve answers calls until the connection or ctx ends. It returns nil at the end of the
// connection, and leaves calls that were cancelled by it to Close.
func (s *Child) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { s.link.Close() })()
	for {
		f, err := readFrame(s.link)
		switch {
		case ctx.Err() != nil:
			if f != nil {
				f.close()
			}
			return ctx.Err()
		case err == io.EOF:
			return nil
		case err != nil:
			return s.refuse(err)
		}
		if err := s.accept(ctx, f); err != nil {
			f.close()
			return s.refuse(err)
		}
	}
}

// refuse tells the client why the connection ends.
func (s *Child) refuse(err error) error {
	var f *failure
	if errors.As(err, &f) {
		err = errors.Join(err, s.send(&answer{Error: f}, nil))
	}
	return fmt.Errorf("the connection ends: %w", err)
}

// Close ends the connection, waits for calls, which Serve has cancelled, and frees the
// collections.
func (s *Child) Close() error {
	err := s.link.Close()
	s.calls.Wait()
	s.idle.close()
	if l, ok := s.link.(interface{ discard() }); ok {
		l.discard()
	}
	s.registry.clear()
	s.segments.clear()
	if errors.Is(err, os.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil // by Serve
	}
	return err
}

// request is the header of a frame from the client.
type request struct {
	ID         int64           `json:"id"`
	Op         string          `json:"op"`
	Fields     json.RawMessage `json:"fields"`
	Arrays     []descriptor    `json:"arrays"`
	DeadlineMS float64         `json:"deadline_ms"`
	Progress   bool            `json:"progress"`

	compact *searching // of a compact header, in place of Fields
}

// maxArrays bounds the arrays of a frame.
const maxArrays = 64

// accept takes a frame: what manages calls and segments is done at once, an operation is begun. An
// error ends the connection; the caller then closes the frame.
func (s *Child) accept(ctx context.Context, f *frame) error {
	if waited := s.link.await(false); s.prompt && !waited {
		s.crowded = crowd
	}
	s.prompt = false
	r, err := readHeader(f.header)
	if err != nil {
		return err
	}
	if r.ID < 0 {
		return violation("id %d, at least 0", r.ID)
	}
	if len(r.Arrays) > maxArrays {
		return violation("%d arrays, at most %d", len(r.Arrays), maxArrays)
	}
	if do := control(r.Op); do != nil {
		result, err := do(s, &r, f)
		f.close()
		if r.ID != 0 {
			s.conclude(r.ID, result, nil, err)
		} else if err != nil {
			s.o.Log.Debug("refused", "op", r.Op, "error", err)
		}
		return nil
	}
	if r.ID == 0 {
		return violation("op %q without an id", r.Op)
	}
	c := &call{s: s, request: r, frame: f, arguments: &arguments{}}
	callCtx, cancel := context.WithCancelCause(ctx)
	if err := s.enlist(r.ID, cancel); err != nil {
		cancel(nil)
		f.close()
		if err.Kind == badProtocol {
			return err
		}
		s.conclude(r.ID, nil, nil, err)
		return nil
	}
	err = c.locate()
	s.idle.begin()
	perform := func() {
		defer s.idle.end()
		defer cancel(nil)
		c.run(callCtx, err)
	}
	if s.performsNow(c) {
		perform()
		return nil
	}
	s.calls.Go(perform)
	return nil
}

// crowd is how many calls in a row are given goroutines of their own after one came while another was performed
// by the reading goroutine: there are several callers, who would wait for each other.
const crowd = 32

// performsNow reports whether the reading goroutine should perform a call itself, and lets it wait in the
// system for the next: a caller then waits for no thread but that one.
func (s *Child) performsNow(c *call) bool {
	if s.crowded > 0 {
		s.crowded--
		return false
	}
	if s.link.buffered() > 0 || s.isBusy() || !c.isPrompt() {
		return false
	}
	s.prompt = true
	s.link.await(true)
	return true
}

// isBusy reports whether there are calls in progress beside the one that was just begun.
func (s *Child) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active) > 1
}

// readHeader decodes the header of a frame from the client.
func readHeader(b []byte) (request, error) {
	if len(b) > 0 && b[0] == compactSearch {
		return readCompact(b)
	}
	var r request
	if err := decodeStrictly(b, &r); err != nil {
		return r, violation("header: %v", err)
	}
	return r, nil
}

// free releases a collection that was removed from the registry.
func (s *Child) free(v *index) {
	bytes := v.Bytes()
	if err := v.release(); err != nil {
		s.o.Log.Error("freed with an error", "error", err)
	}
	s.idle.freed(bytes)
}

// enlist adds a call to those in progress.
func (s *Child) enlist(id int64, cancel context.CancelCauseFunc) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.active[id] != nil:
		return violation("id %d is that of a call in progress", id)
	case len(s.active) >= maxCalls:
		return (&failure{Kind: busy, Message: fmt.Sprintf("more than %d calls are in progress", maxCalls)}).within(maxCalls)
	}
	s.active[id] = cancel
	return nil
}

func (s *Child) delist(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.active, id)
}

// conclude answers a call.
func (s *Child) conclude(id int64, result any, arrays *reply, err error) {
	a := &answer{ID: id, Reply: result}
	if err != nil {
		a.Reply, a.Error, arrays = nil, failureOf(err), nil
		if a.Error.Kind == internal {
			s.o.Log.Error("internal error", "error", err)
		}
	}
	err = s.send(a, arrays)
	if gone(err) { // nobody waits for the answer
		s.o.Log.Debug("not sent, the client is gone", "id", id, "error", err)
		return
	}
	if err != nil && a.Error == nil { // what cannot be encoded or has no descriptors; the client waits for an answer
		s.o.Log.Error("the answer cannot be sent", "id", id, "error", err)
		err = s.send(&answer{ID: id, Error: failureOf(fmt.Errorf("the answer cannot be sent: %w", err))}, nil)
	}
	if err != nil {
		s.o.Log.Debug("not sent", "id", id, "error", err)
	}
}

// gone reports whether a frame could not be sent because the client has closed the connection, or died.
func gone(err error) bool {
	for _, e := range []error{syscall.EPIPE, syscall.ECONNRESET, net.ErrClosed, os.ErrClosed, io.ErrClosedPipe} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
