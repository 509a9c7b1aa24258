package duel

// End says why a tournament ended.
type End string

const (
	// OneLeft: all other arms are eliminated.
	OneLeft End = "one arm left"
	// Accurate: all active arms are within epsilon of the best.
	Accurate End = "accuracy reached"
	// HorizonReached: there are no duels left; the leader has no guarantee.
	HorizonReached End = "horizon reached"
)

// State is where a tournament stands.
type State struct {
	// Duels counts results that were taken, Open duels handed out whose leases
	// run and that are not answered, Waiting answers that wait for an earlier one.
	Duels   int64 `json:"duels"`
	Open    int   `json:"open"`
	Waiting int   `json:"waiting"`
	// Active arms, ascending; Standings are theirs, in the same order.
	Active     []int         `json:"active"`
	Standings  []Standing    `json:"standings"`
	Eliminated []Elimination `json:"eliminated"` // in order
	// Radius is the present confidence radius of a rate; 0 if there is none that
	// all arms share.
	Radius float64 `json:"radius,omitempty"`
	// Leader does best so far; it is the winner once Done.
	Leader int  `json:"leader"`
	Done   bool `json:"done"`
	End    End  `json:"end,omitempty"`
	// Guarantee is what is known of the winner; nil before the end, if the horizon
	// came first, and for Interleaved Filter 2 with the tight radius.
	Guarantee *Guarantee `json:"guarantee,omitempty"`
}

// Standing is how an active arm does, by the duels that count for it at present:
// against active arms (Beat-the-Mean), against the champion (Interleaved Filter),
// in its present match (Knockout), against all (Double Thompson).
type Standing struct {
	Arm   int     `json:"arm"`
	Duels int64   `json:"duels"`
	Wins  int64   `json:"wins"`
	Rate  float64 `json:"rate"` // 1/2 without duels
}

// Elimination says by which figures an arm went out.
type Elimination struct {
	Arm int   `json:"arm"`
	At  int64 `json:"at"` // results taken by then
	// Rate is over Duels of the arm; against the mean arm for Beat-the-Mean, else
	// against Rival.
	Rate      float64 `json:"rate"`
	Duels     int64   `json:"duels"`
	Rival     int     `json:"rival"`
	RivalRate float64 `json:"rival_rate"`
	Radius    float64 `json:"radius"`
}

// Guarantee is the proven promise, under the assumptions of its algorithm:
// P(eps(best, winner) > Epsilon) <= Failure.
type Guarantee struct {
	Epsilon float64 `json:"epsilon"`
	Failure float64 `json:"failure"`
}

// guarantee is that of an ended tournament; nil without.
func (d Design) guarantee(end End) *Guarantee {
	switch {
	case end == "" || end == HorizonReached:
		return nil
	case d.Goal == PAC:
		return &Guarantee{Epsilon: d.Epsilon, Failure: d.Delta}
	case d.Algorithm == InterleavedFilter2 && d.Radius == Tight:
		return nil // that pruning spares the best arm is proven for the wide one
	}
	g := &Guarantee{Failure: 1 / float64(d.Horizon)}
	if d.Algorithm == InterleavedFilter2 {
		g.Failure *= 2 // pruning errs with 1/T by itself
	}
	return g
}
