package duel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Scores is what the algorithm Copeland knows. With probability at least 1 - Failure all of
// it is right at all times together, for preferences that differ from the true ones by at
// most epsilon: those in which pairs that are known to be within epsilon of 1/2 are even.
type Scores struct {
	// Arms has all K arms, the greatest score first; scores between Low and High are open.
	Arms []Score `json:"arms"`
	// Winners are arms of the greatest score, the Copeland set once Known; until then, those
	// that may be in it. Ascending.
	Winners []int `json:"winners"`
	Known   bool  `json:"known"`
	// Condorcet is the arm that beats all others, -1 if none is known to.
	Condorcet int `json:"condorcet"`
	// Circle says that there is no unbeaten arm: every arm is known to be beaten by another.
	Circle bool `json:"circle"`
	// Failure is the design's delta.
	Failure float64 `json:"failure"`
}

// Score bounds the number of arms that an arm beats, where an arm to which it is even counts
// 1/2.
type Score struct {
	Arm  int     `json:"arm"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Lost says that another arm is known to beat it.
	Lost bool `json:"lost"`
}

func (s *copeland) describe(st *State) {
	st.Active, st.Standings = allArms(s.k), s.standings()
	low, high, likely := s.bounds()
	r := &Scores{Condorcet: -1, Circle: true, Failure: 2 * float64(pairsOf(s.k)) / s.threshold}
	r.Winners, r.Known = left(low, high)
	for i := range s.k {
		lost := false
		for j := range s.k {
			lost = lost || s.beats[j*s.k+i]
		}
		r.Circle = r.Circle && lost
		if low[i] == 2*(s.k-1) {
			r.Condorcet = i
		}
		r.Arms = append(r.Arms, Score{i, float64(low[i]) / 2, float64(high[i]) / 2, lost})
	}
	slices.SortStableFunc(r.Arms, func(x, y Score) int {
		return cmp.Or(-cmp.Compare(x.Low+x.High, y.Low+y.High), -cmp.Compare(likely[x.Arm], likely[y.Arm]))
	})
	st.Leader = slices.MaxFunc(r.Winners, func(i, j int) int { return cmp.Or(cmp.Compare(likely[i], likely[j]), j-i) })
	st.Copeland = r
	switch {
	case s.complete():
		st.End = Scored
	case s.told >= s.horizon:
		st.End = HorizonReached
	}
}

func (s *copeland) save() progress {
	p := progress{"told": {s.told}, "wanted": flatten(s.wanted), "next": {int64(s.next)}, "heard": {s.heard}, "end": {s.end}}
	s.evidence.save(p)
	return p
}

func (s *copeland) load(p progress, drawn []pair) (err error) {
	var told, next int64
	for name, to := range map[string]*int64{"told": &told, "next": &next, "heard": &s.heard, "end": &s.end} {
		if *to, err = p.scalar(name); err != nil {
			return err
		}
	}
	if s.wanted, err = p.pairs("wanted", s.k); err != nil {
		return err
	}
	s.evidence = newEvidence(s.k, s.epsilon, s.threshold)
	if err := s.evidence.load(p, told); err != nil {
		return err
	}
	if next < 0 || next > int64(len(s.wanted)) || s.heard < 0 || s.heard > told {
		return fmt.Errorf("pair %d of %d is next, %d duels heard of %d", next, len(s.wanted), s.heard, told)
	}
	s.next = int(next)
	low, high, _ := s.bounds()
	if _, known := left(low, high); !known && len(s.wanted) == 0 {
		return errors.New("ended before the scores were known")
	}
	if err := s.tally.load(told, len(drawn)); err != nil {
		return err
	}
	return checkDrawn(drawn, s.k, s.sweep && !s.ended(), s.end, &s.tally)
}
