package duel

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/internal/philox"
)

// skip plays Beat-the-Mean under strict testing without playing every duel. It
// keeps n_b and w_b alone: given W, a duel that b begins is won with the mean
// chance of b over W, whatever came before, so that many of them are one binomial
// draw; who the opponents were is drawn when it matters, at a removal.
//
// The level is n*. Arms have max(n_b, level) comparisons for all that tests can
// see, and are brought up to the level lazily: with a centre C anywhere, no test
// can fire while all rates lie strictly within C -+ c(level), because max - min
// is then below 2c. For each arm there is a level up to which this is certain,
// however its duels go; the earliest of these is where to look again (advance).
// When looking does not help, the next sweep is played (sweep). Both look at the
// near arms alone, which may be worst or best within the next sweeps: tests see no
// others. So tests fire exactly when they would have, and outcomes have the same
// law.
type skip struct {
	f      *Preferences
	d      Design
	source *philox.Source
	rng    *rand.Rand // draws from source
	scale  float64
	limit  int64       // N
	active []contender // W, by loss
	level  int64       // n*
	gone   int64       // comparisons that were removed
	regret float64     // of comparisons that were removed, times 2

	near  []int // ascending places in active; tests see no others below the level until
	until int64

	// Scratch.
	safe   []int64 // in the order of near: the level up to which an arm surely stays within the bounds
	rivals []int
	turns  []int
}

// contender is an active arm.
type contender struct {
	arm  int
	n, w int64   // as of its last draw
	sum  float64 // of its chances over W
	mean float64 // sum/|W|
	loss float64 // eps(best, arm)
}

func skipAhead(ctx context.Context, d Design, f *Preferences, source *philox.Source) (Outcome, error) {
	s := newSkip(d, f, source)
	for !s.ended() {
		if ctx.Err() != nil {
			return Outcome{}, context.Cause(ctx)
		}
		s.step()
	}
	duels := s.duels()
	s.everybodyIsNear()
	for i := range s.active {
		s.draw(&s.active[i], s.level)
	}
	_, best := s.extremes(s.near)
	for i := range s.active {
		s.account(&s.active[i])
	}
	return outcome(d, f, s.active[best].arm, duels, s.regret/2), nil
}

func newSkip(d Design, f *Preferences, source *philox.Source) *skip {
	k := f.k
	s := &skip{f: f, d: d, source: source, rng: rand.New(source), active: make([]contender, k), safe: make([]int64, k)}
	s.scale, s.limit = beatScale(k, d)
	for b, loss := range f.losses() {
		c := contender{arm: b, loss: loss}
		for _, p := range f.p[b*k : (b+1)*k] {
			c.sum += p
		}
		c.mean = c.sum / float64(k)
		s.active[b] = c
	}
	slices.SortStableFunc(s.active, func(a, b contender) int { return cmp.Compare(a.loss, b.loss) })
	return s
}

func (s *skip) horizon() int64 {
	if s.d.Goal == Online {
		return s.d.Horizon
	}
	return math.MaxInt64
}

func (s *skip) ended() bool {
	return len(s.active) == 1 || s.level >= s.limit || s.duels() >= s.horizon()
}

// duels is t, at the present level.
func (s *skip) duels() int64 {
	t := s.gone
	for i := range s.active {
		t += max(s.active[i].n, s.level)
	}
	return t
}

func (c *contender) rate() float64 { return rate(c.w, c.n) }

// draw brings an arm up to a level.
func (s *skip) draw(c *contender, level int64) {
	if more := level - c.n; more > 0 {
		c.w += binomial(s.source, more, c.mean)
		c.n = level
	}
}

// step goes on by a sweep or more, or to a removal.
func (s *skip) step() {
	if s.level < s.until {
		if !s.advance() {
			s.sweep()
		}
		return
	}
	s.everybodyIsNear()
	gained := s.advance()
	const share = 256 // of the level, as far as the near are found: they are few then, and seldom to be found
	s.findNear(s.level + 1 + s.level/share)
	if !gained {
		s.sweep()
	}
}

func (s *skip) everybodyIsNear() {
	s.near, s.until = s.near[:0], math.MaxInt64
	for i := range s.active {
		s.near = append(s.near, i)
	}
}

// findNear finds the arms that may be worst or best before a level is reached.
func (s *skip) findNear(until int64) {
	most, least := 0., 1. // the best rate never falls below most, nor the worst rises above least
	for i := range s.active {
		lo, hi := s.active[i].reach(until)
		most, least = max(most, lo), min(least, hi)
	}
	s.near, s.until = s.near[:0], until
	for i := range s.active {
		if lo, hi := s.active[i].reach(until); hi >= most || lo <= least {
			s.near = append(s.near, i)
		}
	}
}

// reach are the least and the greatest rate that an arm may have before it has more
// than n comparisons.
func (c *contender) reach(n int64) (lo, hi float64) {
	if c.n >= n {
		return c.rate(), c.rate()
	}
	return float64(c.w) / float64(n), float64(c.w+n-c.n) / float64(n)
}

// advance raises the level as far as no test can fire. It is false if that is not
// one whole sweep.
func (s *skip) advance() bool {
	// As far as the horizon and N allow, counted as if no arm were ahead.
	most := s.level + (s.horizon()-s.duels())/int64(len(s.active))
	most = min(most, s.limit, s.until)
	begun := s.level
	b := boundsAbout(s.centre(), s.scale)
	safe := s.safe[:len(s.near)]
	for i, place := range s.near {
		safe[i] = b.hold(s.active[place].n, s.active[place].w)
	}
	for {
		i := smallest(safe)
		next := &s.active[s.near[i]]
		if safe[i] >= most {
			s.level = max(most, begun)
			break
		}
		if safe[i] <= s.level && next.n < s.level {
			s.draw(next, s.level) // what it did since may have been less
			safe[i] = b.hold(next.n, next.w)
			continue
		}
		if safe[i] <= max(s.level, next.n) {
			s.level = max(s.level, safe[i])
			break
		}
		s.level = safe[i]
		s.draw(next, s.level)
		safe[i] = b.hold(next.n, next.w)
	}
	return s.level > begun
}

// centre is the middle between the best and the worst rate at this level, as far as
// arms are drawn, and as expected where they are not. Any other would do; from this
// one it is far to the bounds.
func (s *skip) centre() float64 {
	if s.level == 0 {
		return .5
	}
	lo, hi := 1., 0.
	for _, i := range s.near {
		c := &s.active[i]
		n, w := float64(c.n), float64(c.w)
		if more := s.level - c.n; more > 0 {
			n, w = float64(s.level), w+float64(more)*c.mean
		}
		lo, hi = min(lo, w/n), max(hi, w/n)
	}
	return (lo + hi) / 2
}

// smallest is the place of the smallest of some numbers; of equals, the first.
func smallest(x []int64) (at int) {
	least := x[0]
	for i, v := range x {
		if v < least {
			least, at = v, i
		}
	}
	return at
}

// bounds are centre -+ scale/sqrt(level).
type bounds struct {
	centre, scale float64
	above, below  side
}

// side holds 4a and 1/(2a) of an equation a x^2 - scale x - c = 0.
type side struct{ four, half float64 }

func boundsAbout(centre, scale float64) bounds {
	return bounds{centre, scale, side{4 * (1 - centre), .5 / (1 - centre)}, side{4 * centre, .5 / centre}}
}

// hold is the greatest level at which the rate of an arm with w wins in n, whatever
// its duels bring, surely lies strictly within the bounds; below the present level if
// it does not now. With x = sqrt(level), the upper bound holds while w + x^2 - n <
// centre x^2 + scale x, the lower while w > centre x^2 - scale x.
func (b *bounds) hold(n, w int64) int64 {
	square := b.scale * b.scale
	up := (b.scale + math.Sqrt(square+b.above.four*float64(n-w))) * b.above.half
	down := (b.scale + math.Sqrt(square+b.below.four*float64(w))) * b.below.half
	sure := belowSquare(min(up, down))
	if sure >= n {
		return sure
	}
	// Before its next duel, the rate is what it is.
	return min(n, belowSquare(b.scale/math.Abs(float64(w)/float64(n)-b.centre)))
}

// belowSquare is a whole number below x^2, for all but rounding the greatest.
func belowSquare(x float64) int64 {
	const slack = 1e-12
	x *= x * (1 - slack)
	if x >= maxCount {
		return maxCount
	}
	whole := int64(x)
	if float64(whole) == x {
		whole--
	}
	return whole
}

// remove takes the arm at a place out of W; all are drawn. Of the w_b wins, those
// against it are as many as its share in the chances of b, likewise of the losses.
func (s *skip) remove(place int) {
	z := s.active[place]
	s.account(&z)
	k := float64(len(s.active))
	s.active = slices.Delete(s.active, place, place+1)
	s.level, s.until = math.MaxInt64, 0
	for i := range s.active {
		b := &s.active[i]
		p := s.f.At(b.arm, z.arm)
		wins := binomial(s.source, b.w, p/b.sum)
		losses := binomial(s.source, b.n-b.w, (1-p)/(k-b.sum))
		b.w -= wins
		b.n -= wins + losses
		b.sum -= p
		b.mean = b.sum / (k - 1)
		s.gone += wins + losses
		s.regret += float64(wins+losses) * (b.loss + z.loss)
		s.level = min(s.level, b.n)
	}
}

// account removes the comparisons that b began, and their regret: its opponents
// are multinomial, apart for wins and losses, and drawn only as far as they differ
// in what they lose.
func (s *skip) account(b *contender) {
	s.gone += b.n
	s.regret += float64(b.n) * b.loss
	wins, losses := b.w, b.n-b.w
	won, lost := b.sum, float64(len(s.active))-b.sum
	for i := 0; i < len(s.active); {
		loss := s.active[i].loss
		var p, q float64
		for ; i < len(s.active) && s.active[i].loss == loss; i++ {
			x := s.f.At(b.arm, s.active[i].arm)
			p, q = p+x, q+1-x
		}
		if i == len(s.active) {
			s.regret += float64(wins+losses) * loss
			return
		}
		x, y := binomial(s.source, wins, p/won), binomial(s.source, losses, q/lost)
		s.regret += float64(x+y) * loss
		wins, losses = wins-x, losses-y
		won, lost = won-p, lost-q
	}
}
