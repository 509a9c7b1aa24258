package duel

// End says why a tournament ended.
type End string

const (
	// OneLeft: all other arms are eliminated.
	OneLeft End = "one arm left"
	// Accurate: all active arms are within epsilon of the best.
	Accurate End = "accuracy reached"
	// Ranked: every pair is known that decides the places.
	Ranked End = "places decided"
	// Scored: it is known which arms beat the most others.
	Scored End = "scores decided"
	// HorizonReached: no duels are left; the leader has no guarantee.
	HorizonReached End = "horizon reached"
)

// State is a snapshot of a tournament.
type State struct {
	// Duels counts the results taken, Open the duels issued with a running lease and no
	// result, Waiting the results that wait for an earlier one.
	Duels   int64 `json:"duels"`
	Open    int   `json:"open"`
	Waiting int   `json:"waiting"`
	// Ties counts those of the Duels that were ties and settled by a coin; Undone the calls
	// of Undo.
	Ties   int64 `json:"ties,omitempty"`
	Undone int64 `json:"undone,omitempty"`
	// Active arms, ascending; Standings are theirs, in the same order.
	Active     []int         `json:"active"`
	Standings  []Standing    `json:"standings"`
	Eliminated []Elimination `json:"eliminated"` // in order
	// Radius is the present confidence radius of a rate, 0 if the arms do not share one.
	Radius float64 `json:"radius,omitempty"`
	// Leader is the best arm so far; once Done, it is the winner. Of Copeland winners it is
	// one; of the top arms that Rank finds, which it does not order, one too.
	Leader int  `json:"leader"`
	Done   bool `json:"done"`
	End    End  `json:"end,omitempty"`
	// Guarantee is the winner's guarantee: nil before the end, if the horizon came first, and
	// for Interleaved Filter 2 with the tight radius. With Anytime it is the leader's at this
	// moment, and nil while its Failure would be above 1/2.
	Guarantee *Guarantee `json:"guarantee,omitempty"`
	// Ranking is what Rank knows, Copeland what Copeland does; nil with other algorithms.
	Ranking  *Ranking `json:"ranking,omitempty"`
	Copeland *Scores  `json:"copeland,omitempty"`
	// Standoff is a pair that is hard to tell apart, so that the end may be far off or never come; nil
	// if there is none, and with a horizon.
	Standoff *Standoff `json:"standoff,omitempty"`
	// Lean is the judges' preference for the arm shown first; nil unless the order is random.
	Lean *Lean `json:"lean,omitempty"`
}

// Standing is an active arm's record over the duels that count for it now: against active
// arms (Beat-the-Mean), the champion (Interleaved Filter), its opponent in this round
// (Knockout), all arms (Double Thompson, Anytime, Rank, Copeland).
type Standing struct {
	Arm   int     `json:"arm"`
	Duels int64   `json:"duels"`
	Wins  int64   `json:"wins"`
	Rate  float64 `json:"rate"` // 1/2 without duels
}

// Elimination says on which figures an arm was eliminated.
type Elimination struct {
	Arm int   `json:"arm"`
	At  int64 `json:"at"` // results taken by then
	// Rate is over Duels of the arm, against the mean arm for Beat-the-Mean and against
	// Rival otherwise. Radius is 0 for Anytime, which has none: duels with other arms than
	// Rival may have contributed.
	Rate      float64 `json:"rate"`
	Duels     int64   `json:"duels"`
	Rival     int     `json:"rival"`
	RivalRate float64 `json:"rival_rate"`
	Radius    float64 `json:"radius"`
}

// Guarantee is a bound proven under the assumptions of the algorithm:
// P(eps(best, winner) > Epsilon) <= Failure. Rank and Copeland promise more: see Ranking and
// Scores.
type Guarantee struct {
	Epsilon float64 `json:"epsilon"`
	Failure float64 `json:"failure"`
}

// guarantee returns the guarantee of a tournament that ended so, nil if there is none.
func (d Design) guarantee(end End) *Guarantee {
	switch {
	case end == "" || end == HorizonReached || d.Algorithm == Anytime: // Anytime describes its own
		return nil
	case d.Goal == PAC:
		return &Guarantee{Epsilon: d.Epsilon, Failure: d.Delta}
	case d.Algorithm == InterleavedFilter2 && d.Radius == Tight:
		return nil // only with the wide radius is pruning proven to spare the best arm
	}
	g := &Guarantee{Failure: 1 / float64(d.Horizon)}
	if d.Algorithm == InterleavedFilter2 {
		g.Failure *= 2 // pruning adds a failure probability of 1/T
	}
	return g
}
