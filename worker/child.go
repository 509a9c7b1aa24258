package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"thresher/backend"
	"thresher/batch"
)

// mostCalls bounds the calls in progress.
const mostCalls = 256

// Options configure a Child.
type Options struct {
	// Version is the program's, for hello.
	Version string
	Log     *slog.Logger
	// Device opens a device by name ("auto", "cpu", "cuda"), or returns it if it is open.
	Device func(ctx context.Context, name string) (*Device, error)
	// Devices lists what can search, without opening a GPU.
	Devices func() []Listed
	// Spare returns the number of bytes that one piece of work may take; 0 if unknown.
	Spare func() int64
	// Threads is the number of goroutines of a build; 0 is GOMAXPROCS.
	Threads int
}

// Device answers searches.
type Device struct {
	Backend backend.Backend
	Engine  *batch.Options
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
	shelf    shelf
	calls    sync.WaitGroup

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
	s.shelf.last = rand.Int64N(1<<31) << 20 // no handle of another worker is one of this one's
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
	if l, ok := s.link.(interface{ discard() }); ok {
		l.discard()
	}
	s.shelf.clear()
	s.segments.clear()
	if errors.Is(err, os.ErrClosed) || errors.Is(err, net.ErrClosed) {
		return nil // by Serve
	}
	return err
}

// request is the header of a frame from the client.
type request struct {
	ID        int64           `json:"id"`
	Op        string          `json:"op"`
	Fields    json.RawMessage `json:"fields"`
	Arrays    []descriptor    `json:"arrays"`
	TimeoutMS float64         `json:"timeout_ms"`
	Progress  bool            `json:"progress"`
}

// mostArrays bounds the arrays of a frame.
const mostArrays = 64

// accept takes a frame: what manages calls and segments is done at once, an operation is begun. An
// error ends the connection; the caller then closes the frame.
func (s *Child) accept(ctx context.Context, f *frame) error {
	var r request
	if err := decodeStrictly(f.header, &r); err != nil {
		return violation("header: %v", err)
	}
	if r.ID < 0 {
		return violation("id %d, at least 0", r.ID)
	}
	if len(r.Arrays) > mostArrays {
		return violation("%d arrays, at most %d", len(r.Arrays), mostArrays)
	}
	if do := control(r.Op); do != nil {
		reply, err := do(s, &r, f)
		f.close()
		if r.ID != 0 {
			s.conclude(r.ID, reply, nil, err)
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
	err := c.locate()
	s.calls.Go(func() {
		defer cancel(nil)
		c.run(callCtx, err)
	})
	return nil
}

// enlist adds a call to those in progress.
func (s *Child) enlist(id int64, cancel context.CancelCauseFunc) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.active[id] != nil:
		return violation("id %d is that of a call in progress", id)
	case len(s.active) >= mostCalls:
		return (&failure{Kind: busy, Message: fmt.Sprintf("more than %d calls are in progress", mostCalls)}).within(mostCalls)
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
func (s *Child) conclude(id int64, reply any, arrays *sheet, err error) {
	a := &answer{ID: id, Reply: reply}
	if err != nil {
		a.Reply, a.Error, arrays = nil, failureOf(err), nil
		if a.Error.Kind == internal {
			s.o.Log.Error("internal error", "error", err)
		}
	}
	if err := s.send(a, arrays); err != nil {
		s.o.Log.Debug("not sent", "id", id, "error", err)
	}
}

// call is an operation in progress.
type call struct {
	request
	*arguments
	s     *Child
	frame *frame

	reporting sync.Mutex
	reported  time.Time
}

// locate finds the call's arrays.
func (c *call) locate() error {
	for i := range c.request.Arrays {
		d := c.request.Arrays[i]
		for _, other := range c.arrays {
			if other.Name == d.Name {
				return wrong(d.Name, "the array is given twice")
			}
		}
		a, err := c.s.locate(d, c.frame)
		if err != nil {
			return err
		}
		c.arrays = append(c.arrays, a)
	}
	return nil
}

// run performs the call and answers it; err is what was wrong with its arrays.
func (c *call) run(ctx context.Context, err error) {
	var reply any
	var arrays *sheet
	if err == nil {
		reply, arrays, err = c.perform(ctx)
	}
	c.release()
	c.frame.close()
	c.s.delist(c.ID)
	if cause := context.Cause(ctx); errors.Is(cause, errCancelled) {
		err = cause
	}
	if made, ok := reply.(*about); ok && err != nil {
		c.s.shelf.remove(made.Handle) // nobody knows of it
	}
	c.s.conclude(c.ID, reply, arrays, err)
	if arrays != nil {
		arrays.close()
	}
}

// errCancelled is the cause of a context that cancel ended.
var errCancelled = &failure{Kind: cancelled, Message: "the call was cancelled"}

// perform does what the operation does. A panic is an internal error; so is a fault in memory
// that a file no longer backs, if it happens on this goroutine.
func (c *call) perform(ctx context.Context) (reply any, arrays *sheet, err error) {
	debug.SetPanicOnFault(true)
	defer func() {
		if p := recover(); p != nil {
			c.s.o.Log.Error("panic", "op", c.Op, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: %v", c.Op, p)
		}
	}()
	do := operation(c.Op)
	if do == nil {
		return nil, nil, wrong("op", "there is no operation %q", c.Op)
	}
	if !(c.TimeoutMS >= 0 && c.TimeoutMS < 1e15) {
		return nil, nil, wrong("timeout_ms", "%g, at least 0", c.TimeoutMS)
	}
	if c.TimeoutMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(min(c.TimeoutMS, 1e12)*1e6))
		defer cancel()
	}
	return do(c, ctx)
}

// fields decodes the call's fields.
func (c *call) fields(into any) error {
	if len(c.Fields) == 0 {
		return nil
	}
	if err := decodeStrictly(c.Fields, into); err != nil {
		var f *failure
		if errors.As(err, &f) {
			return f
		}
		return wrong("fields", "%v", err)
	}
	return nil
}

// decodeStrictly decodes one JSON object whose members are all known.
func decodeStrictly(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return wrong(mistyped.Field, "is %s; %s is wanted", mistyped.Value, mistyped.Type)
	case err != nil:
		var name string
		if _, scan := fmt.Sscanf(err.Error(), "json: unknown field %q", &name); scan == nil {
			return wrong(name, "there is no such field")
		}
		return err
	case d.More():
		return errors.New("more than one value")
	}
	return nil
}

// report tells the client how far the call has come, at most ten times a second.
func (c *call) report(step string, done, total int64) {
	if !c.Progress {
		return
	}
	c.reporting.Lock()
	defer c.reporting.Unlock()
	if now := time.Now(); done < total && now.Sub(c.reported) < 100*time.Millisecond {
		return
	} else {
		c.reported = now
	}
	if err := c.s.send(&answer{ID: c.ID, Progress: &progress{step, done, total}}, nil); err != nil {
		c.s.o.Log.Debug("not sent", "id", c.ID, "error", err)
	}
}

// returnedBytes is from which size on the memory of a freed collection is returned to the system at
// once: the next collection of garbage may be far.
const returnedBytes = 64 << 20

// control returns what an operation that manages calls, collections and segments does.
func control(op string) func(s *Child, r *request, f *frame) (any, error) {
	switch op {
	case "map":
		return func(s *Child, r *request, f *frame) (any, error) {
			var x struct {
				Segment int64 `json:"segment"`
				Bytes   int64 `json:"bytes"`
			}
			if err := decodeStrictly(r.Fields, &x); err != nil {
				return nil, err
			}
			return struct{}{}, s.segments.add(x.Segment, x.Bytes, f)
		}
	case "unmap":
		return func(s *Child, r *request, _ *frame) (any, error) {
			var x struct {
				Segment int64 `json:"segment"`
			}
			if err := decodeStrictly(r.Fields, &x); err != nil {
				return nil, err
			}
			return struct{}{}, s.segments.remove(x.Segment)
		}
	case "free":
		return func(s *Child, r *request, _ *frame) (any, error) {
			var x struct {
				Handle int64 `json:"handle"`
			}
			if err := decodeStrictly(r.Fields, &x); err != nil {
				return nil, err
			}
			bytes, err := s.shelf.remove(x.Handle)
			if bytes >= returnedBytes {
				s.calls.Go(debug.FreeOSMemory)
			}
			return struct{}{}, err
		}
	case "cancel":
		return func(s *Child, r *request, _ *frame) (any, error) {
			var x struct {
				Call int64 `json:"call"`
			}
			if err := decodeStrictly(r.Fields, &x); err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			cancel, found := s.active[x.Call]
			if found {
				cancel(errCancelled)
			}
			return struct {
				Found bool `json:"found"`
			}{found}, nil
		}
	}
	return nil
}

// operation returns what an operation does; nil for an unknown one.
func operation(op string) func(c *call, ctx context.Context) (any, *sheet, error) {
	switch op {
	case "hello":
		return (*call).hello
	case "build":
		return (*call).build
	case "open":
		return (*call).open
	case "save":
		return (*call).save
	case "info":
		return (*call).info
	case "add":
		return (*call).add
	case "remove":
		return (*call).remove
	case "search":
		return (*call).search
	case "range":
		return (*call).rangeSearch
	case "recall":
		return (*call).recall
	case "certify":
		return (*call).certify
	case "graph":
		return (*call).graph
	case "pairs":
		return (*call).pairs
	case "verify":
		return (*call).verify
	}
	return nil
}
