package duel

import "slices"

// rota draws the pairs that a strategy wants in turn, again and again. A strategy that has
// results to consider plans: it sets wanted anew.
type rota struct {
	tally
	sweep  bool
	wanted []pair // none once the goal is reached
	next   int    // index in wanted of the next to draw
	heard  int64  // results since the last plan
	end    int64  // with sweep testing: the duel after which the next plan is made
}

// newRota returns the rota of a completed design, of which a horizon is the most duels.
func newRota(d Design) rota {
	r := rota{tally: newTally(d), sweep: d.Testing == Sweep}
	if d.Horizon > 0 {
		r.horizon = d.Horizon
	}
	return r
}

func (r *rota) complete() bool { return len(r.wanted) == 0 }

func (r *rota) ended() bool { return r.complete() || r.told >= r.horizon }

// contested returns the pairs that decide when the tournament ends. The caller must not change them.
func (r *rota) contested() []pair { return r.wanted }

// drawAhead draws the next pair, unless most duels are in flight or a sweep is drawn.
func (r *rota) drawAhead(most int) (pair, bool) {
	if r.ended() || r.drawn >= r.horizon || r.inFlight() >= most || r.sweep && r.drawn >= r.end {
		return pair{}, false
	}
	if r.next >= len(r.wanted) {
		r.next = 0
	}
	r.next++
	r.drawn++
	return r.wanted[r.next-1], true
}

// planned begins the pairs wanted from the first, unless they are those of before.
func (r *rota) planned(before []pair) {
	if !slices.Equal(before, r.wanted) {
		r.next = 0
	}
}

// withdrawRest withdraws the duels in flight once no more are wanted.
func (r *rota) withdrawRest(c *change) {
	if r.complete() && r.drawn > r.told {
		r.drawn = r.told
		c.withdraw = true
	}
}
