package fair

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what each client may ask for: queries a second, by a token bucket, and
// searches at once.
type Limits struct {
	o LimitsOptions

	mu      sync.Mutex
	clients map[string]*allowance
	most    int // clients, before those are forgotten of whom there is nothing to remember
}

// LimitsOptions configure Limits; what is 0 is not limited.
type LimitsOptions struct {
	// Rate is how many queries a second a client may ask on average, Burst how many at
	// once: a client that has not asked for a while has so many. Burst is at least 1
	// where there is a rate.
	Rate  float64
	Burst int
	// Searches is how many a client may have at once, those that wait among them.
	Searches int
}

// LimitError says which limit a client has reached.
type LimitError struct {
	What  string // "queries a second", "queries at once" or "searches at once"
	Limit float64
	// RetryAfter is when there is room again; 0 when nothing tells, and below 0 when there
	// never is.
	RetryAfter time.Duration
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("a client may ask %g %s", e.Limit, e.What)
}

// allowance is what a client has left.
type allowance struct {
	bucket   *rate.Limiter // nil without a rate
	searches int
}

// NewLimits returns limits that nobody has reached.
func NewLimits(o LimitsOptions) *Limits {
	return &Limits{o: o, clients: map[string]*allowance{}, most: leastRemembered}
}

// Begin counts a search of a client until end is called, or fails with a *LimitError: so
// many are under way, or no query is left to it.
func (l *Limits) Begin(client string) (end func(), err error) {
	if l.o.Rate <= 0 && l.o.Searches <= 0 {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.allowanceOf(client)
	if l.o.Searches > 0 && a.searches >= l.o.Searches {
		return nil, &LimitError{What: "searches at once", Limit: float64(l.o.Searches)}
	}
	now := time.Now()
	if a.bucket != nil && a.bucket.TokensAt(now) < 1 {
		return nil, l.late(a, now, 1)
	}
	a.searches++
	return sync.OnceFunc(func() { l.end(a) }), nil
}

func (l *Limits) end(a *allowance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.searches--
}

// Ask takes so many queries from a client's bucket, all or none, or fails with a
// *LimitError.
func (l *Limits) Ask(client string, queries int) error {
	if l.o.Rate <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if queries > l.o.Burst {
		return &LimitError{What: "queries at once", Limit: float64(l.o.Burst), RetryAfter: -1}
	}
	a, now := l.allowanceOf(client), time.Now()
	if a.bucket.AllowN(now, queries) {
		return nil
	}
	return l.late(a, now, queries)
}

// late says when so many queries are there.
func (l *Limits) late(a *allowance, now time.Time, queries int) *LimitError {
	missing := float64(queries) - a.bucket.TokensAt(now)
	return &LimitError{What: "queries a second", Limit: l.o.Rate, RetryAfter: time.Duration(missing / l.o.Rate * float64(time.Second))}
}

// leastRemembered is the least of Limits.most.
const leastRemembered = 1024

// allowanceOf is a client's allowance. The caller holds the lock.
func (l *Limits) allowanceOf(client string) *allowance {
	if a := l.clients[client]; a != nil {
		return a
	}
	if len(l.clients) >= l.most {
		for name, a := range l.clients {
			if a.searches == 0 && (a.bucket == nil || a.bucket.Tokens() >= float64(l.o.Burst)) {
				delete(l.clients, name)
			}
		}
		l.most = max(leastRemembered, 2*len(l.clients))
	}
	a := &allowance{}
	if l.o.Rate > 0 {
		a.bucket = rate.NewLimiter(rate.Limit(l.o.Rate), l.o.Burst)
	}
	l.clients[client] = a
	return a
}
