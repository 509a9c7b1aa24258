package duel

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/internal/philox"
)

// skip plays Beat-the-Mean with strict testing without playing every duel. It keeps only
// n_b and w_b. Given W, a duel that b begins is won with b's mean probability over W,
// independent of the past, so a run of them is one binomial draw; the opponents are
// drawn only when they matter, at an elimination.
//
// The level is n*. To the tests an arm has max(n_b, level) comparisons; arms are drawn
// up to the level lazily. For any centre C no test can fire while all rates are strictly
// within C -+ c(level), since then max - min < 2c. Each arm has a level up to which that
// is certain whatever its duels bring; advance goes to the earliest of these. If that
// does not get ahead, sweep plays the next sweep. Both consider only the near arms,
// those that may be worst or best within the next sweeps: tests see no others. So tests
// fire exactly when they would have, and outcomes have the same distribution.
type skip struct {
	f      *Preferences
	d      Design
	source *philox.Source
	rng    *rand.Rand // draws from source
	scale  float64
	limit  int64       // N
	active []contender // W, by loss
	level  int64       // n*
	gone   int64       // comparisons that eliminations removed
	regret float64     // regret of removed comparisons, times 2

	near  []int // ascending indices in active; below level until, tests see no others
	until int64

	// Scratch.
	safe   []int64 // parallel to near: the level up to which the arm stays within the bounds for certain
	rivals []int
	turns  []int
}

// contender is an active arm.
type contender struct {
	arm  int
	n, w int64   // as of its last draw
	sum  float64 // sum of its probabilities over W
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
	s.allArmsNear()
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

// duels returns t at the present level.
func (s *skip) duels() int64 {
	t := s.gone
	for i := range s.active {
		t += max(s.active[i].n, s.level)
	}
	return t
}

func (c *contender) rate() float64 { return rate(c.w, c.n) }

// draw draws an arm's duels up to a level.
func (s *skip) draw(c *contender, level int64) {
	if more := level - c.n; more > 0 {
		c.w += binomial(s.source, more, c.mean)
		c.n = level
	}
}

// step advances by at least a sweep, or to an elimination.
func (s *skip) step() {
	if s.level < s.until {
		if !s.advance() {
			s.sweep()
		}
		return
	}
	s.allArmsNear()
	gained := s.advance()
	const share = 256 // share of the level for which the near arms are computed: they are few then, and seldom recomputed
	s.findNear(s.level + 1 + s.level/share)
	if !gained {
		s.sweep()
	}
}

func (s *skip) allArmsNear() {
	s.near, s.until = s.near[:0], math.MaxInt64
	for i := range s.active {
		s.near = append(s.near, i)
	}
}

// findNear finds the arms that may be worst or best before a level is reached.
func (s *skip) findNear(until int64) {
	most, least := 0., 1. // the best rate never falls below most, the worst never rises above least
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

// reach returns the least and the greatest rate that an arm may have before it has more
// than n comparisons.
func (c *contender) reach(n int64) (lo, hi float64) {
	if c.n >= n {
		return c.rate(), c.rate()
	}
	return float64(c.w) / float64(n), float64(c.w+n-c.n) / float64(n)
}

// advance raises the level as far as no test can fire. It returns false if that is less
// than a whole sweep.
func (s *skip) advance() bool {
	// The horizon and N limit the level, counted as if no arm were ahead.
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
			s.draw(next, s.level) // the draw may have fallen short of the level
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

// centre returns the midpoint of the best and the worst rate at this level, using
// expected wins for arms not drawn yet. Any centre is valid; this one is far from the
// bounds.
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

// smallest returns the index of the smallest number, the first of equals.
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

// hold returns the greatest level at which the rate of an arm with w wins in n is
// strictly within the bounds whatever its duels bring; it is below the present level if
// the rate is outside now. With x = sqrt(level), the upper bound holds while w + x^2 - n
// < centre x^2 + scale x, the lower while w > centre x^2 - scale x.
func (b *bounds) hold(n, w int64) int64 {
	square := b.scale * b.scale
	up := (b.scale + math.Sqrt(square+b.above.four*float64(n-w))) * b.above.half
	down := (b.scale + math.Sqrt(square+b.below.four*float64(w))) * b.below.half
	sure := belowSquare(min(up, down))
	if sure >= n {
		return sure
	}
	// Up to n comparisons the rate does not change.
	return min(n, belowSquare(b.scale/math.Abs(float64(w)/float64(n)-b.centre)))
}

// belowSquare returns the greatest integer below x^2, up to rounding.
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

// remove takes the arm at this index out of W; all arms are drawn. Of w_b wins, the
// number against that arm is binomial with its share in b's probabilities; likewise for
// losses.
func (s *skip) remove(index int) {
	z := s.active[index]
	s.account(&z)
	k := float64(len(s.active))
	s.active = slices.Delete(s.active, index, index+1)
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

// account adds the comparisons that b began to gone, and their regret. Opponents are
// multinomial, separately for wins and losses, and drawn only as far as their losses
// differ.
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
