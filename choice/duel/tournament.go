package duel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
	"unicode/utf8"

	"thresher/internal/philox"
)

var (
	// ErrEnded: the tournament has a winner and issues no more duels.
	ErrEnded = errors.New("the tournament has ended")
	// ErrUnknown: no duel of this ID was issued.
	ErrUnknown = errors.New("no such duel was issued")
	// ErrWithdrawn: an arm was eliminated while the duel was under way; its result does not
	// count.
	ErrWithdrawn = errors.New("the duel was withdrawn")
)

// Config describes a tournament. All of it is part of the saved state.
type Config struct {
	// Arms are K distinct names in UTF-8.
	Arms []string `json:"arms"`
	Design
	// Seed determines all random choices.
	Seed uint64 `json:"seed"`
	// Lease is how long an issued duel is reserved for its judge, at most a century; 0 is for
	// ever.
	Lease time.Duration `json:"lease_ns,omitempty"`
	// Order says which arm of a duel is shown first. Judges may lean to the first place, so
	// choose RandomOrder.
	Order Order `json:"order,omitempty"`
}

// maxLease is a century: times after 2262 have no UnixNano.
const maxLease = 100 * 365 * 24 * time.Hour

// complete fills in defaults and rejects invalid values.
func (c Config) complete() (Config, error) {
	var err error
	if c.Design, err = c.Design.complete(len(c.Arms)); err != nil {
		return c, err
	}
	if c.Order != DrawnOrder && c.Order != RandomOrder {
		return c, fmt.Errorf("duel: order %q is neither %q nor %q", c.Order, RandomOrder, DrawnOrder)
	}
	if c.Lease < 0 || c.Lease > maxLease {
		return c, fmt.Errorf("duel: lease %v is not in [0, %v]", c.Lease, maxLease)
	}
	seen := make(map[string]int, len(c.Arms))
	for i, name := range c.Arms {
		if name == "" {
			return c, fmt.Errorf("duel: arm %d has no name", i)
		}
		if !utf8.ValidString(name) { // JSON would change it
			return c, fmt.Errorf("duel: the name of arm %d, %q, is not UTF-8", i, name)
		}
		if j, ok := seen[name]; ok {
			return c, fmt.Errorf("duel: arms %d and %d are both %q", j, i, name)
		}
		seen[name] = i
	}
	c.Arms = slices.Clone(c.Arms)
	return c, nil
}

// Duel is a duel to be judged; A is shown first. In Beat-the-Mean B may be A; such a duel
// must be decided by a fair coin.
type Duel struct {
	ID uint64 `json:"duel"`
	A  int    `json:"a"`
	B  int    `json:"b"`
	// Expires is when the duel may be issued again; zero without a lease.
	Expires time.Time `json:"expires,omitzero"`
}

// Result is the result of a duel.
type Result struct {
	Duel uint64 `json:"duel"`
	AWon bool   `json:"a_won"`
	// Tie says that neither arm is better; AWon does not count then.
	Tie bool `json:"tie,omitempty"`
	// Judge names who judged, if that is known: at most MaxJudgeName characters of
	// UTF-8.
	Judge string `json:"judge,omitempty"`
}

// Status is how a result was received.
type Status string

const (
	Accepted    Status = "accepted"
	Repeated    Status = "repeated"    // the same result was there; nothing changed
	Conflicting Status = "conflicting" // another result was there, and stays
	Settled     Status = "settled"     // the duel was decided before; nothing changed
	// Void: taken, but another result of the same or an earlier report eliminated an arm,
	// which withdrew the duel.
	Void Status = "void"
)

// Receipt answers a Result.
type Receipt struct {
	Duel   uint64 `json:"duel"`
	Status Status `json:"status"`
}

// Tournament issues duels and takes their results. It is not safe for concurrent use.
type Tournament struct {
	config   Config
	clock    func() time.Time
	source   *philox.Source
	strategy strategy

	issued     uint64        // the last ID; IDs are 1, 2, ...
	queue      []pendingDuel // duels in flight, in order, with IDs up to issued
	taken      int64
	withdrawn  []withdrawal
	eliminated []Elimination
	places     places
	ties       ties
	ballots    ballots
	undone     int64
	history    *history // nil unless KeepUndo was called
}

// New starts a tournament. clock tells the time for leases; nil is time.Now.
func New(config Config, clock func() time.Time) (*Tournament, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	if clock == nil {
		clock = time.Now
	}
	t := &Tournament{config: config, clock: clock, source: philox.New(config.Seed, 0)}
	t.strategy = newStrategy(len(config.Arms), config.Design, rand.New(t.source))
	return t, nil
}

// Config returns the tournament's configuration, defaults filled in.
func (t *Tournament) Config() Config {
	c := t.config
	c.Arms = slices.Clone(c.Arms)
	return c
}

// Next issues at most count duels, first those whose lease has expired, then new ones, then
// those that were skipped a moment ago. It returns fewer, or none, while the tournament waits
// for results of issued duels, and ErrEnded at the end.
func (t *Tournament) Next(count int) ([]Duel, error) { return t.NextFor("", count) }

// NextFor is Next for the judge of a name, to whom duels that others skipped are issued at
// once.
func (t *Tournament) NextFor(judge string, count int) ([]Duel, error) {
	if count < 1 {
		return nil, fmt.Errorf("duel: %d duels asked for", count)
	}
	if err := checkJudge(judge); err != nil {
		return nil, err
	}
	if t.strategy.ended() {
		return nil, ErrEnded
	}
	drawn := t.issued
	// A sweep is drawn whole, so that the order of calls does not affect the draws.
	for whole := t.config.Testing == Sweep; whole && t.draw(); {
	}
	now := t.clock()
	var out []Duel
	for _, deferred := range []bool{false, true} {
		for i := 0; len(out) < count && (i < len(t.queue) || !deferred && t.draw()); i++ {
			e := &t.queue[i]
			if e.Answered || e.held(now) || e.deferred(judge, t.issued) != deferred {
				continue
			}
			d := t.shown(e)
			e.Leased, e.Expires = true, 0
			if t.config.Lease > 0 {
				d.Expires = now.Add(t.config.Lease)
				e.Expires = d.Expires.UnixNano()
			}
			out = append(out, d)
		}
	}
	if len(out) > 0 || t.issued != drawn {
		t.history.note(undoStep{At: now.UnixNano(), Next: count, Judge: judge})
	}
	return out, nil
}

// Duel returns an issued duel that is not settled: it has no result, or one that waits
// for an earlier duel's.
func (t *Tournament) Duel(id uint64) (d Duel, ok bool) {
	e := t.entry(id)
	if e == nil || !e.Leased && !e.Answered {
		return Duel{}, false
	}
	d = t.shown(e)
	if e.Expires > past {
		d.Expires = time.Unix(0, e.Expires)
	}
	return d, true
}

// Drawn returns the number of duels drawn, which is the last one's ID.
func (t *Tournament) Drawn() uint64 { return t.issued }

// draw adds the next duel to the queue, if there is one.
func (t *Tournament) draw() bool {
	d, ok := t.strategy.draw()
	if ok {
		t.issued++
		t.queue = append(t.queue, pendingDuel{ID: t.issued, A: d.a, B: d.b})
	}
	return ok
}

// Recall ends all leases: duels without a result will be issued again. The first result
// of such a duel counts, whoever reports it.
func (t *Tournament) Recall() {
	for i := range t.queue {
		t.queue[i].Expires = past
	}
	t.history.note(undoStep{Recall: true})
}

// Report takes results, in any order and more than once: the first result of a duel
// counts, even after its lease. If any duel was never issued or was withdrawn, Report
// takes none of the results and its error wraps ErrUnknown or ErrWithdrawn.
func (t *Tournament) Report(results ...Result) ([]Receipt, error) {
	for _, r := range results {
		if err := t.known(r.Duel); err != nil {
			return nil, err
		}
	}
	for _, r := range results {
		if err := checkJudge(r.Judge); err != nil {
			return nil, err
		}
	}
	if err := t.history.trim(); err != nil {
		return nil, err
	}
	receipts := make([]Receipt, len(results))
	fresh, judged := false, false
	for i, r := range results {
		receipts[i] = Receipt{r.Duel, t.record(r)}
		if e := t.entry(r.Duel); receipts[i].Status == Accepted {
			fresh, judged = true, judged || e.A != e.B
		}
	}
	if fresh {
		t.history.note(undoStep{Results: slices.Clone(results), Judged: judged})
	}
	before := len(t.withdrawn)
	t.take()
	for i, r := range receipts {
		if r.Status == Accepted && slices.ContainsFunc(t.withdrawn[before:], func(w withdrawal) bool { return w.holds(r.Duel) }) {
			receipts[i].Status = Void
		}
	}
	return receipts, nil
}

// known returns the error that reporting a duel would give.
func (t *Tournament) known(id uint64) error {
	e := t.entry(id)
	if id == 0 || id > t.issued || e != nil && !e.Leased && !e.Answered {
		return fmt.Errorf("duel %d: %w", id, ErrUnknown)
	}
	if w := t.withdrawal(id); w != nil && !slices.Contains(w.Answered, id) {
		if w.Arm < 0 {
			return fmt.Errorf("duel %d: %w when the tournament ended after %d duels", id, ErrWithdrawn, w.At)
		}
		return fmt.Errorf("duel %d: %w when %q was eliminated after %d duels", id, ErrWithdrawn, t.config.Arms[w.Arm], w.At)
	}
	return nil
}

// Check returns what Report would make of one result, a status or an error, and changes
// nothing. A result that is Accepted may still turn out Void.
func (t *Tournament) Check(r Result) (Status, error) {
	if err := t.known(r.Duel); err != nil {
		return "", err
	}
	return t.status(r), nil
}

// record stores the result of a known duel.
func (t *Tournament) record(r Result) Status {
	s := t.status(r)
	if s == Accepted {
		e := t.entry(r.Duel)
		e.Answered, e.AWon, e.Tie, e.Judge = true, t.settle(r).AWon != t.swapped(e), r.Tie, r.Judge
	}
	return s
}

// status returns how the result of a known duel would be received.
func (t *Tournament) status(r Result) Status {
	e := t.entry(r.Duel)
	switch {
	case e == nil && t.withdrawal(r.Duel) != nil:
		return Void
	case e == nil:
		return Settled
	case !e.Answered:
		return Accepted
	case e.Tie == r.Tie && (e.Tie || e.AWon == (r.AWon != t.swapped(e))):
		return Repeated
	}
	return Conflicting
}

// take tells the strategy all results that no open duel precedes.
func (t *Tournament) take() {
	for len(t.queue) > 0 && t.queue[0].Answered {
		e := t.queue[0]
		t.queue = t.queue[1:]
		if t.config.Order == RandomOrder {
			t.places.count(&e, t.swapped(&e))
		}
		t.ties.count(&e, len(t.config.Arms))
		t.ballots.count(&e, t.swapped(&e))
		c := t.strategy.tell(pair{e.A, e.B}, e.AWon)
		t.taken++
		t.eliminated = append(t.eliminated, c.eliminated...)
		if c.withdraw && len(t.queue) > 0 {
			arm := -1
			if len(c.eliminated) > 0 {
				arm = c.eliminated[0].Arm
			}
			t.withdraw(arm)
		}
	}
}

// State returns a snapshot, which the caller owns.
func (t *Tournament) State() State {
	s := State{Duels: t.taken, Eliminated: append([]Elimination{}, t.eliminated...)}
	now := t.clock()
	for _, e := range t.queue {
		switch {
		case e.Answered:
			s.Waiting++
		case e.held(now):
			s.Open++
		}
	}
	t.strategy.describe(&s)
	s.Done = t.strategy.ended()
	if s.Guarantee == nil {
		s.Guarantee = t.config.guarantee(s.End)
	}
	s.Standoff = t.standoff()
	if t.config.Order == RandomOrder {
		s.Lean = t.places.lean()
	}
	s.Ties, s.Undone = t.ties.all, t.undone
	return s
}

// Coin decides a duel by a fair coin, a function of the seed and the duel alone. It is
// meant for arms that meet themselves; ties are settled by it too.
func (t *Tournament) Coin(d Duel) Result {
	const coinStream = 1 // choices are drawn from stream 0
	return Result{Duel: d.ID, AWon: philox.New(t.config.Seed, coinStream).At(d.ID)&1 == 1}
}

// settle returns the result that counts: of a tie, the coin's.
func (t *Tournament) settle(r Result) Result {
	if r.Tie {
		return t.Coin(Duel{ID: r.Duel})
	}
	return r
}
