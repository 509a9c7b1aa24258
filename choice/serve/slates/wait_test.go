package slates

import (
	"context"
	"errors"
	"testing"
)

// over is a context that ends when it is first waited for.
type over struct {
	context.Context
	cancel context.CancelFunc
}

func newOver(t *testing.T) over {
	ctx, cancel := context.WithCancel(t.Context())
	return over{ctx, cancel}
}

func (o over) Done() <-chan struct{} {
	o.cancel()
	return o.Context.Done()
}

// TestWaitsEnd: a call waits for others until its context ends, and then does not block them.
func TestWaitsEnd(t *testing.T) {
	f := open(t, Options{})
	v := films(1, 20)
	id := f.issue(v, `{"users":["a"],"k":1}`)[0].ID
	canceled := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}

	release := f.held("films")
	canceled("drop", f.Drop(newOver(t), "films", nil))
	release()
	release, err := f.hold(t.Context(), "films", maxHolders)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Hold(newOver(t), "films")
	canceled("hold", err)
	release()

	lock, leave := f.lockOf("films")
	lock.making <- struct{}{}
	_, err = f.prepare(newOver(t), "films", v)
	canceled("prepare", err)
	<-lock.making
	leave()

	unlock, err := f.lock(t.Context(), "films", []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	one := []Feedback{{ID: id, Rewards: []float64{1}}}
	_, err = f.Feedback(newOver(t), "films", one)
	canceled("feedback", err)
	canceled("forget", f.Forget(newOver(t), "films", []ID{{Name: "a", Text: true}}))
	// Of several wanted locks none stays locked.
	many := make([]string, 0, 10*stripes)
	for i := range cap(many) {
		many = append(many, string(rune('b'+i)))
	}
	_, err = f.lock(newOver(t), "films", append(many, "a"))
	canceled("lock", err)
	unlock()
	for i, c := range f.users {
		if len(c) > 0 {
			t.Errorf("stripe %d is locked", i)
		}
	}

	if _, err := f.tell(id, 1); err != nil {
		t.Error(err)
	}
	f.issue(v, `{"users":["a"],"k":1}`)
	if len(f.locks) != 0 {
		t.Errorf("%d places are left", len(f.locks))
	}
}
