package duel

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Algorithm chooses the next duels and eliminates arms.
type Algorithm string

// The algorithms, by their names in Design and its JSON.
const (
	Anytime            Algorithm = "anytime"
	BeatTheMean        Algorithm = "beat-the-mean"
	InterleavedFilter1 Algorithm = "interleaved-filter-1"
	InterleavedFilter2 Algorithm = "interleaved-filter-2" // with pruning
	DoubleThompson     Algorithm = "double-thompson"
	Knockout           Algorithm = "knockout"

	Rank     Algorithm = "rank"     // orders all arms or finds the top ones
	Copeland Algorithm = "copeland" // finds the arms that beat the most others
)

// Algorithms lists the algorithms that find the best arm: all but Rank and Copeland.
func Algorithms() []Algorithm {
	return []Algorithm{Anytime, BeatTheMean, InterleavedFilter1, InterleavedFilter2, DoubleThompson, Knockout}
}

// bets reports whether an algorithm decides by capitals (capital.go), which may be looked at
// after every duel.
func (a Algorithm) bets() bool { return a == "" || a == Anytime || a == Rank || a == Copeland }

// Goal is the objective of a tournament.
type Goal string

const (
	// Online keeps the regret over Horizon duels small.
	Online Goal = "online"
	// PAC finds an arm within Epsilon of the best with probability at least 1 - Delta; with
	// Anytime, Epsilon may be 0.
	PAC Goal = "pac"
)

// Radius names a confidence radius c(n).
type Radius string

const (
	// Tight is sqrt(ln(1/delta)/n): equation (9) of Beat-the-Mean, proven for gamma = 1,
	// and for Interleaved Filter by footnote 7 of that paper.
	Tight Radius = "tight"
	// Wide is 3 gamma^2 sqrt(ln(1/delta)/n) for Beat-the-Mean (its equation (4)), and
	// sqrt(4 ln(1/delta)/n) for Interleaved Filter (its own paper).
	Wide Radius = "wide"
)

// Testing says after which duels arms are tested for elimination.
type Testing string

const (
	// Strict tests after every duel, as published. If a result eliminates an arm, duels
	// issued after it are withdrawn.
	Strict Testing = "strict"
	// Sweep issues as many duels as arms are active (Anytime: challengers) and tests once all
	// are answered; nothing is ever withdrawn. choice/docs/duels.md shows that the bound still holds.
	Sweep Testing = "sweep"
)

// MaxArms bounds K: a tournament keeps K x K counts.
const MaxArms = 2048

// maxCount bounds horizons and counts, so that they are exact in float64, and hence in
// every language's JSON.
const maxCount = 1 << 53

// minDelta keeps capitals finite.
const minDelta = 1e-100

// maxGamma keeps radii finite.
const maxGamma = 1e6

// Design is an algorithm with its parameters. Zero values stand for the defaults, if any.
type Design struct {
	Algorithm Algorithm `json:"algorithm,omitempty"` // default: anytime
	// Goal defaults to online if Horizon is set; with Anytime, if Horizon is and Delta is not.
	Goal Goal `json:"goal,omitempty"`
	// Horizon is T, the number of duels that regret is summed over, at least K. Online only;
	// with Anytime, Rank or Copeland and PAC it bounds the number of duels.
	Horizon int64 `json:"horizon,omitempty"`
	// Epsilon in (0, 1/2) and Delta in (0, 1) bound the failure probability:
	// P(eps(best, winner) > Epsilon) <= Delta. PAC only. With Anytime, Rank and Copeland,
	// Epsilon may be 0, and Delta is at least 1e-100.
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	// Gamma in [1, 10^6] relaxes strong stochastic transitivity; default 1. Anytime, Rank and
	// Copeland do not need it; of the others only Beat-the-Mean and Knockout support values above 1.
	Gamma float64 `json:"gamma,omitempty"`
	// Radius defaults to Tight where that is proven. Beat-the-Mean online and Interleaved
	// Filter only.
	Radius  Radius  `json:"radius,omitempty"`
	Testing Testing `json:"testing,omitempty"` // default: strict
	// Top is how many places Rank fills, in [1, K-1], in no order among them; 0 is K: all, in
	// order.
	Top int `json:"top,omitempty"`
	// Alpha > 1/2 is the exponent of Double Thompson's bounds; default 0.51.
	Alpha float64 `json:"alpha,omitempty"`
}

// complete fills in defaults for k arms and rejects values out of range and combinations
// without a proof.
func (d Design) complete(k int) (Design, error) {
	if k < 2 {
		return d, fmt.Errorf("duel: %d arms; a tournament has at least 2", k)
	}
	if k > MaxArms {
		return d, fmt.Errorf("duel: %d arms; at most %d", k, MaxArms)
	}
	if d.Algorithm == "" {
		d.Algorithm = Anytime
	}
	if d.Testing == "" {
		d.Testing = Strict
	}
	if d.Gamma == 0 {
		d.Gamma = 1
	}
	if d.Testing != Strict && d.Testing != Sweep {
		return d, fmt.Errorf("duel: testing %q is neither %s nor %s", d.Testing, Strict, Sweep)
	}
	if !(d.Gamma >= 1 && d.Gamma <= maxGamma) {
		return d, fmt.Errorf("duel: gamma %g is not in [1, 1e6]", d.Gamma)
	}
	d, err := d.completeGoal(k)
	if err != nil {
		return d, err
	}
	return d.completeAlgorithm(k)
}

func (d Design) completeGoal(k int) (Design, error) {
	if d.Goal == "" {
		d.Goal = PAC
		if d.Horizon != 0 && !(d.Algorithm.bets() && d.Delta != 0) {
			d.Goal = Online
		}
	}
	switch d.Goal {
	case Online:
		if d.Horizon < int64(k) || d.Horizon > maxCount {
			return d, fmt.Errorf("duel: horizon %d is not in [%d, 2^53], from one duel an arm", d.Horizon, k)
		}
		if d.Epsilon != 0 || d.Delta != 0 {
			return d, errors.New("duel: epsilon and delta belong to pac, a horizon to online; give one of both")
		}
	case PAC:
		if d.Algorithm.bets() && (d.Horizon < 0 || d.Horizon > maxCount) {
			return d, fmt.Errorf("duel: horizon %d is not in [1, 2^53]", d.Horizon)
		}
		if d.Horizon != 0 && !d.Algorithm.bets() {
			return d, errors.New("duel: a horizon belongs to online, epsilon and delta to pac; give one of both")
		}
		if exact := d.Algorithm.bets() && d.Epsilon == 0; !(d.Epsilon > 0 && d.Epsilon < .5) && !exact {
			limits := "(0, 1/2)"
			if d.Algorithm.bets() {
				limits = "[0, 1/2)"
			}
			return d, fmt.Errorf("duel: epsilon %g is not in %s", d.Epsilon, limits)
		}
		if !(d.Delta > 0 && d.Delta < 1) {
			return d, fmt.Errorf("duel: delta %g is not in (0, 1)", d.Delta)
		}
	default:
		return d, fmt.Errorf("duel: goal %q is neither %s nor %s", d.Goal, Online, PAC)
	}
	return d, nil
}

// failure returns the failure probability that a completed design allows: 1/T online.
func (d Design) failure() float64 {
	if d.Goal == Online {
		return 1 / float64(d.Horizon)
	}
	return d.Delta
}

func (d Design) completeAlgorithm(k int) (Design, error) {
	if d.Algorithm == DoubleThompson && d.Alpha == 0 {
		d.Alpha = .51
	}
	if d.Algorithm == DoubleThompson && !(d.Alpha > .5 && d.Alpha < math.Inf(1)) {
		return d, fmt.Errorf("duel: alpha %g is not in (1/2, inf)", d.Alpha)
	}
	if d.Algorithm != DoubleThompson && d.Alpha != 0 {
		return d, fmt.Errorf("duel: alpha belongs to %s, not to %s", DoubleThompson, d.Algorithm)
	}
	switch {
	case d.Top != 0 && d.Algorithm != Rank:
		return d, fmt.Errorf("duel: top belongs to %s, not to %s", Rank, d.Algorithm)
	case d.Top < 0 || d.Top >= k:
		return d, fmt.Errorf("duel: top %d of %d arms is not in [1, %d]; 0 is all in order", d.Top, k, k-1)
	}
	switch d.Algorithm {
	case Rank, Copeland:
		if d.Goal != PAC {
			return d, fmt.Errorf("duel: %s is for %s, not for %s: give delta", d.Algorithm, PAC, d.Goal)
		}
		fallthrough
	case Anytime:
		if !(d.failure() >= minDelta) {
			return d, fmt.Errorf("duel: delta %g is not in [%g, 1), as %s needs it", d.Delta, minDelta, d.Algorithm)
		}
		return d, d.noRadius()
	case BeatTheMean:
		if d.Goal == PAC {
			return d.completePAC(k)
		}
		return d.completeRadius(d.Gamma == 1)
	case InterleavedFilter1, InterleavedFilter2:
		if err := d.only(Online); err != nil {
			return d, err
		}
		return d.completeRadius(true)
	case DoubleThompson:
		return d, errors.Join(d.only(Online), d.noRadius())
	case Knockout:
		if d.Goal != PAC {
			return d, fmt.Errorf("duel: %s is for %s, not for %s", d.Algorithm, PAC, d.Goal)
		}
		return d.completeKnockout(k)
	}
	return d, fmt.Errorf("duel: algorithm %q is none of %v", d.Algorithm, append(Algorithms(), Rank, Copeland))
}

// only rejects goals other than goal, and gamma other than 1, which the proof lacks.
func (d Design) only(goal Goal) error {
	if d.Goal != goal {
		return fmt.Errorf("duel: %s is for %s, not for %s", d.Algorithm, goal, d.Goal)
	}
	if d.Gamma != 1 {
		return fmt.Errorf("duel: %s is proven for gamma = 1, not %g", d.Algorithm, d.Gamma)
	}
	return nil
}

func (d Design) noRadius() error {
	if d.Radius != "" {
		return fmt.Errorf("duel: %s for %s has one radius only; leave out %q", d.Algorithm, d.Goal, d.Radius)
	}
	return nil
}

func (d Design) completeRadius(tight bool) (Design, error) {
	if d.Radius == "" {
		d.Radius = Wide
		if tight {
			d.Radius = Tight
		}
	}
	switch {
	case d.Radius != Tight && d.Radius != Wide:
		return d, fmt.Errorf("duel: radius %q is neither %s nor %s", d.Radius, Tight, Wide)
	case d.Radius == Tight && !tight:
		return d, fmt.Errorf("duel: the %s radius is proven for gamma = 1, not %g", Tight, d.Gamma)
	}
	return d, nil
}

func (d Design) completePAC(k int) (Design, error) {
	if err := d.noRadius(); err != nil {
		return d, err
	}
	_, err := pacComparisons(k, d.Gamma, d.Epsilon, d.Delta)
	return d, err
}

// completeKnockout rejects parameters with which a match may not end, or exceeds maxCount.
func (d Design) completeKnockout(k int) (Design, error) {
	if err := d.noRadius(); err != nil {
		return d, err
	}
	if d.Delta < 0x1p-1022 { // 2/delta might be infinite
		return d, fmt.Errorf("duel: delta %g is not in [2^-1022, 1), as %s needs it", d.Delta, d.Algorithm)
	}
	if last := bits.Len(uint(k - 1)); !(matchOf(d, last).longest < maxCount) {
		return d, fmt.Errorf("duel: gamma %g with epsilon %g wants matches of more than 2^53 duels", d.Gamma, d.Epsilon)
	}
	return d, nil
}
