package duel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// beat is Beat-the-Mean (Yue and Joachims, ICML 2011, Algorithm 1). Every active arm
// meets arms drawn uniformly from all active ones, itself included, so its rate of wins
// estimates its chance against the mean arm.
type beat struct {
	tally
	k     int
	scale float64 // of the radius
	limit int64   // N: the algorithm ends once every arm has that many comparisons
	sweep bool
	rng   *rand.Rand

	active []int  // W, ascending
	cells  []cell // [a*k+b]: duels of b that a began
	n, w   []int64
	// planned is n_b including duels in flight. due holds the arms of least planned count,
	// in the order left by the draws.
	planned []int64
	due     []int
	end     int64 // with sweep testing: the duel after which arms are tested

	least  int64 // n*
	at     int   // number of active arms with n_b = n*
	radius float64
	// All rates lie in [lo, hi], which may be wider than necessary.
	lo, hi float64
}

// cell counts the duels of an ordered pair and the wins of its first arm.
type cell struct{ n, w int64 }

func newBeat(k int, d Design, rng *rand.Rand) *beat {
	s := &beat{
		tally: newTally(d), k: k, sweep: d.Testing == Sweep, rng: rng,
		active: allArms(k), cells: make([]cell, k*k),
		n: make([]int64, k), w: make([]int64, k), planned: make([]int64, k),
	}
	s.scale, s.limit = beatScale(k, d)
	s.end = s.sweepEnd()
	s.refresh()
	return s
}

func (s *beat) ended() bool {
	return len(s.active) == 1 || s.told >= s.horizon || s.least >= s.limit
}

// sweepEnd returns the last duel of a sweep that starts with no duel in flight.
func (s *beat) sweepEnd() int64 { return s.told + int64(len(s.active)) }

func (s *beat) draw() (pair, bool) {
	if s.ended() || s.drawn >= s.horizon || s.inFlight() >= len(s.active) || s.sweep && s.drawn >= s.end {
		return pair{}, false
	}
	if len(s.due) == 0 && !s.findDue() {
		return pair{}, false
	}
	// One random number chooses both the arm that is due and its opponent.
	choice := s.rng.IntN(len(s.due) * len(s.active))
	i, last := choice/len(s.active), len(s.due)-1
	a := s.due[i]
	s.due[i], s.due = s.due[last], s.due[:last]
	s.planned[a]++
	s.drawn++
	return pair{a, s.active[choice%len(s.active)]}, true
}

// findDue lists the arms of least planned count. It returns false if they have reached
// the limit of comparisons.
func (s *beat) findDue() bool {
	least := int64(math.MaxInt64)
	for _, b := range s.active {
		if s.planned[b] < least {
			least, s.due = s.planned[b], s.due[:0]
		}
		if s.planned[b] == least {
			s.due = append(s.due, b)
		}
	}
	if least >= s.limit {
		s.due = s.due[:0]
		return false
	}
	return true
}

func (s *beat) tell(d pair, won bool) change {
	s.told++
	cell := &s.cells[d.a*s.k+d.b]
	cell.n++
	s.n[d.a]++
	if won {
		cell.w++
		s.w[d.a]++
	}
	if s.n[d.a] == s.least+1 {
		s.at--
	}
	if s.at == 0 {
		s.refresh()
	} else {
		p := rate(s.w[d.a], s.n[d.a])
		s.lo, s.hi = min(s.lo, p), max(s.hi, p)
	}
	if !s.sweep {
		return s.test()
	}
	var all change
	if s.told < s.end && !s.ended() {
		return all
	}
	for c := s.test(); c.eliminated != nil; c = s.test() {
		all.eliminated = append(all.eliminated, c.eliminated...)
	}
	s.end = s.sweepEnd()
	return all
}

// refresh recomputes n*, its radius and the range of rates.
func (s *beat) refresh() {
	s.least = math.MaxInt64
	for _, b := range s.active {
		if s.n[b] < s.least {
			s.least, s.at = s.n[b], 0
		}
		if s.n[b] == s.least {
			s.at++
		}
	}
	s.radius = radiusAt(s.scale, s.least)
	s.extremes()
}

// extremes returns the arms of worst and best rate, the first of equals.
func (s *beat) extremes() (worst, best int) {
	s.lo, s.hi = math.Inf(1), math.Inf(-1)
	for _, b := range s.active {
		p := rate(s.w[b], s.n[b])
		if p < s.lo {
			s.lo, worst = p, b
		}
		if p > s.hi {
			s.hi, best = p, b
		}
	}
	return worst, best
}

// test is line 16: min P + c* <= max P - c*. It eliminates at most one arm.
func (s *beat) test() change {
	if len(s.active) == 1 || s.lo+s.radius > s.hi-s.radius {
		return change{}
	}
	worst, best := s.extremes()
	if s.lo+s.radius > s.hi-s.radius {
		return change{}
	}
	e := Elimination{
		Arm: worst, At: s.told, Rate: s.lo, Duels: s.n[worst],
		Rival: best, RivalRate: s.hi, Radius: s.radius,
	}
	withdraw := s.drawn > s.told
	s.remove(worst)
	return change{eliminated: []Elimination{e}, withdraw: withdraw}
}

// remove takes z out of W and its comparisons out of all sums (lines 18 and 19). Duels
// against z leave n_b and w_b; duels that z began counted for z alone. Duels in flight
// are dropped.
func (s *beat) remove(z int) {
	i, _ := slices.BinarySearch(s.active, z)
	s.active = slices.Delete(s.active, i, i+1)
	for _, b := range s.active {
		cell := s.cells[b*s.k+z]
		s.n[b] -= cell.n
		s.w[b] -= cell.w
	}
	copy(s.planned, s.n)
	s.due = s.due[:0]
	s.drawn = s.told
	s.refresh()
}

func (s *beat) describe(st *State) {
	st.Active = slices.Clone(s.active)
	for _, b := range s.active {
		st.Standings = append(st.Standings, Standing{Arm: b, Duels: s.n[b], Wins: s.w[b], Rate: rate(s.w[b], s.n[b])})
	}
	st.Radius = s.radius
	_, st.Leader = s.extremes()
	switch {
	case len(s.active) == 1:
		st.End = OneLeft
	case s.least >= s.limit:
		st.End = Accurate
	case s.told >= s.horizon:
		st.End = HorizonReached
	}
}

func (s *beat) save() progress {
	n, w := make([]int64, s.k*s.k), make([]int64, s.k*s.k)
	for i, c := range s.cells {
		n[i], w[i] = c.n, c.w
	}
	return progress{
		"told": {s.told}, "end": {s.end}, "active": numbers(s.active), "due": numbers(s.due), "n": n, "w": w,
	}
}

func (s *beat) load(p progress, drawn []pair) error {
	told, err := p.scalar("told")
	if err != nil {
		return err
	}
	if s.end, err = p.scalar("end"); err != nil {
		return err
	}
	if s.active, err = p.ascending("active", s.k); err != nil {
		return err
	}
	n, w, err := p.counts("n", "w", s.k*s.k, told)
	if err != nil {
		return err
	}
	var all int64
	for i := range s.cells {
		s.cells[i] = cell{n[i], w[i]}
		all += n[i]
	}
	if all != told {
		return fmt.Errorf("%d duels counted, %d told", all, told)
	}
	for _, a := range s.active {
		s.n[a], s.w[a] = 0, 0
		for _, b := range s.active {
			s.n[a] += s.cells[a*s.k+b].n
			s.w[a] += s.cells[a*s.k+b].w
		}
	}
	if err := s.tally.load(told, len(drawn)); err != nil {
		return err
	}
	s.refresh()
	if s.sweep && !s.ended() && (s.end <= s.told || s.end < s.drawn || s.end > s.told+int64(s.k)) {
		return fmt.Errorf("a sweep ends at duel %d, %d told, %d drawn", s.end, s.told, s.drawn)
	}
	if len(drawn) > len(s.active) {
		return fmt.Errorf("%d duels of %d arms in flight", len(drawn), len(s.active))
	}
	return s.loadDue(p, drawn)
}

// loadDue checks the saved due list against the duels in flight.
func (s *beat) loadDue(p progress, drawn []pair) error {
	copy(s.planned, s.n)
	for _, d := range drawn {
		for _, arm := range []int{d.a, d.b} {
			if _, ok := slices.BinarySearch(s.active, arm); !ok {
				return fmt.Errorf("arm %d duels and is out", arm)
			}
		}
		s.planned[d.a]++
	}
	due, err := p.arms("due", s.k)
	if err != nil {
		return err
	}
	if len(due) > 0 {
		s.findDue()
		if !slices.Equal(s.due, slices.Sorted(slices.Values(due))) {
			return fmt.Errorf("%v are due, not %v", s.due, due)
		}
	}
	s.due = due
	return nil
}
