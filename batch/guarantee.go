package batch

import (
	"math"
	"slices"
)

// MergedPlan is the plan in certificates of answers that were merged from answers over parts of the vectors.
const MergedPlan = "merged"

// Rank orders guarantees from best to worst. A bound is better than none: an answer that was stopped
// and one of a heuristic have no bound together.
func (g Guarantee) Rank() int {
	order := []Guarantee{GuaranteeExact, GuaranteeCertain, GuaranteeProbabilistic, GuaranteeBound, GuaranteeHeuristic}
	if i := slices.Index(order, g); i >= 0 {
		return i
	}
	return len(order)
}

// CanFail reports whether a guarantee has a failure probability.
func (g Guarantee) CanFail() bool { return g == GuaranteeProbabilistic || g == GuaranteeBound }

// Chances says how failure probabilities of answers over shards combine, by how their methods
// divide delta. docs/guarantee.md, "Merged answers", has the proof.
type Chances string

const (
	ChancesNone   Chances = "none"   // nothing can fail
	ChancesShared Chances = "shared" // delta is divided over the k best vectors: the greatest
	ChancesAdded  Chances = "added"  // delta is that of any failure in the shard: the sum
	Unfounded     Chances = ""       // nothing follows for all shards
)

// Chances returns how the failure probabilities of a method combine.
func (m Method) Chances() Chances {
	switch m {
	case Exact, Certain:
		return ChancesNone
	case Auto, Adaptive, Strict, PrefixF32:
		return ChancesShared
	case BanditMIPS, BanditMIPSBeta, BucketAE:
		return ChancesAdded
	}
	return Unfounded // boundedme's promise is about the k-th score of its shard alone
}

// Add combines two failure probabilities. Sums are of multiples of 2^-53, rounded up, so that they
// do not depend on the order in which they are made.
func (c Chances) Add(a, b float64) float64 {
	if c != ChancesAdded || a == 0 || b == 0 {
		return max(a, b)
	}
	up := func(x float64) float64 { return math.Ldexp(math.Ceil(math.Ldexp(x, 53)), -53) }
	return up(a) + up(b)
}

// AddWork adds to c what more, the certificate of an answer to the same query over other vectors, says beside its
// promise: the work, the weaker law, the graver reason to stop, the greater changes. Methods that differ become Auto.
func (c *Certificate) AddWork(more *Certificate) {
	if more.Method != c.Method {
		c.Method = Auto
	}
	if more.Law.rank() > c.Law.rank() {
		c.Law = more.Law
	}
	if more.StoppedBy.rank() > c.StoppedBy.rank() {
		c.StoppedBy = more.StoppedBy
	}
	c.Pulls += more.Pulls
	c.DensePulls += more.DensePulls
	c.Bytes += more.Bytes
	c.RowsScored += more.RowsScored
	c.ThresholdBefore = c.ThresholdBefore || more.ThresholdBefore
	c.VectorsChange = max(c.VectorsChange, more.VectorsChange)
	c.QueryChange = max(c.QueryChange, more.QueryChange)
}

// rank orders laws from best to worst.
func (l Law) rank() int {
	return 1 + slices.Index([]Law{LawHaar, LawOrder, LawCalibrated, LawPublished, LawAssumed}, l)
}

// rank orders the reasons why a search ended.
func (s Stop) rank() int {
	switch s {
	case Cancelled:
		return 2
	case Done, "":
		return 0
	}
	return 1
}

// Count adds the figures of one answer's certificate.
func (s *Stats) Count(c *Certificate) { s.add(c) }
