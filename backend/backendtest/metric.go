package backendtest

import (
	"math"
	"math/big"

	"thresher/collection"
)

// The formulas of each metric, independent of collection.Metric: the suite uses only its
// constants.

// metricKinds are rotated collections in every metric.
func metricKinds() []collection.Options {
	kinds := make([]collection.Options, len(collection.Metrics()))
	for m := range kinds {
		kinds[m] = collection.Options{Metric: collection.Metric(m + 1), Seed: 5 + uint64(m)}
	}
	return kinds
}

// squared reports whether scores contain squared norms, which must not overflow float32.
func squared(m collection.Metric) bool { return m == collection.Euclidean }

// searchScore is the search score from q.v, |q-v|^2, |q| and |v|.
func searchScore(m collection.Metric, dot, far, q, v float64) float64 {
	switch m {
	case collection.Cosine:
		if dot != 0 {
			return dot / q / v
		}
	case collection.Euclidean:
		return 0 - far/2
	}
	return dot
}

// exactly is the exact score; for cosine its signed square times |q|^2.
func exactly(m collection.Metric, q, v []int64) *big.Rat {
	var dot, square, apart int64
	for j, x := range v {
		dot, square, apart = dot+q[j]*x, square+x*x, apart+(q[j]-x)*(q[j]-x)
	}
	switch {
	case m == collection.Euclidean:
		return big.NewRat(-apart, 2)
	case m == collection.Cosine && dot != 0:
		return new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(dot), big.NewInt(max(dot, -dot))), big.NewInt(square))
	}
	return big.NewRat(dot, 1)
}

// Precision bounds the difference of two float64 evaluations of one row's
// score.
func (o *Oracle) Precision(q []float32, row int) float64 {
	switch o.c.Metric {
	case collection.Cosine:
		return 1e-12
	case collection.Euclidean:
		return float64(o.c.Dim+4) * 0x1p-52 * math.Abs(o.Scores(q)[row])
	}
	return 1e-12 * (o.judge(q).norm * o.norms[row])
}

// tolerance is the gap between two rows' scores that does not count as a failure: the
// rounding of float64 sums.
func (o *Oracle) tolerance(q []float32, v, w int) float64 {
	d := float64(o.c.Dim)
	switch o.c.Metric {
	case collection.Cosine:
		return (d + 4) * 0x1p-50
	case collection.Euclidean:
		return max(o.Precision(q, v), o.Precision(q, w))
	}
	return (d + 4) * 0x1p-51 * o.judge(q).norm * max(o.norms[v], o.norms[w])
}

// unit is the factor by which the metric scales a vector of this norm.
func unit(m collection.Metric, norm float64) float64 {
	if m == collection.Cosine && norm > 0 {
		return 1 / norm
	}
	return 1
}

// offset is the score minus q.v, from |q| and |v|.
func offset(m collection.Metric, q, v float64) float64 {
	if m == collection.Euclidean {
		return -(v*v/2 + q*q/2)
	}
	return 0
}

// listDigests are the digests of the answers, by set and metric. A change of a digest is a
// change of scores that users have stored; docs/guarantee.md defines the scores.
var listDigests = map[string]string{
	"bits cosine":                    "b48e634c6cc046b7",
	"bits ip":                        "15a79637a7c917d2",
	"bits l2":                        "612844c1d7648fa5",
	"bytes cosine":                   "418b9b1737cfe8b0",
	"bytes ip":                       "73a9b662d965c1fa",
	"bytes l2":                       "8a280c4bd4058a40",
	"few dimensions cosine":          "81e6108d73960f73",
	"few dimensions ip":              "ff94e2e2c51197bc",
	"few dimensions l2":              "652f6a0138df5e84",
	"mantissas cosine":               "328af5741af3066f",
	"mantissas ip":                   "a5cdb1f331d1d197",
	"mantissas l2":                   "4319e972ed4e7c92",
	"mantissas of many sizes cosine": "cc562bdfe3bff175",
	"mantissas of many sizes ip":     "df52e09e4f493ece",
	"mantissas of many sizes l2":     "879b9faf5f9f2a8c",
	"small whole numbers cosine":     "efb9bafdfa6ecdc3",
	"small whole numbers ip":         "49d4da66f7faf84d",
	"small whole numbers l2":         "cf4785f359091d50",
}
