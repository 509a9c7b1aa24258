package duel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// skip plays Beat-the-Mean under strict testing without playing every duel. It
// keeps n_b and w_b alone: given W, a duel that b begins is won with the mean
// chance of b over W, whatever came before, so that many of them are one binomial
// draw; who the opponents were is drawn when it matters, at a removal.
//
// The level is n*. Arms have min(n_b, level) comparisons for all that tests can
// see, and are brought up to the level lazily: with a centre C anywhere, no test
// can fire while all rates lie strictly within C -+ c(level), because max - min
// is then below 2c. For each arm there is a level up to which this is certain,
// however its duels go; the earliest of these is where to look again. When looking
// does not help, the next sweep is played duel by duel, with a test after each.
// So tests fire exactly when they would have, and outcomes have the same law.
type skip struct {
	f      *Preferences
	d      Design
	rng    *rand.Rand
	scale  float64
	limit  int64     // N
	losses []float64 // eps(best, b)
	active []int     // W, by loss
	n, w   []int64   // as of the arm's last draw
	sum    []float64 // of chances over W
	safe   []int64   // in the order of W: the level up to which an arm surely stays within the bounds
	share  []float64 // scratch of least
	level  int64     // n*
	gone   int64     // comparisons that were removed
	due    []int     // scratch of sweep
	regret float64   // of comparisons that were removed, times 2
}

func skipAhead(ctx context.Context, d Design, f *Preferences, rng *rand.Rand) (Outcome, error) {
	k := f.k
	s := &skip{
		f: f, d: d, rng: rng, losses: f.losses(), active: everybody(k),
		n: make([]int64, k), w: make([]int64, k), sum: make([]float64, k), safe: make([]int64, k), share: make([]float64, k),
	}
	s.scale, s.limit = beatScale(k, d)
	slices.SortStableFunc(s.active, func(a, b int) int {
		switch {
		case s.losses[a] < s.losses[b]:
			return -1
		case s.losses[a] > s.losses[b]:
			return 1
		}
		return 0
	})
	for b := range k {
		for _, p := range f.p[b*k : (b+1)*k] {
			s.sum[b] += p
		}
	}
	for !s.ended() {
		if ctx.Err() != nil {
			return Outcome{}, context.Cause(ctx)
		}
		if !s.advance() {
			s.sweep()
		}
	}
	s.draw(s.level)
	_, winner := s.extremes()
	duels := s.duels()
	for _, b := range s.active {
		s.account(b)
	}
	return outcome(d, f, winner, duels, s.regret/2), nil
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
	for _, b := range s.active {
		t += max(s.n[b], s.level)
	}
	return t
}

// arm brings b up to a level.
func (s *skip) arm(b int, level int64) {
	if more := level - s.n[b]; more > 0 {
		s.w[b] += binomial(s.rng, more, s.sum[b]/float64(len(s.active)))
		s.n[b] = level
	}
}

// draw brings all arms up to a level.
func (s *skip) draw(level int64) {
	for _, b := range s.active {
		s.arm(b, level)
	}
}

// extremes are the arms of worst and best rate; of equals, the first by number.
func (s *skip) extremes() (worst, best int) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, b := range s.active {
		p := rate(s.w[b], s.n[b])
		if p < lo || p == lo && b < worst {
			lo, worst = p, b
		}
		if p > hi || p == hi && b < best {
			hi, best = p, b
		}
	}
	return worst, best
}

// advance raises the level as far as no test can fire. It is false if that is not
// one whole sweep.
func (s *skip) advance() bool {
	// As far as the horizon and N allow, counted as if no arm were ahead.
	most := s.level + (s.horizon()-s.duels())/int64(len(s.active))
	most = min(most, s.limit)
	begun := s.level
	centre := s.centre()
	safe := s.safe[:len(s.active)]
	for i, b := range s.active {
		safe[i] = s.within(b, centre)
	}
	for {
		i := smallest(safe)
		next := s.active[i]
		if safe[i] >= most {
			s.level = max(most, begun)
			break
		}
		if safe[i] <= s.level && s.n[next] < s.level {
			s.arm(next, s.level) // what it did since may have been less
			safe[i] = s.within(next, centre)
			continue
		}
		if safe[i] <= max(s.level, s.n[next]) {
			s.level = max(s.level, safe[i])
			break
		}
		s.level = safe[i]
		s.arm(next, s.level)
		safe[i] = s.within(next, centre)
	}
	return s.level > begun
}

// centre is the middle between the best and the worst rate at this level.
func (s *skip) centre() float64 {
	if s.level == 0 {
		return .5
	}
	return (s.least(true) + 1 - s.least(false)) / 2
}

// least is the smallest share of wins, or else of losses, that an arm has at this
// level. Only arms that may have it are drawn: the others have at least the share
// that they would have if their next duels brought none.
func (s *skip) least(wins bool) float64 {
	atLeast := func(b int) float64 {
		count := s.w[b]
		if !wins {
			count = s.n[b] - count
		}
		return float64(count) / float64(max(s.n[b], s.level))
	}
	share := s.share[:len(s.active)]
	for i, b := range s.active {
		share[i] = atLeast(b)
	}
	for {
		i := smallest(share)
		b := s.active[i]
		if s.n[b] >= s.level {
			return share[i]
		}
		s.arm(b, s.level)
		share[i] = atLeast(b)
	}
}

// smallest is the place of the smallest of some numbers; of equals, the first.
func smallest[T int64 | float64](x []T) (at int) {
	least := x[0]
	for i, v := range x {
		if v < least {
			least, at = v, i
		}
	}
	return at
}

// within is the greatest level at which the rate of b, whatever its duels bring,
// surely lies strictly between centre - c(level) and centre + c(level); below the
// present level if it does not now. With x = sqrt(level), the upper bound holds
// while w + x^2 - n < centre x^2 + scale x, the lower while w > centre x^2 -
// scale x.
func (s *skip) within(b int, centre float64) int64 {
	n, w := float64(s.n[b]), float64(s.w[b])
	sure := belowSquare(min(root(1-centre, s.scale, n-w), root(centre, s.scale, w)))
	if sure >= s.n[b] {
		return sure
	}
	// Before its next duel, the rate is what it is.
	return min(s.n[b], belowSquare(s.scale/math.Abs(w/n-centre)))
}

// root is the positive root of a x^2 - b x - c for b, c >= 0.
func root(a, b, c float64) float64 {
	if a <= 0 {
		return math.Inf(1)
	}
	return (b + math.Sqrt(b*b+4*a*c)) / (2 * a)
}

// belowSquare is a whole number below x^2, for all but rounding the greatest.
func belowSquare(x float64) int64 {
	const slack = 1e-12
	x *= x * (1 - slack)
	if x >= maxCount {
		return maxCount
	}
	return int64(math.Ceil(x)) - 1
}

// sweep plays the duels that raise the level by one, each followed by its test,
// and stops at a removal or at the horizon.
func (s *skip) sweep() {
	s.draw(s.level)
	s.due = s.due[:0]
	for _, b := range s.active {
		if s.n[b] == s.level {
			s.due = append(s.due, b)
		}
	}
	worst, best := s.extremes()
	lo, hi := rate(s.w[worst], s.n[worst]), rate(s.w[best], s.n[best])
	left := s.horizon() - s.duels()
	for len(s.due) > 0 && left > 0 {
		left--
		i, last := s.rng.IntN(len(s.due)), len(s.due)-1
		b := s.due[i]
		s.due[i], s.due = s.due[last], s.due[:last]
		s.n[b]++
		if s.rng.Float64()*float64(len(s.active)) < s.sum[b] {
			s.w[b]++
		}
		if last == 0 {
			s.level++
		}
		p := rate(s.w[b], s.n[b])
		lo, hi = min(lo, p), max(hi, p)
		radius := radiusAt(s.scale, s.level)
		if lo+radius > hi-radius {
			continue
		}
		worst, best = s.extremes()
		lo, hi = rate(s.w[worst], s.n[worst]), rate(s.w[best], s.n[best])
		if lo+radius <= hi-radius {
			s.remove(worst)
			return
		}
	}
}

// remove takes z out of W. Of the w_b wins, those against z are as many as z's
// share in the chances of b, likewise of the losses.
func (s *skip) remove(z int) {
	s.account(z)
	k := float64(len(s.active))
	s.active = slices.DeleteFunc(s.active, func(b int) bool { return b == z })
	s.level = math.MaxInt64
	for _, b := range s.active {
		p := s.f.At(b, z)
		wins := binomial(s.rng, s.w[b], p/s.sum[b])
		losses := binomial(s.rng, s.n[b]-s.w[b], (1-p)/(k-s.sum[b]))
		s.w[b] -= wins
		s.n[b] -= wins + losses
		s.sum[b] -= p
		s.gone += wins + losses
		s.regret += float64(wins+losses) * (s.losses[b] + s.losses[z])
		s.level = min(s.level, s.n[b])
	}
}

// account removes the comparisons that b began, and their regret: its opponents
// are multinomial, apart for wins and losses, and drawn only as far as they differ
// in what they lose.
func (s *skip) account(b int) {
	s.gone += s.n[b]
	s.regret += float64(s.n[b]) * s.losses[b]
	wins, losses := s.w[b], s.n[b]-s.w[b]
	won, lost := s.sum[b], float64(len(s.active))-s.sum[b]
	for i := 0; i < len(s.active); {
		loss := s.losses[s.active[i]]
		var p, q float64
		for ; i < len(s.active) && s.losses[s.active[i]] == loss; i++ {
			x := s.f.At(b, s.active[i])
			p, q = p+x, q+1-x
		}
		if i == len(s.active) {
			s.regret += float64(wins+losses) * loss
			return
		}
		x, y := binomial(s.rng, wins, p/won), binomial(s.rng, losses, q/lost)
		s.regret += float64(x+y) * loss
		wins, losses = wins-x, losses-y
		won, lost = won-p, lost-q
	}
}
