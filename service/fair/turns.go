package fair

import (
	"context"
	"time"
)

// Turns shares a machine's time among the searches of clients. There are two classes, so that
// a short piece of work never waits for a long one of any client: small work is expected to
// take at most a quarter of a turn's length. In each class as much work may run as keeps the
// machine busy for two lengths: while one turn ends and leaves some cores idle, another uses
// them.
type Turns struct {
	length       time.Duration
	small, large *Queue
}

// Class is small or large work.
type Class string

const (
	Small Class = "small"
	Large Class = "large"
)

// smallShare: small work takes at most 1/smallShare of a turn's length.
const smallShare = 4

// NewTurns returns turns of about this length. waited, if not nil, is called with the time
// that each piece of work waited for its turn.
func NewTurns(length time.Duration, waited func(Class, time.Duration)) *Turns {
	options := func(c Class, largest time.Duration) QueueOptions {
		o := QueueOptions{Capacity: 2 * int64(length), Largest: int64(largest), MaxWaiting: -1}
		if waited != nil {
			o.Waited = func(d time.Duration) { waited(c, d) }
		}
		return o
	}
	return &Turns{length: length, small: NewQueue(options(Small, length/smallShare)), large: NewQueue(options(Large, length))}
}

// Waiting is the number of pieces of work of a class that wait for their turn.
func (t *Turns) Waiting(c Class) int { return t.queueOf(c).Waiting() }

func (t *Turns) queueOf(c Class) *Queue {
	if c == Small {
		return t.small
	}
	return t.large
}

// class returns the class of work of a duration.
func (t *Turns) class(d time.Duration) Class {
	if d <= t.length/smallShare {
		return Small
	}
	return Large
}

// Of returns a Turn of a client; the caller calls Next before each piece of work, and End.
func (t *Turns) Of(client string) *Turn { return &Turn{t: t, client: client} }

// Turn is the turn of a search or another request, one piece of work after the other. It
// implements batch.Turns, and is used from one goroutine at a time.
type Turn struct {
	t      *Turns
	client string
	use    *Use // of the current piece; nil if there is none
}

// Length is the time that a piece of work should take.
func (u *Turn) Length() time.Duration { return u.t.length }

// Next ends the current piece of work and waits for the turn of the next, which is expected
// to take so long. It fails when ctx ends.
func (u *Turn) Next(ctx context.Context, expected time.Duration) error {
	q := u.t.queueOf(u.t.class(expected))
	if u.use != nil && u.use.q != q {
		u.End()
	}
	if u.use == nil {
		u.use = &Use{q: q, client: u.client}
	}
	return u.use.Swap(ctx, int64(expected))
}

// End ends the current piece of work, if there is one.
func (u *Turn) End() {
	if u.use != nil {
		u.use.Leave()
	}
	u.use = nil
}
