package collection

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Metric says how a query q and an atom v are compared. Searches maximise the search
// score; Shown converts it to what users see.
//
// What depends on the metric in a search is answered by the methods below. Two rooms
// recompute answers on purpose by formulas of their own: verify and backend/backendtest,
// in a file metric.go each. Verbs that are for one metric, such as pursuit, name it.
// Kernels are told Normalises and Differences.
//
// The zero Metric is none: what needs a metric refuses it (Check), because a search by the
// wrong one answers another question without a word.
type Metric uint8

const (
	// InnerProduct: search score q.v, shown as it is.
	InnerProduct Metric = iota + 1
	// Cosine: search score q.v/(|q||v|), 0 where either is zero; shown as it is.
	Cosine
	// Euclidean: search score -|q-v|^2/2; users see |q-v|^2, of which less is better.
	Euclidean
)

// metricNames are the names of the metrics, by number.
var metricNames = [...]string{InnerProduct: "ip", Cosine: "cosine", Euclidean: "l2"}

// otherNames are names that libraries and databases use for the metrics, in the form of
// plainName. A name says which vectors are nearest; scores are shown in this program's way, so
// names of functions that grow with the distance from a product or a cosine are not among them.
var otherNames = map[string]Metric{
	"innerproduct": InnerProduct, "dot": InnerProduct, "dotproduct": InnerProduct, "maxinnerproduct": InnerProduct,
	"metricinnerproduct": InnerProduct, "vectoripops": InnerProduct, "dotscore": InnerProduct,
	"cos": Cosine, "cosinesimilarity": Cosine, "cosinesimil": Cosine, "vectorcosineops": Cosine, "cossim": Cosine,
	"euclidean": Euclidean, "euclid": Euclidean, "l2norm": Euclidean, "l2squared": Euclidean, "l2sq": Euclidean,
	"squaredl2": Euclidean, "sqeuclidean": Euclidean, "euclideansquared": Euclidean, "squaredeuclidean": Euclidean,
	"metricl2": Euclidean, "vectorl2ops": Euclidean,
}

// nearNames are names that are not taken for a metric, since their numbers are other ones, and
// the metric that has the same nearest vectors.
var nearNames = map[string]Metric{
	"angular": Cosine, "cosinedistance": Cosine, "l2distance": Euclidean, "euclideandistance": Euclidean, "minkowski": Euclidean,
	"negativeinnerproduct": InnerProduct,
}

// plainName returns a name without case, hyphens, underscores and spaces.
func plainName(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// Metrics returns the names of all metrics, in the order of their numbers, which are 1 more than
// the indexes.
func Metrics() []string { return slices.Clone(metricNames[InnerProduct:]) }

// MetricNames returns all names that ParseMetric takes, in lower case and without hyphens and
// underscores, which it ignores.
func MetricNames() map[string]Metric {
	all := maps.Clone(otherNames)
	for i, name := range Metrics() {
		all[name] = Metric(i + 1)
	}
	return all
}

// MetricChoice says which metrics there are and what each looks for.
const MetricChoice = "ip (largest inner product), cosine (largest cosine) or l2 (smallest squared Euclidean distance)"

// ErrNoMetric is the error of an operation that needs a metric and is given none.
var ErrNoMetric = errors.New("no metric is given: " + MetricChoice)

// ParseMetric returns the metric of a name: one of Metrics or of those by which libraries and
// databases call them, in any case. "" is ErrNoMetric.
func ParseMetric(s string) (Metric, error) {
	if s == "" {
		return 0, ErrNoMetric
	}
	plain := plainName(s)
	if m := slices.Index(metricNames[:], plain); m > 0 {
		return Metric(m), nil
	}
	if m := otherNames[plain]; m != 0 {
		return m, nil
	}
	if m := nearNames[plain]; m != 0 {
		return 0, fmt.Errorf("metric %q is none of %s; the same vectors are nearest by %v", s, MetricChoice, m)
	}
	return 0, fmt.Errorf("metric %q is none of %s", s, MetricChoice)
}

// StoredMetric returns the metric that a record or a file names. Records that were written when
// inner products were the default may name none: "" is InnerProduct.
func StoredMetric(s string) (Metric, error) {
	if s == "" {
		return InnerProduct, nil
	}
	return ParseMetric(s)
}

// Check returns an error if m is no metric: ErrNoMetric if it is zero.
func (m Metric) Check() error {
	switch {
	case m == 0:
		return ErrNoMetric
	case int(m) >= len(metricNames):
		return fmt.Errorf("%v is none of %s", m, MetricChoice)
	}
	return nil
}

func (m Metric) String() string {
	if m > 0 && int(m) < len(metricNames) {
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

// NearFirst reports whether atoms are ordered by ascending norm of the working vector, which is the distance
// from the centre, and not by descending norm. Most queries lie where most atoms are, and those near the
// centre are nearer to all queries than outliers are: they raise thresholds early.
func (m Metric) NearFirst() bool { return m.Differences() }

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

// scores replaces sums by factor times the score of each, as score has it. rows index squares, the squared
// norms, which only a metric that normalises reads.
func (m Metric) scores(sums []float64, rows []uint32, squares []float64, qq, factor float64) {
	switch m {
	case Cosine:
		for k, row := range rows {
			sums[k] = CosineOf(sums[k], squares[row], qq) * factor
		}
	case Euclidean:
		for k, sum := range sums {
			sums[k] = (0 - sum/2) * factor
		}
	default:
		for k := range sums {
			sums[k] *= factor
		}
	}
}

// Shown converts a search score to what users see.
func (m Metric) Shown(score float64) float64 {
	if m == Euclidean {
		return 0 - 2*score // no -0
	}
	return score
}

// Searched converts a score that users see, in float64, to the search score that Shown made it of.
func (m Metric) Searched(shown float64) float64 {
	if m == Euclidean {
		return 0 - shown/2 // no -0
	}
	return shown
}

// SearchedAll returns Searched of each score, nil for nil.
func (m Metric) SearchedAll(shown []float64) []float64 {
	if shown == nil {
		return nil
	}
	scores := make([]float64, len(shown))
	for i, x := range shown {
		scores[i] = m.Searched(x)
	}
	return scores
}

// ShowAll writes Shown of each search score to out, which is as long.
func ShowAll[T float32 | float64](m Metric, out []T, scores []float64) {
	out = out[:len(scores)]
	if m == Euclidean {
		for i, s := range scores {
			out[i] = T(Euclidean.Shown(s))
		}
		return
	}
	for i, s := range scores {
		out[i] = T(s)
	}
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

// minExpEuclidean keeps |v|^2/2, which is below maxNormEuclidean^2/2 and scaled with the
// query, within float32: a shorter query is scaled less.
const minExpEuclidean = -16

// Exponent returns the power of two e such that a query of this norm, times 2^-e, has a norm
// in [1/2, 1), so that products of terms neither overflow nor underflow in float32. With
// Differences a query of norm below 2^-16 stays shorter.
func (m Metric) Exponent(norm float64) int {
	if norm == 0 {
		return 0
	}
	_, e := math.Frexp(norm)
	if m.Differences() {
		e = max(e, minExpEuclidean)
	}
	return e
}
