package verify

import (
	"math"

	"thresher/batch"
	"thresher/collection"
)

// The formulas of each metric, written independently of the search: of collection.Metric
// verify only uses which one it is, so that an error there is not repeated here. q is a
// query, v an atom, d the dimension.

// sums returns the products of the queries of a tile with v, or their squared distances.
func (o *Oracle) sums(q *[tile][]float64, v []float32) [tile]float64 {
	if o.metric == collection.Euclidean {
		return far4(q, v)
	}
	return dot4(q, v)
}

// toSearch returns the search score from one of sums, |q| and |v|.
func (o *Oracle) toSearch(sum, nq, nv float64) float64 {
	switch o.metric {
	case collection.Cosine:
		if nq == 0 || nv == 0 {
			return 0
		}
		return sum / (nq * nv)
	case collection.Euclidean:
		return 0 - sum/2
	}
	return sum
}

// searchUnits converts a gap between scores to one between search scores: half of a gap
// between squared distances.
func (o *Oracle) searchUnits(gap float64) float64 {
	if o.metric == collection.Euclidean {
		return gap / 2
	}
	return gap
}

// margin is the gap between two atoms' search scores that rounding permits: the errors of
// float64 sums of d terms, for two atoms, in the search and here. For squared distances it is
// (3d + 48) 2^-53 of the greater.
func (s *Scores) margin(i, j int) float64 {
	return s.oracle.margin(s.norm, i, j, s.Search[i], s.Search[j])
}

// margin is that of atoms i and j with the given search scores, for a query of norm nq.
func (o *Oracle) margin(nq float64, i, j int, score, other float64) float64 {
	d := float64(o.dim)
	switch o.metric {
	case collection.Cosine:
		return (d + 4) * 0x1p-50
	case collection.Euclidean:
		return (3*d + 48) * 0x1p-53 * max(-score, -other)
	}
	return (d + 4) * 0x1p-51 * nq * max(o.norm[i], o.norm[j])
}

// reported is the score that an answer must state for atom i, and its permitted error: float32
// rounding, and that of the sum if terms cancel.
func (s *Scores) reported(i int) (score, off float64) {
	if s.oracle.metric == collection.Euclidean {
		score = 0 - 2*s.Search[i]
		return score, score/(1<<22) + math.SmallestNonzeroFloat32
	}
	const ulp = 1.0 / (1 << 22)
	size := 1.0
	if s.oracle.metric == collection.InnerProduct {
		size = s.norm * s.oracle.norm[i]
	}
	return s.Search[i], ulp*size + math.Abs(s.Search[i])/(1<<23) + math.SmallestNonzeroFloat32
}

// gap is the gap that a request allows, in score units. The search takes max|v|
// rounded to float32, upward.
func (s *Scores) gap(req *batch.Request) float64 {
	if !req.Relative {
		return req.Epsilon
	}
	if s.oracle.metric == collection.Cosine {
		return req.Epsilon * (1 + 1e-6)
	}
	return req.Epsilon * s.norm * (s.oracle.longest + math.SmallestNonzeroFloat32) * (1 + 1e-6)
}

// before reports whether a score is better than another.
func (c *Check) before(score, other float32) bool {
	if c.oracle.metric == collection.Euclidean {
		return score < other
	}
	return score > other
}

// reaches reports whether a score reaches the limit within off.
func (c *Check) reaches(score, off float64) bool {
	if c.oracle.metric == collection.Euclidean {
		return score <= *c.minScore+off
	}
	return score >= *c.minScore-off
}
