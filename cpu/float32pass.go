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
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
)

// float32Pass is a query's elimination by float32 coordinates in the collection's random
// order: rotated coordinates for comparison, or those given for the methods that do not
// preprocess. All values are in the query's scaled units.
type float32Pass struct {
	width      int                      // coordinates read of every survivor
	arms       []float32Arm             // survivors
	bets       []bandit.MartingaleState // one for each arm, for rule Martingale, else nil
	query      []float64                // the query in the order read; nil for basis Rotated
	suffixNorm []float64                // norm of query from each of the collection's Bounds on
	suffixMax  []float64                // greatest magnitude of query from each of Bounds on
	lower      float64                  // k-th best lower bound of all looks by a sigma that was given
}

// float32Arm is a survivor with its running sums.
type float32Arm struct {
	i        uint32
	sum      float64 // of products
	squares  float64 // of coordinates (Student)
	estimate float64 // of the score
	bound    float64 // least upper bound of the score so far
}

// beginFloat32Pass lists the atoms that may be returned and that no look has seen.
func (s *state) beginFloat32Pass() {
	c := s.C
	p := &float32Pass{arms: make([]float32Arm, 0, s.Goal.Allowed), lower: math.Inf(-1)}
	for i := range s.ShownFrom(s.NextPanel) {
		p.arms = append(p.arms, float32Arm{i: uint32(i), bound: math.Inf(1)})
	}
	if c.Basis == collection.Raw {
		p.query = make([]float64, c.Dim)
		for j, from := range c.Perm {
			p.query[j] = s.Q[from] * s.Unit
		}
		p.suffixNorm, p.suffixMax = make([]float64, len(c.Bounds)), make([]float64, len(c.Bounds))
		var sum, most float64
		for b, j := len(c.Bounds)-1, c.Dim; b >= 0; b-- {
			for ; j > c.Bounds[b]; j-- {
				sum += p.query[j-1] * p.query[j-1]
				most = max(most, math.Abs(p.query[j-1]))
			}
			p.suffixNorm[b], p.suffixMax[b] = math.Sqrt(sum)*collection.Up, most
		}
	}
	s.pass, s.Phase = p, arms.Listed
}

// float32Looks takes a float32 look at the survivors of every query.
func (x *run) float32Looks(ctx context.Context, l backend.Look) error {
	if x.C.Basis != collection.Raw && x.C.Rotated32 == nil {
		return fmt.Errorf("float32 coordinates are not kept: %w", backend.ErrRuleUnsupported)
	}
	ruleFor, err := x.float32Rule(l)
	if err != nil {
		return err
	}
	if len(x.states) >= x.r.Threads {
		return x.r.Each(ctx, len(x.states), func(_ *threads.Scratch, j int) error { return x.float32Look(ctx, &x.states[j], l, ruleFor, 1) })
	}
	for j := range x.states {
		if err := x.float32Look(ctx, &x.states[j], l, ruleFor, x.r.Threads); err != nil {
			return err
		}
	}
	return nil
}

// rule reads coordinates From to To-1 of its look from one arm and updates the arm's sums,
// estimate and bound, and its bet if the rule is Martingale.
type rule func(s *state, a *float32Arm, bet *bandit.MartingaleState)

// float32Rule validates look l and returns a function that makes its rule for a query.
func (x *run) float32Rule(l backend.Look) (func(s *state) (rule, error), error) {
	c := x.C
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
		return func(s *state) (rule, error) { return x.meanRadius(s, l), nil }, nil
	}
	return nil, fmt.Errorf("rule %d on float32 coordinates of a %v basis: %w", l.Rule, c.Basis, backend.ErrRuleUnsupported)
}

// workingFactor returns the factor from the coordinates of atom i as given to those of its
// working vector.
func (s *state) workingFactor(i uint32) float64 {
	return s.C.Metric.Factor(s.C.RowNorm(int(s.C.Order[i])))
}

// student bounds by Student's law from rotated float32 coordinates, which are their own
// codes.
func (x *run) student(s *state, l backend.Look) rule {
	c := s.C
	o2 := x.r.squares()
	reach := bandit.Reach(l.Alpha, c.Kappa, c.D)
	rest := s.Prep.RestNorm
	// Stored subnormal coordinates have errors of at most half a step each, at most
	// sqrt(D)/2 steps in norm. With the ten roundings in CodeSlack and |x~| <= |o|/kappa
	// the error of the bound is less than tiny.
	tiny := looks.Least * float64(c.D) * rest
	return func(s *state, a *float32Arm, _ *bandit.MartingaleState) {
		row := c.Rotated32[int(a.i)*c.D:]
		sum, squares := s.Kern.DotSquares(row[l.From:l.To], s.Prep.Rest[l.From:l.To])
		a.sum += sum
		a.squares += squares
		slack := tiny + (c.Slack*s.Prep.Norm+c.CodeSlack*rest)*float64(c.Norm[a.i])
		t := bandit.LinearTerms{Scale: 1}
		if l.To < c.D {
			t = bandit.Linear(bandit.Moments{A: a.squares, X2: a.squares, O2: o2[a.i]}, c.Kappa)
			slack += c.CodeSlack * rest * t.Scale * math.Sqrt(a.squares)
		}
		off := s.Offset(int(a.i))
		a.estimate = t.Scale*a.sum + off
		a.bound = min(a.bound, t.Upper(a.sum, reach, rest)+off+slack+looks.Slop*math.Abs(off))
	}
}

// cauchy bounds the product of the coordinates not read by the norms of both suffixes.
func cauchy(s *state, l backend.Look, to int) rule {
	c, p := s.C, s.pass
	return func(s *state, a *float32Arm, _ *bandit.MartingaleState) {
		sum, _ := c.DotGather(s.Kern, int(c.Order[a.i]), c.Perm[l.From:l.To], p.query[l.From:l.To])
		a.sum += sum * s.workingFactor(a.i)
		off := s.Offset(int(a.i))
		a.estimate = a.sum*float64(c.Dim)/float64(l.To) + off
		a.bound = min(a.bound, a.sum+float64(c.SuffixNorm[to][a.i])*p.suffixNorm[to]+off+s.exactSlack(a.i))
	}
}

// martingale is the time-uniform bound of method strict (bandit.MartingaleStep).
func martingale(s *state, l backend.Look, from int) (rule, error) {
	c, p := s.C, s.pass
	step, err := bandit.NewMartingaleStep(l.Alpha, c.Dim, l.From, l.To-l.From, p.suffixMax[from])
	if err != nil {
		return nil, err
	}
	if p.bets == nil {
		p.bets = make([]bandit.MartingaleState, len(p.arms))
		for k := range p.bets {
			p.bets[k] = bandit.NewMartingaleState()
		}
	}
	return func(s *state, a *float32Arm, m *bandit.MartingaleState) {
		bet := step.Bet(*m, float64(c.SuffixMax[from][a.i]))
		w := s.workingFactor(a.i)
		sum, squares := c.DotGather(s.Kern, int(c.Order[a.i]), c.Perm[l.From:l.To], p.query[l.From:l.To])
		sum, squares = sum*w, squares*w*w
		*m = step.Update(*m, bet, sum, bandit.Centred(sum, squares, l.To-l.From, bet.Centre))
		a.sum += sum
		off := s.Offset(int(a.i))
		a.estimate = a.sum*float64(c.Dim)/float64(l.To) + off
		a.bound = min(a.bound, m.UCB()+off+s.exactSlack(a.i))
	}, nil
}

// meanRadius is BanditMIPS's running mean plus its confidence radius.
func (x *run) meanRadius(s *state, l backend.Look) rule {
	c, p := s.C, s.pass
	sigma := math.Ldexp(l.Sigma, -s.Exp)
	if !(l.Sigma > 0) {
		lo, hi := x.r.values()
		var a, b float64
		for _, v := range s.Q {
			v *= s.Unit
			a, b = min(a, v*lo, v*hi), max(b, v*lo, v*hi)
		}
		sigma = bandit.BoundedSigma(a, b)
	}
	radius := bandit.MeanRadius(sigma, max(s.Goal.Allowed, 1), l.To, l.Alpha)
	return func(s *state, a *float32Arm, _ *bandit.MartingaleState) {
		sum, _ := c.DotGather(s.Kern, int(c.Order[a.i]), c.Perm[l.From:l.To], p.query[l.From:l.To])
		a.sum += sum * s.workingFactor(a.i)
		mu := a.sum / float64(l.To)
		a.estimate = mu * float64(c.Dim)
		a.bound = (mu+radius)*float64(c.Dim) + s.exactSlack(a.i)
	}
}

// exactSlack bounds the rounding of float64 sums over all coordinates, in the bound and in
// the score, of the other operations of either, and of the offset.
func (s *state) exactSlack(i uint32) float64 {
	return float64(s.C.Dim+16)*0x1p-52*2*float64(s.C.Norm[i])*2 + looks.Slop*math.Abs(s.Offset(int(i)))
}

// float32Chunk is how many arms are looked at between two counts of them.
const float32Chunk = 256

// float32Look takes look l at every survivor of one query, on at most so many goroutines,
// and drops the arms that cannot reach the threshold.
func (x *run) float32Look(ctx context.Context, s *state, l backend.Look, ruleFor func(*state) (rule, error), goroutines int) error {
	if s.Phase >= arms.Answered {
		return nil
	}
	if s.pass == nil {
		s.beginFloat32Pass()
	}
	p := s.pass
	if p.width != l.From {
		return fmt.Errorf("look at coordinates %d to %d after %d", l.From, l.To, p.width)
	}
	p.scoreCandidates(s, l.Candidates)
	r, err := ruleFor(s)
	if err != nil {
		return err
	}
	if len(p.arms) == 0 {
		p.width = l.To
		return nil
	}
	n := len(p.arms)
	ranges := min(goroutines, (n+255)/256)
	if err := x.r.Each(ctx, ranges, func(w *threads.Scratch, i int) error {
		for from, k := n*i/ranges, n*i/ranges; k < n*(i+1)/ranges; k++ {
			if (k-from)%float32Chunk == 0 {
				if err := x.r.Spend(ctx, w, float32Chunk, 1); err != nil {
					return err // the bounds of arms that were looked at hold, and so do those of the others
				}
			}
			var bet *bandit.MartingaleState
			if p.bets != nil {
				bet = &p.bets[k]
			}
			r(s, &p.arms[k], bet)
		}
		return nil
	}); err != nil {
		return err
	}
	s.CountCoordinates(l.To-l.From, n)
	p.width = l.To
	switch {
	case s.C.Basis == collection.Raw && l.To == s.C.Dim:
		// Every coordinate was read and counted, so scoring counts no more pulls.
		for k, a := range p.arms {
			if k%threads.MaxUnchecked == threads.MaxUnchecked-1 && ctx.Err() != nil {
				p.arms = p.arms[k:]
				return ctx.Err()
			}
			s.ScoreCounted(int(a.i))
		}
		p.arms = p.arms[:0]
	case l.Rule == backend.MeanRadius && s.Goal.K > 0 && l.Sigma > 0:
		// A sigma that is not true of the data makes bounds that contradict those of earlier looks. The k arms
		// of the greatest upper bounds stay all the same, and the threshold for scores is not raised.
		p.lower = max(p.lower, p.kthLower(s))
		p.prune(min(p.lower, p.kthBound(s.Goal.K)))
	case l.Rule == backend.MeanRadius && s.Goal.K > 0:
		s.RaiseTo(p.kthLower(s))
	}
	p.prune(s.Tau)
	if l.Rule != backend.Cauchy && l.To < max(s.C.Dim, s.C.D) && len(p.arms) < n {
		s.NoteRandomDrop()
	}
	s.AddReport(l, n, 0, len(p.arms))
	return nil
}

// prune keeps the arms whose bound reaches tau.
func (p *float32Pass) prune(tau float64) {
	k := 0
	for i, a := range p.arms {
		if a.bound >= tau {
			p.arms[k] = a
			if p.bets != nil {
				p.bets[k] = p.bets[i]
			}
			k++
		}
	}
	p.arms = p.arms[:k]
}

// kthLower returns the k-th largest lower bound, estimate - (bound - estimate), of the arms whose
// upper bound is at most the ceiling; -Inf if there are fewer than k.
func (p *float32Pass) kthLower(s *state) float64 {
	k := s.Goal.K
	lower := make([]float64, 0, len(p.arms))
	for _, a := range p.arms {
		if s.CertainlyBelow(a.bound) {
			lower = append(lower, 2*a.estimate-a.bound)
		}
	}
	if len(lower) < k {
		return math.Inf(-1)
	}
	slices.Sort(lower)
	return lower[len(lower)-k]
}

// kthBound returns the k-th largest upper bound of the arms; -Inf if there are fewer.
func (p *float32Pass) kthBound(k int) float64 {
	if len(p.arms) < k {
		return math.Inf(-1)
	}
	bounds := make([]float64, len(p.arms))
	for i, a := range p.arms {
		bounds[i] = a.bound
	}
	return bandit.KthLargest(bounds, k)
}

// scoreCandidates scores the n arms of greatest estimate that is at most the ceiling exactly, and
// drops them.
func (p *float32Pass) scoreCandidates(s *state, n int) {
	if n <= 0 {
		return
	}
	order := make([]int, 0, len(p.arms))
	for k := range p.arms {
		if s.MayAnswer(p.arms[k].estimate) {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &p.arms[a], &p.arms[b]
		switch {
		case x.estimate > y.estimate:
			return -1
		case x.estimate < y.estimate:
			return 1
		}
		return int(x.i) - int(y.i)
	})
	for _, k := range order[:min(n, len(order))] {
		if p.arms[k].bound < s.Tau {
			continue
		}
		s.ScoreAtom(int(p.arms[k].i))
		p.arms[k].bound = math.Inf(-1)
	}
	p.prune(max(s.Tau, -math.MaxFloat64))
}

// CountOpen counts the arms that reach the threshold and returns their greatest bound, -Inf
// if there are none.
func (p *float32Pass) countOpen(s *state) (n int, most float64) {
	most = math.Inf(-1)
	for _, a := range p.arms {
		if a.bound >= s.Tau {
			n++
			most = max(most, a.bound)
		}
	}
	if n > 0 {
		// Before any look bounds are infinite, and the norms bound the scores.
		most = max(min(most, s.ScoreCap()), s.Tau)
	}
	return n, most
}

// appendArms appends the survivors to the arms to.
func (p *float32Pass) appendArms(to []topk.Arm) []topk.Arm {
	for _, a := range p.arms {
		to = append(to, topk.Arm{Bound: a.bound, ID: a.i})
	}
	return to
}
