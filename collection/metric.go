package collection

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Metric says how a query q and an atom v are compared. Searches maximise the search
// score; Shown converts it to what users see.
//
// What depends on the metric is answered by the methods below, and no other Go code
// branches on which metric it is, but two that recompute answers on purpose by
// formulas of their own: verify and backend/backendtest, in a file metric.go each.
// Kernels are told Normalises and Differences.
type Metric uint8

const (
	// InnerProduct: search score q.v, shown as it is.
	InnerProduct Metric = iota
	// Cosine: search score q.v/(|q||v|), 0 where either is zero; shown as it is.
	Cosine
	// Euclidean: search score -|q-v|^2/2; users see |q-v|^2, of which less is better.
	Euclidean
)

// metricNames are the names of the metrics, by number.
var metricNames = [...]string{InnerProduct: "ip", Cosine: "cosine", Euclidean: "l2"}

// Metrics returns the names of all metrics, in the order of their numbers.
func Metrics() []string { return slices.Clone(metricNames[:]) }

// ParseMetric parses one of Metrics; "" is InnerProduct.
func ParseMetric(s string) (Metric, error) {
	if s == "" {
		return InnerProduct, nil
	}
	if m := slices.Index(metricNames[:], s); m >= 0 {
		return Metric(m), nil
	}
	return 0, fmt.Errorf("metric %q is none of %s", s, strings.Join(metricNames[:], ", "))
}

func (m Metric) String() string {
	if int(m) < len(metricNames) {
		return metricNames[m]
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// Normalises reports whether vectors are divided by their norms before they are compared.
// A collection then keeps RowSquares, and working norms are 1, or 0.
func (m Metric) Normalises() bool { return m == Cosine }

// Factor returns the factor by which a vector of this norm is multiplied before it is compared.
func (m Metric) Factor(norm float64) float64 {
	if m.Normalises() && norm > 0 {
		return 1 / norm
	}
	return 1
}

// Differences reports whether scores are sums of squared differences instead of products.
// Bounds are then on q.v - |v|^2/2, so atoms have an Offset; and since a translation
// changes no score, a collection may have a Centre.
func (m Metric) Differences() bool { return m == Euclidean }

// Lead returns by how much the bounded quantity exceeds the search score, for a query of
// this working norm: |q|^2/2 with Differences, else 0. An atom's Offset is the negative of
// Lead at its own working norm.
func (m Metric) Lead(norm float64) float64 {
	if m.Differences() {
		return norm * norm / 2
	}
	return 0
}

// score returns the search score of a row from the canonical sum of its products with the
// query, or of squared differences, and their squared norms.
func (m Metric) score(sum, vv, qq float64) float64 {
	switch m {
	case Cosine:
		return CosineOf(sum, vv, qq)
	case Euclidean:
		return 0 - sum/2 // no -0
	}
	return sum
}

// Shown converts a search score to what users see.
func (m Metric) Shown(score float64) float64 {
	if m == Euclidean {
		return 0 - 2*score // no -0
	}
	return score
}

// Gap converts a gap between shown scores to one between search scores.
func (m Metric) Gap(shown float64) float64 {
	if m == Euclidean {
		return shown / 2
	}
	return shown
}

// Best returns an upper bound of search scores for a query of norm q as given and atoms of
// working norm at most v.
func (m Metric) Best(q, v float64) float64 {
	switch m {
	case Cosine:
		return v
	case Euclidean:
		return 0
	}
	return q * v
}

// Greatest bounds the intermediate values of a search for a query of working norm q before
// it is normalised and atoms of working norm at most v. It must fit float32.
func (m Metric) Greatest(q, v float64) float64 {
	switch m {
	case Cosine:
		return q
	case Euclidean:
		return (q + v) * (q + v)
	}
	return q * v
}

// Norms of rows are below maxNorm, and below maxNormEuclidean where |v|^2 is added to
// scores: with a query of norm 1 every term and score then fits float32 with room.
const (
	maxNormExponent  = 110
	maxNorm          = 1 << maxNormExponent
	maxNormEuclidean = 1 << 55
)

// maxNorm is the exclusive limit of norms of rows, both as given and less the Centre.
func (m Metric) maxNorm() float64 {
	if m.Differences() {
		return maxNormEuclidean
	}
	return maxNorm
}

// leastExpEuclidean keeps |v|^2/2, which is below maxNormEuclidean^2/2 and scaled with the
// query, within float32: a shorter query is scaled less.
const leastExpEuclidean = -16

// Exponent returns the power of two e such that a query of this norm, times 2^-e, has a norm
// in [1/2, 1), so that products of terms neither overflow nor underflow in float32. With
// Differences a query of norm below 2^-16 stays shorter.
func (m Metric) Exponent(norm float64) int {
	if norm == 0 {
		return 0
	}
	_, e := math.Frexp(norm)
	if m.Differences() {
		e = max(e, leastExpEuclidean)
	}
	return e
}
