package tasks

import (
	"math"
	"slices"

	"thresher/batch"
	"thresher/dataset"
)

// promise sets what a merged answer promises. docs/guarantee.md, "Merged answers", has the proof.
func (m *merger) promise(out *dataset.Result) {
	sure := true // nothing is known to be unfounded
	for i := range m.answers {
		a := &m.answers[i]
		g, worst := batch.Guarantee(a.Guarantee), batch.Guarantee(out.Guarantee)
		if i == 0 || rank(g) > rank(worst) {
			out.Guarantee = a.Guarantee
		}
		if canFail(g) {
			out.Delta = m.chances.add(out.Delta, a.Delta)
		}
		out.Epsilon = max(out.Epsilon, a.Epsilon)
		sure = sure && (a.Found() == 0 || a.Scores64 != nil)
	}
	if len(m.answers) > 1 && (out.Delta > 0 && m.chances == unfounded || out.Delta >= 1 || !sure) {
		out.Guarantee = string(batch.GuaranteeHeuristic)
	}
	if !canFail(batch.Guarantee(out.Guarantee)) {
		out.Delta = 0
	}
}

// canFail reports whether a guarantee has a failure probability.
func canFail(g batch.Guarantee) bool {
	return g == batch.GuaranteeProbabilistic || g == batch.GuaranteeBound
}

// rank orders guarantees from best to worst. A bound is better than none: an answer that was stopped
// and one of a heuristic have no bound together.
func rank(g batch.Guarantee) int {
	order := []batch.Guarantee{batch.GuaranteeExact, batch.GuaranteeCertain, batch.GuaranteeProbabilistic, batch.GuaranteeBound, batch.GuaranteeHeuristic}
	if i := slices.Index(order, g); i >= 0 {
		return i
	}
	return len(order)
}

// chances says how failure probabilities of answers over shards combine, by how their methods
// divide delta.
type chances string

const (
	none      chances = "none"   // nothing can fail
	shared    chances = "shared" // delta is divided over the k best vectors: the greatest
	added     chances = "added"  // delta is that of any failure in the shard: the sum
	unfounded chances = ""       // nothing follows for all shards
)

// chancesOf returns how the failure probabilities of a method combine.
func chancesOf(m batch.Method) chances {
	switch m {
	case batch.Exact, batch.Certain:
		return none
	case batch.Auto, batch.Adaptive, batch.Strict, batch.PrefixF32:
		return shared
	case batch.BanditMIPS, batch.BanditMIPSBeta, batch.BucketAE:
		return added
	}
	return unfounded // boundedme's promise is about the k-th score of its shard alone
}

// add combines two failure probabilities. Sums are of multiples of 2^-53, rounded up, so that they
// do not depend on the order in which they are made.
func (c chances) add(a, b float64) float64 {
	if c != added || a == 0 || b == 0 {
		return max(a, b)
	}
	up := func(x float64) float64 { return math.Ldexp(math.Ceil(math.Ldexp(x, 53)), -53) }
	return up(a) + up(b)
}
