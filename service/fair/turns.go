package fair

import (
	"context"
	"time"
)

// Turns shares a machine's time among the searches of clients. There are two classes, so
// that a short piece of work never waits for a long one, whosever they are: small ones
// are those that are expected to take a quarter of a turn's length at most. In each class
// as much may be under way as keeps the machine busy for two lengths: while one turn
// ends, and has nothing to do for some cores, another has.
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

// smallShare is what part of a turn's length small work takes at most.
const smallShare = 4

// NewTurns returns turns of about this length. waited, if not nil, is told how long each
// piece of work waited for its turn.
func NewTurns(length time.Duration, waited func(Class, time.Duration)) *Turns {
	options := func(c Class, largest time.Duration) QueueOptions {
		o := QueueOptions{Capacity: 2 * int64(length), Largest: int64(largest), MostWaiting: -1}
		if waited != nil {
			o.Waited = func(d time.Duration) { waited(c, d) }
		}
		return o
	}
	return &Turns{length: length, small: NewQueue(options(Small, length/smallShare)), large: NewQueue(options(Large, length))}
}

// Waiting is how many pieces of work of a class wait for their turn.
func (t *Turns) Waiting(c Class) int { return t.queueOf(c).Waiting() }

func (t *Turns) queueOf(c Class) *Queue {
	if c == Small {
		return t.small
	}
	return t.large
}

// class is that of work of a duration.
func (t *Turns) class(d time.Duration) Class {
	if d <= t.length/smallShare {
		return Small
	}
	return Large
}

// Of is a client's next turn, which is to be asked for and ended.
func (t *Turns) Of(client string) *Turn { return &Turn{t: t, client: client} }

// Turn is a search's or another request's at the machine, one piece of work after the
// other. It is used from one goroutine at a time, and is what batch.Turns wants.
type Turn struct {
	t      *Turns
	client string
	use    *Use // of the piece under way; nil when none is
}

// Length is how long pieces of work should take.
func (u *Turn) Length() time.Duration { return u.t.length }

// Next ends the piece of work under way and waits for the turn of the next, which is
// expected to take so long. It fails when ctx ends.
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

// End ends the piece of work under way, if there is one.
func (u *Turn) End() {
	if u.use != nil {
		u.use.Leave()
	}
	u.use = nil
}
