package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"thresher/batch"
	"thresher/internal/overdue"
)

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
	var result any
	var arrays *reply
	if err == nil {
		result, arrays, err = c.perform(ctx)
	}
	c.release()
	c.frame.close()
	c.s.delist(c.ID)
	if cause := context.Cause(ctx); errors.Is(cause, errCancelled) {
		err = cause
	}
	if made, ok := result.(*about); ok && err != nil {
		if v, err := c.s.registry.remove(made.Handle); err == nil {
			c.s.free(v) // nobody knows of it
		}
	}
	c.s.conclude(c.ID, result, arrays, err)
	if arrays != nil {
		arrays.close()
	}
}

// errCancelled is the cause of a context that cancel ended.
var errCancelled = &failure{Kind: cancelled, Message: "the call was cancelled"}

// perform does what the operation does. A panic is an internal error. A fault in memory that a
// file no longer backs ends the worker, whichever goroutine reads there: as a panic it could
// leave locks that later calls wait for.
func (c *call) perform(ctx context.Context) (result any, arrays *reply, err error) {
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
	if !(c.DeadlineMS >= 0 && c.DeadlineMS < 1e15) {
		return nil, nil, wrong("deadline_ms", "%g, at least 0", c.DeadlineMS)
	}
	if c.DeadlineMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(min(c.DeadlineMS, 1e12)*1e6))
		defer cancel()
	}
	defer overdue.Watch(ctx, c.s.o.Log, "a call", "op", c.Op, "id", c.ID, "deadline_ms", c.DeadlineMS)()
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
		var refused *batch.RequestError
		if errors.As(err, &refused) {
			return err
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
			held, err := s.segments.remove(x.Segment)
			if err == nil {
				s.calls.Go(held.release) // takes .2 ms a MiB; the next frame need not wait
			}
			return struct{}{}, err
		}
	case "free":
		return func(s *Child, r *request, _ *frame) (any, error) {
			var x struct {
				Handle int64 `json:"handle"`
			}
			if err := decodeStrictly(r.Fields, &x); err != nil {
				return nil, err
			}
			v, err := s.registry.remove(x.Handle)
			if err == nil {
				s.calls.Go(func() { s.free(v) })
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
func operation(op string) func(c *call, ctx context.Context) (any, *reply, error) {
	switch op {
	case "hello":
		return (*call).hello
	case "devices":
		return (*call).devices
	case "memory":
		return (*call).memory
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
	case "upsert":
		return (*call).upsert
	case "delete":
		return (*call).delete
	case "remove":
		return (*call).remove
	case "columns":
		return (*call).columns
	case "filter":
		return (*call).filter
	case "search":
		return (*call).search
	case "knn":
		return (*call).knn
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
	case "join":
		return (*call).join
	case "pursuit":
		return (*call).pursuit
	case "verify":
		return (*call).verify
	case "shard":
		return (*call).shard
	case "answers":
		return (*call).answers
	}
	return nil
}
