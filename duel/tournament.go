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
	// ErrEnded: the tournament has a winner and wants no more duels.
	ErrEnded = errors.New("the tournament has ended")
	// ErrUnknown: no such duel has been handed out.
	ErrUnknown = errors.New("no such duel was handed out")
	// ErrWithdrawn: an arm was eliminated while the duel was under way, and its
	// result would not count.
	ErrWithdrawn = errors.New("the duel was withdrawn")
)

// Config is a tournament. All of it is part of the saved state.
type Config struct {
	// Arms are K distinct names in UTF-8.
	Arms []string `json:"arms"`
	Design
	// Seed decides all random choices.
	Seed uint64 `json:"seed"`
	// Lease is how long a duel that was handed out is kept from others, at most a
	// century; 0 is for ever.
	Lease time.Duration `json:"lease_ns,omitempty"`
}

// maxLease is a century: times after 2262 have no UnixNano.
const maxLease = 100 * 365 * 24 * time.Hour

// complete fills in defaults and finds what is wrong.
func (c Config) complete() (Config, error) {
	var err error
	if c.Design, err = c.Design.complete(len(c.Arms)); err != nil {
		return c, err
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

// Duel is one to be judged: A against B. A began it, which matters to
// Beat-the-Mean, where it may also be B; such a duel is to be a fair coin's.
type Duel struct {
	ID uint64 `json:"duel"`
	A  int    `json:"a"`
	B  int    `json:"b"`
	// Expires is when the duel may be handed out again; zero without a lease.
	Expires time.Time `json:"expires,omitzero"`
}

// Result is how a duel went.
type Result struct {
	Duel uint64 `json:"duel"`
	AWon bool   `json:"a_won"`
}

// Status is what became of a result.
type Status string

const (
	Accepted    Status = "accepted"
	Repeated    Status = "repeated"    // the same result was there; nothing changed
	Conflicting Status = "conflicting" // another result was there, and stays
	Settled     Status = "settled"     // the duel is long decided; nothing changed
	// Void: taken, but another result of the same or an earlier report eliminated
	// an arm, which withdrew the duel.
	Void Status = "void"
)

// Receipt answers a Result.
type Receipt struct {
	Duel   uint64 `json:"duel"`
	Status Status `json:"status"`
}

// Tournament hands out duels and takes their results. It is not safe for
// concurrent use.
type Tournament struct {
	config   Config
	clock    func() time.Time
	source   *philox.Source
	strategy strategy

	issued     uint64  // IDs are 1, 2, ...; this is the last
	queue      []entry // drawn and not told, in order, with IDs up to issued
	taken      int64
	withdrawn  []withdrawal
	eliminated []Elimination
}

// entry is a duel between its draw and the telling of its result.
type entry struct {
	ID       uint64 `json:"id"`
	A        int    `json:"a"`
	B        int    `json:"b"`
	Leased   bool   `json:"leased,omitempty"`  // has been handed out
	Expires  int64  `json:"expires,omitempty"` // of the lease, Unix ns; 0 is never
	Answered bool   `json:"answered,omitempty"`
	AWon     bool   `json:"a_won,omitempty"`
}

// withdrawal says that the duels From to To were withdrawn as Arm went out.
type withdrawal struct {
	From     uint64   `json:"from"`
	To       uint64   `json:"to"`
	Arm      int      `json:"arm"`
	At       int64    `json:"at"`
	Answered []uint64 `json:"answered,omitempty"` // those with a result by then
}

// New begins a tournament. clock tells the time for leases; nil is time.Now.
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

// Config is what the tournament was begun with, defaults filled in.
func (t *Tournament) Config() Config {
	c := t.config
	c.Arms = slices.Clone(c.Arms)
	return c
}

// Next hands out up to count duels: first those whose lease is over, then new
// ones. It gives fewer, or none, while the tournament waits for results of duels
// that are out. The error is ErrEnded at the end.
func (t *Tournament) Next(count int) ([]Duel, error) {
	if count < 1 {
		return nil, fmt.Errorf("duel: %d duels asked for", count)
	}
	if t.strategy.ended() {
		return nil, ErrEnded
	}
	// In sweeps the order of asking and telling has no say in what is drawn.
	for whole := t.config.Testing == Sweep; whole && t.draw(); {
	}
	now := t.clock()
	var out []Duel
	for i := 0; len(out) < count && (i < len(t.queue) || t.draw()); i++ {
		e := &t.queue[i]
		if e.Answered || e.held(now) {
			continue
		}
		d := Duel{ID: e.ID, A: e.A, B: e.B}
		e.Leased, e.Expires = true, 0
		if t.config.Lease > 0 {
			d.Expires = now.Add(t.config.Lease)
			e.Expires = d.Expires.UnixNano()
		}
		out = append(out, d)
	}
	return out, nil
}

// past is an expiry that is long ago.
const past = 1

// held says that the lease of a duel runs.
func (e *entry) held(now time.Time) bool {
	return e.Leased && (e.Expires == 0 || now.UnixNano() < e.Expires)
}

// Duel finds a duel that was handed out and is not settled: it is not answered, or
// waits for an earlier one.
func (t *Tournament) Duel(id uint64) (d Duel, ok bool) {
	e := t.entry(id)
	if e == nil || !e.Leased && !e.Answered {
		return Duel{}, false
	}
	d = Duel{ID: e.ID, A: e.A, B: e.B}
	if e.Expires > past {
		d.Expires = time.Unix(0, e.Expires)
	}
	return d, true
}

// Drawn is how many duels were drawn; the last has this ID.
func (t *Tournament) Drawn() uint64 { return t.issued }

// draw adds the next duel to the queue, if there is one.
func (t *Tournament) draw() bool {
	d, ok := t.strategy.draw()
	if ok {
		t.issued++
		t.queue = append(t.queue, entry{ID: t.issued, A: d.a, B: d.b})
	}
	return ok
}

// Recall ends all leases: what is not answered will be handed out again. Results
// of the duels recalled still count, if they come first.
func (t *Tournament) Recall() {
	for i := range t.queue {
		t.queue[i].Expires = past
	}
}

// Report takes results, in any order and more than once: the first result of a
// duel counts, also after its lease. A duel that was never handed out, or was
// withdrawn, makes an error that wraps ErrUnknown or ErrWithdrawn; no result of
// the call is then taken.
func (t *Tournament) Report(results ...Result) ([]Receipt, error) {
	for _, r := range results {
		if err := t.known(r.Duel); err != nil {
			return nil, err
		}
	}
	receipts := make([]Receipt, len(results))
	for i, r := range results {
		receipts[i] = Receipt{r.Duel, t.record(r)}
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

func (w *withdrawal) holds(id uint64) bool { return w.From <= id && id <= w.To }

// withdrawal finds the withdrawal of a duel; nil if there was none.
func (t *Tournament) withdrawal(id uint64) *withdrawal {
	for i := range t.withdrawn {
		if t.withdrawn[i].holds(id) {
			return &t.withdrawn[i]
		}
	}
	return nil
}

// entry finds a duel in the queue; nil if it is settled or withdrawn.
func (t *Tournament) entry(id uint64) *entry {
	i, ok := slices.BinarySearchFunc(t.queue, id, func(e entry, id uint64) int {
		switch {
		case e.ID < id:
			return -1
		case e.ID > id:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &t.queue[i]
}

// known finds what is wrong with reporting a duel.
func (t *Tournament) known(id uint64) error {
	e := t.entry(id)
	if id == 0 || id > t.issued || e != nil && !e.Leased && !e.Answered {
		return fmt.Errorf("duel %d: %w", id, ErrUnknown)
	}
	if w := t.withdrawal(id); w != nil && !slices.Contains(w.Answered, id) {
		return fmt.Errorf("duel %d: %w when %q was eliminated after %d duels", id, ErrWithdrawn, t.config.Arms[w.Arm], w.At)
	}
	return nil
}

// Check says what Report would make of one result, and changes nothing: a status,
// or the error. A result that is Accepted may turn out Void.
func (t *Tournament) Check(r Result) (Status, error) {
	if err := t.known(r.Duel); err != nil {
		return "", err
	}
	return t.status(r), nil
}

// record notes the result of a duel that is known.
func (t *Tournament) record(r Result) Status {
	s := t.status(r)
	if s == Accepted {
		e := t.entry(r.Duel)
		e.Answered, e.AWon = true, r.AWon
	}
	return s
}

// status is what becomes of the result of a duel that is known.
func (t *Tournament) status(r Result) Status {
	e := t.entry(r.Duel)
	switch {
	case e == nil && t.withdrawal(r.Duel) != nil:
		return Void
	case e == nil:
		return Settled
	case !e.Answered:
		return Accepted
	case e.AWon == r.AWon:
		return Repeated
	}
	return Conflicting
}

// take tells the strategy all results that have no open duel before them.
func (t *Tournament) take() {
	for len(t.queue) > 0 && t.queue[0].Answered {
		e := t.queue[0]
		t.queue = t.queue[1:]
		c := t.strategy.tell(pair{e.A, e.B}, e.AWon)
		t.taken++
		t.eliminated = append(t.eliminated, c.eliminated...)
		if c.withdraw && len(t.queue) > 0 {
			t.withdraw(c.eliminated[0].Arm)
		}
	}
}

// withdraw empties the queue.
func (t *Tournament) withdraw(arm int) {
	w := withdrawal{From: t.queue[0].ID, To: t.issued, Arm: arm, At: t.taken}
	for _, e := range t.queue {
		if e.Answered {
			w.Answered = append(w.Answered, e.ID)
		}
	}
	t.withdrawn = append(t.withdrawn, w)
	t.queue = nil
}

// State says where the tournament stands. The caller owns it.
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
	s.Guarantee = t.config.guarantee(s.End)
	return s
}

// Coin decides a duel by a fair coin that is a function of the seed and of the
// duel alone; it is for arms that meet themselves.
func (t *Tournament) Coin(d Duel) Result {
	const coinStream = 1 // choices are drawn from stream 0
	return Result{Duel: d.ID, AWon: philox.New(t.config.Seed, coinStream).At(d.ID)&1 == 1}
}
