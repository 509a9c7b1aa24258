package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/bandit"
	"thresher/collection"
)

// slab is a query's elimination by float32 coordinates in the collection's
// random order: rotated ones for comparison, given ones for the methods that
// promise to preprocess nothing. All values are in the query's scaled units.
type slab struct {
	seen   int // coordinates read of every survivor
	arms   []slabArm
	bets   []bandit.MartingaleState // Martingale only, one an arm
	q      []float64                // query in the order read, raw basis
	scaled []float64                // norm of q from each of the collection's Bounds on
	most   []float64                // greatest |q_j| likewise
}

// slabArm is a survivor with its running sums.
type slabArm struct {
	i        uint32
	sum      float64 // of products
	squares  float64 // of coordinates (Student)
	estimate float64 // of the search score
	bound    float64 // least upper bound of the search score
}

// beginSlab lists every atom that may be returned and has not been scored.
func (s *state) beginSlab() {
	c := s.c
	l := &slab{arms: make([]slabArm, 0, s.goal.Allowed)}
	for i := range s.beyond(s.next) {
		l.arms = append(l.arms, slabArm{i: uint32(i), bound: math.Inf(1)})
	}
	if c.Basis == collection.Raw {
		l.q = make([]float64, c.Dim)
		for j, p := range c.Perm {
			l.q[j] = s.q[p] * s.unit
		}
		l.scaled, l.most = make([]float64, len(c.Bounds)), make([]float64, len(c.Bounds))
		var sum, most float64
		for b, j := len(c.Bounds)-1, c.Dim; b >= 0; b-- {
			for ; j > c.Bounds[b]; j-- {
				sum += l.q[j-1] * l.q[j-1]
				most = max(most, math.Abs(l.q[j-1]))
			}
			l.scaled[b], l.most[b] = math.Sqrt(sum)*collection.Up, most
		}
	}
	s.slab, s.phase = l, listed
}

// slabs takes a float32 look at the survivors of every query.
func (x *run) slabs(ctx context.Context, l backend.Look) error {
	if x.c.Basis != collection.Raw && x.c.Rotated32 == nil {
		return fmt.Errorf("float32 coordinates are not kept: %w", backend.ErrRuleUnsupported)
	}
	f, err := x.slabRule(l)
	if err != nil {
		return err
	}
	if len(x.states) >= x.r.threads {
		return x.r.each(ctx, len(x.states), func(_ *scratch, j int) error { return x.slabLook(ctx, &x.states[j], l, f, 1) })
	}
	for j := range x.states {
		if err := x.slabLook(ctx, &x.states[j], l, f, x.r.threads); err != nil {
			return err
		}
	}
	return nil
}

// rule reads coordinates l.From to l.To of one arm and sets its estimate and
// bound.
type rule func(s *state, a *slabArm, bet *bandit.MartingaleState)

// slabRule readies a look's rule; what depends on the query is made by the
// function it returns.
func (x *run) slabRule(l backend.Look) (func(s *state) (rule, error), error) {
	c := x.c
	if l.From < 0 || l.To <= l.From || l.To > max(c.Dim, c.D) {
		return nil, fmt.Errorf("look at coordinates %d to %d of %d", l.From, l.To, c.Dim)
	}
	raw := c.Basis == collection.Raw
	switch {
	case l.Rule == backend.Student && !raw && c.R == 0:
		return func(s *state) (rule, error) { return x.student(s, l), nil }, nil
	case (l.Rule == backend.Cauchy || l.Rule == backend.Martingale) && raw:
		from, to := slices.Index(c.Bounds, l.From), slices.Index(c.Bounds, l.To)
		if from < 0 || to < 0 {
			return nil, fmt.Errorf("look at coordinates %d to %d, bounds are kept at %v", l.From, l.To, c.Bounds)
		}
		if l.Rule == backend.Cauchy {
			return func(s *state) (rule, error) { return cauchy(s, l, to), nil }, nil
		}
		return func(s *state) (rule, error) { return martingale(s, l, from) }, nil
	case l.Rule == backend.MeanRadius && raw && !c.Metric.Differences():
		return func(s *state) (rule, error) { return x.mean(s, l), nil }, nil
	}
	return nil, fmt.Errorf("rule %d on float32 coordinates of a %v basis: %w", l.Rule, c.Basis, backend.ErrRuleUnsupported)
}

// working is the factor of an atom's coordinates.
func (s *state) working(i uint32) float64 {
	return s.c.Metric.Factor(s.c.RowNorm(int(s.c.Order[i])))
}

// student is the law on a rotated float32 prefix, which is its own code.
func (x *run) student(s *state, l backend.Look) rule {
	c := s.c
	o2 := x.r.squares()
	reach := bandit.Reach(l.Alpha, c.Kappa, c.D)
	rest := s.prep.RestNorm
	// kept coordinates below the normal numbers are off by half a step each, at
	// most sqrt(D)/2 steps in norm, which CodeSlack's ten errors and |x~| <= |o|/kappa
	// turn into less than this
	tiny := looks.Least * float64(c.D) * rest
	return func(s *state, a *slabArm, _ *bandit.MartingaleState) {
		row := c.Rotated32[int(a.i)*c.D:]
		sum, squares := s.k.DotSquares(row[l.From:l.To], s.prep.Rest[l.From:l.To])
		a.sum += sum
		a.squares += squares
		slack := tiny + (c.Slack*s.prep.Norm+c.CodeSlack*rest)*float64(c.Norm[a.i])
		t := bandit.LinearTerms{Scale: 1}
		if l.To < c.D {
			t = bandit.Linear(bandit.Moments{A: a.squares, X2: a.squares, O2: o2[a.i]}, c.Kappa)
			slack += c.CodeSlack * rest * t.Scale * math.Sqrt(a.squares)
		}
		off := s.offset(int(a.i))
		a.estimate = t.Scale*a.sum + off
		a.bound = min(a.bound, t.Upper(a.sum, reach, rest)+off+slack+looks.Slop*math.Abs(off))
	}
}

// cauchy bounds what was not seen by the norms beyond.
func cauchy(s *state, l backend.Look, to int) rule {
	c, q := s.c, s.slab
	return func(s *state, a *slabArm, _ *bandit.MartingaleState) {
		sum, _ := s.k.DotGather(c.Row(int(c.Order[a.i])), c.Perm[l.From:l.To], q.q[l.From:l.To])
		a.sum += sum * s.working(a.i)
		off := s.offset(int(a.i))
		a.estimate = a.sum*float64(c.Dim)/float64(l.To) + off
		a.bound = min(a.bound, a.sum+float64(c.SuffixNorm[to][a.i])*q.scaled[to]+off+s.exactSlack(a.i))
	}
}

// martingale is the time-uniform bound of method strict.
func martingale(s *state, l backend.Look, from int) (rule, error) {
	c, q := s.c, s.slab
	step, err := bandit.NewMartingaleStep(l.Alpha, c.Dim, l.From, l.To-l.From, q.most[from])
	if err != nil {
		return nil, err
	}
	if q.bets == nil {
		q.bets = make([]bandit.MartingaleState, len(q.arms))
		for k := range q.bets {
			q.bets[k] = bandit.NewMartingaleState()
		}
	}
	return func(s *state, a *slabArm, m *bandit.MartingaleState) {
		bet := step.Bet(*m, float64(c.SuffixMax[from][a.i]))
		w := s.working(a.i)
		sum, squares := s.k.DotGather(c.Row(int(c.Order[a.i])), c.Perm[l.From:l.To], q.q[l.From:l.To])
		sum, squares = sum*w, squares*w*w
		*m = step.Update(*m, bet, sum, bandit.Centred(sum, squares, l.To-l.From, bet.Centre))
		a.sum += sum
		off := s.offset(int(a.i))
		a.estimate = a.sum*float64(c.Dim)/float64(l.To) + off
		a.bound = min(a.bound, m.UCB()+off+s.exactSlack(a.i))
	}, nil
}

// mean is BanditMIPS's running mean plus its radius.
func (x *run) mean(s *state, l backend.Look) rule {
	c, q := s.c, s.slab
	sigma := math.Ldexp(l.Sigma, -s.exp)
	if !(l.Sigma > 0) {
		lo, hi := x.r.values()
		var a, b float64
		for _, v := range s.q {
			v *= s.unit
			a, b = min(a, v*lo, v*hi), max(b, v*lo, v*hi)
		}
		sigma = bandit.BoundedSigma(a, b)
	}
	radius := bandit.MeanRadius(sigma, max(s.goal.Allowed, 1), l.To, l.Alpha)
	return func(s *state, a *slabArm, _ *bandit.MartingaleState) {
		sum, _ := s.k.DotGather(c.Row(int(c.Order[a.i])), c.Perm[l.From:l.To], q.q[l.From:l.To])
		a.sum += sum * s.working(a.i)
		mu := a.sum / float64(l.To)
		a.estimate = mu * float64(c.Dim)
		a.bound = (mu+radius)*float64(c.Dim) + s.exactSlack(a.i)
	}
}

// exactSlack covers float64 sums over all coordinates, here and in the score, what
// else either rounds, and the offset.
func (s *state) exactSlack(i uint32) float64 {
	return float64(s.c.Dim+16)*0x1p-52*2*float64(s.c.Norm[i])*2 + looks.Slop*math.Abs(s.offset(int(i)))
}

// slabLook reads the look's coordinates of every survivor of one query and
// drops what cannot reach the threshold.
func (x *run) slabLook(ctx context.Context, s *state, l backend.Look, f func(*state) (rule, error), par int) error {
	if s.phase >= answered {
		return nil
	}
	if s.slab == nil {
		s.beginSlab()
	}
	q := s.slab
	if q.seen != l.From {
		return fmt.Errorf("look at coordinates %d to %d after %d", l.From, l.To, q.seen)
	}
	q.leaders(s, l.Candidates)
	r, err := f(s)
	if err != nil {
		return err
	}
	if len(q.arms) == 0 {
		q.seen = l.To
		return nil
	}
	n := len(q.arms)
	parts := min(par, (n+255)/256)
	if err := x.r.each(ctx, parts, func(_ *scratch, p int) error {
		for k := n * p / parts; k < n*(p+1)/parts; k++ {
			var bet *bandit.MartingaleState
			if q.bets != nil {
				bet = &q.bets[k]
			}
			r(s, &q.arms[k], bet)
		}
		return nil
	}); err != nil {
		return err
	}
	s.pulls += int64(n) * int64(l.To-l.From)
	s.bytes += 4 * int64(n) * int64(l.To-l.From)
	q.seen = l.To
	switch {
	case s.c.Basis == collection.Raw && l.To == s.c.Dim:
		// every coordinate was read: the scores are known
		for _, a := range q.arms {
			row := s.c.Order[a.i]
			s.rowsRead++
			s.take(scored{s.exact(row), row})
		}
		q.arms = q.arms[:0]
	case l.Rule == backend.MeanRadius && s.goal.K > 0:
		s.tau = max(s.tau, q.kthLower(s.goal.K)+s.epsilon)
	}
	q.prune(s.tau)
	if l.Rule != backend.Cauchy && l.To < max(s.c.Dim, s.c.D) && len(q.arms) < n {
		s.random = true
	}
	s.report(l, n, 0, len(q.arms))
	return nil
}

// prune keeps the arms whose bound reaches tau.
func (q *slab) prune(tau float64) {
	k := 0
	for i, a := range q.arms {
		if a.bound >= tau {
			q.arms[k] = a
			if q.bets != nil {
				q.bets[k] = q.bets[i]
			}
			k++
		}
	}
	q.arms = q.arms[:k]
}

// kthLower is the k-th largest lower bound, estimate - (bound - estimate).
func (q *slab) kthLower(k int) float64 {
	if len(q.arms) < k {
		return math.Inf(-1)
	}
	lower := make([]float64, len(q.arms))
	for i, a := range q.arms {
		lower[i] = 2*a.estimate - a.bound
	}
	slices.Sort(lower)
	return lower[len(lower)-k]
}

// leaders scores the n arms of greatest estimate exactly.
func (q *slab) leaders(s *state, n int) {
	if n <= 0 {
		return
	}
	order := make([]int, len(q.arms))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &q.arms[a], &q.arms[b]
		switch {
		case x.estimate > y.estimate:
			return -1
		case x.estimate < y.estimate:
			return 1
		}
		return int(x.i) - int(y.i)
	})
	for _, k := range order[:min(n, len(order))] {
		if q.arms[k].bound < s.tau {
			continue
		}
		s.score(int(q.arms[k].i))
		q.arms[k].bound = math.Inf(-1)
	}
	q.prune(max(s.tau, -math.MaxFloat64))
}

// open counts the survivors and takes their greatest bound.
func (q *slab) open(s *state) (n int, most float64) {
	most = math.Inf(-1)
	for _, a := range q.arms {
		if a.bound >= s.tau {
			n++
			most = max(most, a.bound)
		}
	}
	if n > 0 {
		// before any look no bound is finite: the norms' is
		most = max(min(most, s.normCap()), s.tau)
	}
	return n, most
}

// normCap bounds every score by the norms.
func (s *state) normCap() float64 {
	if s.c.Metric.Differences() {
		// lead is half the square of the query's norm, scaled
		return looks.CapAll(s.c, math.Sqrt(math.Ldexp(2*s.scale.Lead, -s.exp)))
	}
	var norm float64
	for _, v := range s.q {
		norm += v * v
	}
	return looks.CapAll(s.c, s.unit*math.Sqrt(norm))
}

// release hands the survivors to the exact scoring at the end.
func (q *slab) release(to []arm) []arm {
	for _, a := range q.arms {
		to = append(to, arm{bound: a.bound, i: a.i})
	}
	return to
}
