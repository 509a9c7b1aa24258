package verify

import (
	"math"

	"thresher/batch"
	"thresher/collection"
)

// The formulas of each metric, written independently of the search: verify calls no formula
// of collection.Metric, so an error there is not repeated here. No other file of this package
// branches on the metric. q is a query, v an atom, d the dimension.

// sums returns the products of the queries of a tile with v, or their squared distances.
func sums[T float32 | float64](o *Oracle, q *[tile][]float64, v []T) [tile]float64 {
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
	return s.oracle.margin(s.norm, i, j, s.Search[i], s.Search[j]) + s.slack(i) + s.slack(j)
}

// slack is by how much the search score of atom i may differ from that of the rounded atom and query, whose
// coordinates were changed by at most s.vectors and s.query. It is 0 where the atoms are the rounded.
func (s *Scores) slack(i int) float64 {
	if s.vectors == 0 && s.query == 0 {
		return 0
	}
	root, v := math.Sqrt(float64(s.oracle.dim)), s.oracle.length(i)
	atom, query := root*s.vectors, root*s.query // lengths of the differences
	switch s.oracle.metric {
	case collection.Cosine:
		if v <= atom || s.norm <= query {
			return 2
		}
		return 2 * (atom/(v-atom) + query/(s.norm-query))
	case collection.Euclidean:
		e := atom + query
		return math.Sqrt(-2*s.Search[i])*e + e*e/2
	}
	return atom*s.norm + query*v + atom*query
}

// margin is Scores.margin for atoms i and j with search scores score and other, and a query of
// norm nq.
func (o *Oracle) margin(nq float64, i, j int, score, other float64) float64 {
	d := float64(o.dim)
	switch o.metric {
	case collection.Cosine:
		return (d + 4) * 0x1p-50
	case collection.Euclidean:
		return (3*d + 48) * 0x1p-53 * max(-score, -other)
	}
	return (d + 4) * 0x1p-51 * nq * max(o.length(i), o.length(j))
}

// sumOf returns the inner product, cosine or squared distance of atom i, whichever the metric compares, and a
// bound of its error in float32 arithmetic.
func (s *Scores) sumOf(i int) (sum, off float64) {
	rounding := float64(s.oracle.dim+16) * 0x1p-23
	q, v := s.norm, s.oracle.length(i)
	switch s.oracle.metric {
	case collection.Cosine:
		return s.Search[i], rounding
	case collection.Euclidean:
		return 0 - 2*s.Search[i], rounding * (q + v) * (q + v)
	}
	return s.Search[i], rounding * q * v
}

// reported returns the score that an answer must state for atom i, and the error that it may
// have: from rounding to float32, and from the rounding of the sum if its terms cancel.
func (s *Scores) reported(i int) (score, off float64) {
	if s.oracle.metric == collection.Euclidean {
		score = 0 - 2*s.Search[i]
		return score, score/(1<<22) + math.SmallestNonzeroFloat32 + 2*s.slack(i)
	}
	const ulp = 1.0 / (1 << 22)
	size := 1.0
	if s.oracle.metric == collection.InnerProduct {
		size = s.norm * s.oracle.norm[i]
	}
	return s.Search[i], ulp*size + math.Abs(s.Search[i])/(1<<23) + math.SmallestNonzeroFloat32 + s.slack(i)
}

// unrounded returns the search score that an answer must state for atom i in float64, and the error that it may
// have: of two sums of float64 in different orders (Oracle) and, of cosines, of their norms.
func (s *Scores) unrounded(i int) (score, off float64) {
	const ulp = 1.0 / (1 << 53)
	terms := 4 * float64(s.oracle.dim+4) * ulp
	score = s.Search[i]
	switch s.oracle.metric {
	case collection.Euclidean:
		off = terms * math.Abs(score)
	case collection.Cosine:
		off = terms
	default:
		off = terms * s.norm * s.oracle.length(i)
	}
	return score, off + math.SmallestNonzeroFloat64 + s.slack(i)
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

// stays reports whether a score is no better than maxScore within off.
func (c *Check) stays(score, off float64) bool {
	if c.oracle.metric == collection.Euclidean {
		return score >= *c.maxScore-off
	}
	return score <= *c.maxScore+off
}

// search returns the search score of atom id, as Scores.Search has it.
func (s *pairScores) search(id int64) float64 {
	p := s.pair(id)
	if s.oracle.metric == collection.Euclidean {
		return s.oracle.toSearch(p.squared, p.q, p.v)
	}
	return s.oracle.toSearch(p.dot, p.q, p.v)
}

// relativeGap returns by how much atom id is better than an atom of search score worst, divided
// by the greater magnitude of the two scores; for Euclidean distance, of the two distances.
func (s *pairScores) relativeGap(id int64, worst float64) float64 {
	score := s.search(id)
	if s.oracle.metric == collection.Euclidean {
		score, worst = -math.Sqrt(-2*score), -math.Sqrt(-2*worst)
	}
	if score <= worst { // a tie
		return 0
	}
	return (score - worst) / max(math.Abs(score), math.Abs(worst))
}

// knownForms are the forms that FAISS, hnswlib, Lucene, Elasticsearch, OpenSearch, Qdrant, Milvus,
// Weaviate, pgvector and Annoy return. Every metric has at least one; the form that thresher writes is its
// first. Their number and that of precisions make at most 64 scales.
var knownForms = []scoreForm{
	{"inner products", collection.InnerProduct, func(s float64) float64 { return s }},
	{"1 - inner product", collection.InnerProduct, func(s float64) float64 { return 1 - s }},
	{"negative inner products", collection.InnerProduct, func(s float64) float64 { return -s }},
	{"1 + inner product", collection.InnerProduct, func(s float64) float64 { return 1 + s }},
	{"(1 + inner product)/2", collection.InnerProduct, func(s float64) float64 { return (1 + s) / 2 }},
	{"1 + inner product, 1/(1 - inner product) if negative", collection.InnerProduct, positive},
	{"cosines", collection.Cosine, func(s float64) float64 { return s }},
	{"1 - cosine", collection.Cosine, func(s float64) float64 { return 1 - s }},
	{"negative cosines", collection.Cosine, func(s float64) float64 { return -s }},
	{"sqrt(2 - 2 cosine)", collection.Cosine, func(s float64) float64 { return math.Sqrt(max(0, 2-2*s)) }},
	{"(1 + cosine)/2", collection.Cosine, func(s float64) float64 { return (1 + s) / 2 }},
	{"1 + cosine", collection.Cosine, func(s float64) float64 { return 1 + s }},
	{"1/(2 - cosine)", collection.Cosine, func(s float64) float64 { return 1 / (2 - s) }},
	{"squared distances", collection.Euclidean, func(s float64) float64 { return s }},
	{"distances", collection.Euclidean, func(s float64) float64 { return math.Sqrt(max(0, s)) }},
	{"negative squared distances", collection.Euclidean, func(s float64) float64 { return -s }},
	{"negative distances", collection.Euclidean, func(s float64) float64 { return -math.Sqrt(max(0, s)) }},
	{"1/(1 + squared distance)", collection.Euclidean, func(s float64) float64 { return 1 / (1 + max(0, s)) }},
	{"1/(1 + distance)", collection.Euclidean, func(s float64) float64 { return 1 / (1 + math.Sqrt(max(0, s))) }},
}

// positive is what Lucene makes of an inner product.
func positive(s float64) float64 {
	if s < 0 {
		return 1 / (1 - s)
	}
	return 1 + s
}

// sumOf returns the inner product, cosine or squared distance of a pair, whichever the metric
// compares, and a bound of its error in float32 arithmetic.
func (p *pair) sumOf(m collection.Metric, dim int) (sum, off float64) {
	rounding := float64(dim+16) * 0x1p-23
	switch m {
	case collection.Cosine:
		if p.q == 0 || p.v == 0 {
			return 0, 0
		}
		return p.dot / (p.q * p.v), rounding
	case collection.Euclidean:
		return p.squared, rounding * (p.q + p.v) * (p.q + p.v) // as |q|^2 - 2 q.v + |v|^2
	}
	return p.dot, rounding * p.q * p.v
}
