package fair

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound the requests of each client: queries a second, by a token bucket, and
// concurrent searches.
type Limits struct {
	o LimitsOptions

	mu      sync.Mutex
	clients map[string]*allowance
	most    int // number of clients at which those with full buckets and no searches are forgotten
}

// LimitsOptions configure Limits; 0 means no limit.
type LimitsOptions struct {
	// Rate is the average number of queries a second that a client may send, Burst the number
	// it may send at once after a pause. Burst is at least 1 if there is a rate.
	Rate  float64
	Burst int
	// Searches bounds the concurrent searches of a client, including waiting ones.
	Searches int
}

// LimitError says which limit a client has exceeded.
type LimitError struct {
	What  string // "queries a second", "queries at once" or "searches at once"
	Limit float64
	// RetryAfter is when the request may succeed; 0 if unknown, below 0 if never.
	RetryAfter time.Duration
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("a client may ask %g %s", e.Limit, e.What)
}

// allowance is the state of one client's limits.
type allowance struct {
	bucket   *rate.Limiter // nil without a rate
	searches int
}

// NewLimits returns limits without clients.
func NewLimits(o LimitsOptions) *Limits {
	return &Limits{o: o, clients: map[string]*allowance{}, most: minRemembered}
}

// Begin counts a search of a client until end is called. It fails with a *LimitError if the
// client has too many searches or no query left.
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

// Ask takes queries from a client's bucket, all or none, or fails with a *LimitError.
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

// late says when so many queries will be available.
func (l *Limits) late(a *allowance, now time.Time, queries int) *LimitError {
	missing := float64(queries) - a.bucket.TokensAt(now)
	return &LimitError{What: "queries a second", Limit: l.o.Rate, RetryAfter: time.Duration(missing / l.o.Rate * float64(time.Second))}
}

// minRemembered is the least value of Limits.most.
const minRemembered = 1024

// allowanceOf returns a client's allowance. The caller holds the lock.
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
		l.most = max(minRemembered, 2*len(l.clients))
	}
	a := &allowance{}
	if l.o.Rate > 0 {
		a.bucket = rate.NewLimiter(rate.Limit(l.o.Rate), l.o.Burst)
	}
	l.clients[client] = a
	return a
}
