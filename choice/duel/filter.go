package duel

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// filter is Interleaved Filter (Yue, Broder, Kleinberg, Joachims, JCSS 78 (2012) 1538).
// A champion meets all challengers in turn. Challengers that are worse with confidence
// are eliminated, and one that is better with confidence replaces the champion; Filter
// 2 then also eliminates ("prunes") the challengers that the old champion led. Tests
// follow each sweep, as published.
type filter struct {
	tally
	k     int
	scale float64
	prune bool

	champion int
	active   []int   // challengers, ascending
	n, w     []int64 // duels and wins of the champion against each, this round
	next     int     // index in active of the next challenger to draw
	heard    int     // results of this sweep taken so far
}

func newFilter(k int, d Design, rng *rand.Rand) *filter {
	s := &filter{
		tally: newTally(d), k: k, scale: filterScale(k, d), prune: d.Algorithm == InterleavedFilter2,
		champion: rng.IntN(k), n: make([]int64, k), w: make([]int64, k),
	}
	s.active = slices.Delete(allArms(k), s.champion, s.champion+1)
	return s
}

func (s *filter) ended() bool { return len(s.active) == 0 || s.told >= s.horizon }

func (s *filter) draw() (pair, bool) {
	if s.ended() || s.next == len(s.active) || s.drawn >= s.horizon {
		return pair{}, false
	}
	s.next++
	s.drawn++
	return pair{s.champion, s.active[s.next-1]}, true
}

func (s *filter) tell(d pair, won bool) change {
	s.told++
	s.heard++
	s.n[d.b]++
	if won {
		s.w[d.b]++
	}
	if s.heard < len(s.active) {
		return change{}
	}
	s.next, s.heard = 0, 0
	return change{eliminated: s.test()}
}

// rate returns the champion's rate of wins against b.
func (s *filter) rate(b int) float64 { return rate(s.w[b], s.n[b]) }

// test eliminates challengers that are worse with confidence, then the champion if some
// challenger is better with confidence; the best such challenger replaces it.
func (s *filter) test() []Elimination {
	var out []Elimination
	radius := radiusAt(s.scale, s.n[s.active[0]])
	s.keep(&out, radius, func(b int) bool { return s.rate(b)-radius <= .5 })
	if len(s.active) == 0 {
		return out
	}
	better := slices.MinFunc(s.active, func(a, b int) int { return int(s.w[a] - s.w[b]) }) // all have the same n
	if s.rate(better)+radius >= .5 {
		return out
	}
	if s.prune {
		s.keep(&out, radius, func(b int) bool { return s.rate(b) <= .5 })
	}
	out = append(out, Elimination{
		Arm: s.champion, At: s.told, Rate: s.rate(better), Duels: s.n[better],
		Rival: better, RivalRate: 1 - s.rate(better), Radius: radius,
	})
	s.champion = better
	i, _ := slices.BinarySearch(s.active, better)
	s.active = slices.Delete(s.active, i, i+1)
	clear(s.n)
	clear(s.w)
	return out
}

// keep eliminates the challengers for which stays is false.
func (s *filter) keep(out *[]Elimination, radius float64, stays func(b int) bool) {
	s.active = slices.DeleteFunc(s.active, func(b int) bool {
		if stays(b) {
			return false
		}
		*out = append(*out, Elimination{
			Arm: b, At: s.told, Rate: 1 - s.rate(b), Duels: s.n[b],
			Rival: s.champion, RivalRate: s.rate(b), Radius: radius,
		})
		return true
	})
}

func (s *filter) describe(st *State) {
	st.Active = slices.Sorted(slices.Values(append(slices.Clone(s.active), s.champion)))
	var n, w int64
	for _, b := range s.active {
		n += s.n[b]
		w += s.w[b]
	}
	st.Leader = s.champion
	for _, a := range st.Active {
		if a == s.champion {
			st.Standings = append(st.Standings, Standing{Arm: a, Duels: n, Wins: w, Rate: rate(w, n)})
			continue
		}
		st.Standings = append(st.Standings, Standing{Arm: a, Duels: s.n[a], Wins: s.n[a] - s.w[a], Rate: 1 - s.rate(a)})
		st.Radius = radiusAt(s.scale, s.n[a])
	}
	switch {
	case len(s.active) == 0:
		st.End = OneLeft
	case s.told >= s.horizon:
		st.End = HorizonReached
	}
}

func (s *filter) save() progress {
	return progress{
		"told": {s.told}, "champion": {int64(s.champion)}, "active": numbers(s.active),
		"next": {int64(s.next)}, "heard": {int64(s.heard)}, "n": s.n, "w": s.w,
	}
}

func (s *filter) load(p progress, drawn []pair) (err error) {
	var told, champion, next, heard int64
	for name, to := range map[string]*int64{"told": &told, "champion": &champion, "next": &next, "heard": &heard} {
		if *to, err = p.scalar(name); err != nil {
			return err
		}
	}
	if s.active, err = p.arms("active", s.k); err != nil {
		return err
	}
	if champion < 0 || champion >= int64(s.k) || slices.Contains(s.active, int(champion)) || !slices.IsSorted(s.active) {
		return fmt.Errorf("champion %d of challengers %v", champion, s.active)
	}
	if next < 0 || next > int64(len(s.active)) || heard != next-int64(len(drawn)) || heard < 0 || heard > 0 && heard == int64(len(s.active)) {
		return fmt.Errorf("%d of %d challengers met, %d told, %d in flight", next, len(s.active), heard, len(drawn))
	}
	for i, d := range drawn {
		if (pair{int(champion), s.active[int(heard)+i]}) != d {
			return fmt.Errorf("duel of %d and %d, out of turn", d.a, d.b)
		}
	}
	n, w, err := p.counts("n", "w", s.k, told)
	if err != nil {
		return err
	}
	copy(s.n, n)
	copy(s.w, w)
	s.champion, s.next, s.heard = int(champion), int(next), int(heard)
	return s.tally.load(told, len(drawn))
}
