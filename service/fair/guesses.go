package fair

import (
	"crypto/sha256"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Guesses slow down clients that send wrong secrets. A client has a token bucket of wrong ones.
// While it is empty, secrets of that client are refused without being looked at, except those
// that were right before when the client sent them: whoever guesses learns nothing, and whoever
// shares the address of one who guesses, and was there before, goes on. It keeps no goroutines
// and no timers, and a bounded number of clients.
type Guesses struct {
	o GuessesOptions

	mu     sync.Mutex
	wrong  map[string]*mistakes
	others *mistakes // of clients beyond the number that is remembered
	right  map[use]struct{}
}

// mistakes is the bucket of a client's wrong secrets.
type mistakes struct {
	*rate.Limiter
	told bool // it was empty, and has not been full since
}

// use is a right secret as one client sent it.
type use struct {
	client string
	secret [sha256.Size]byte // its hash
}

// GuessesOptions configure Guesses; all members are required but Now.
type GuessesOptions struct {
	// Rate is the average number of wrong secrets a second that a client may send, Burst the
	// number it may send at once after a pause.
	Rate  float64
	Burst int
	// Clients is the number of clients with a bucket of their own; the others share one. Uses
	// is the number of right secrets that are remembered, each with its client.
	Clients, Uses int
	Now           func() time.Time // nil means time.Now
}

// NewGuesses returns Guesses without clients.
func NewGuesses(o GuessesOptions) *Guesses {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Guesses{o: o, wrong: map[string]*mistakes{}, others: o.bucket(), right: map[use]struct{}{}}
}

func (o *GuessesOptions) bucket() *mistakes {
	return &mistakes{Limiter: rate.NewLimiter(rate.Limit(o.Rate), o.Burst)}
}

// Right reports whether a right secret, by its hash, may be accepted from a client, and when to
// try again if not.
func (g *Guesses) Right(client string, secret [sha256.Size]byte) (ok bool, retry time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	u := use{client, secret}
	if _, before := g.right[u]; before {
		return true, 0
	}
	if wait := g.wait(client); wait > 0 {
		return false, wait
	}
	if len(g.right) >= g.o.Uses {
		for some := range g.right { // any: it is remembered again at its next use
			delete(g.right, some)
			break
		}
	}
	g.right[u] = struct{}{}
	return true, 0
}

// Wrong counts a wrong secret of a client. ok is false if the client has none left, and has to
// wait; last says that this was the last one, and the first time so since it had all of them.
func (g *Guesses) Wrong(client string) (ok, last bool, retry time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.wait(client); wait > 0 {
		return false, false, wait
	}
	b, now := g.bucketOf(client), g.o.Now()
	if b.TokensAt(now) >= float64(g.o.Burst) {
		b.told = false
	}
	b.AllowN(now, 1)
	last = !b.told && b.TokensAt(now) < 1
	b.told = b.told || last
	return true, last, 0
}

// wait returns how long a client has to wait until it may send a wrong secret. The caller holds
// the lock.
func (g *Guesses) wait(client string) time.Duration {
	b := g.wrong[client]
	if b == nil {
		if len(g.wrong) < g.o.Clients {
			return 0
		}
		b = g.others
	}
	missing := 1 - b.TokensAt(g.o.Now())
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / g.o.Rate * float64(time.Second))
}

// bucketOf returns the bucket of a client that sends a wrong secret. The caller holds the lock.
func (g *Guesses) bucketOf(client string) *mistakes {
	if b := g.wrong[client]; b != nil {
		return b
	}
	if len(g.wrong) >= g.o.Clients {
		for name, b := range g.wrong {
			if b.TokensAt(g.o.Now()) >= float64(g.o.Burst) {
				delete(g.wrong, name)
			}
		}
	}
	if len(g.wrong) >= g.o.Clients {
		return g.others
	}
	b := g.o.bucket()
	g.wrong[client] = b
	return b
}
