package verify

import (
	"math"

	"thresher/collection"
)

// theory is a score by which answers may be the best, when they are not by that of the metric asked for.
type theory struct {
	kind, text string
	metric     collection.Metric
	reversed   bool      // the least scores are the best
	all        bool      // among all vectors, also those that queries may not have
	rounding   *rounding // of vectors before they are scored; nil: none
}

// theories returns those about answers by the oracle's metric.
func (r *Reasons) theories() (list []theory) {
	asked := r.oracle.metric
	for _, m := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		if m == asked {
			continue
		}
		text := "they are the best by " + metricNames[m]
		switch {
		case m == collection.InnerProduct && asked == collection.Cosine:
			text += ": the other program seems not to normalise vectors"
		case m == collection.Cosine:
			text += ": the other program seems to normalise vectors"
		}
		list = append(list, theory{kind: BecauseMetric, text: text, metric: m})
	}
	list = append(list,
		theory{kind: BecauseReversed, text: "they are the vectors that score least: the other program seems to sort the other way", metric: asked, reversed: true},
		theory{kind: BecauseFilter, text: "they are the best of all vectors: the other program seems not to apply the filter or the exclusions", metric: asked, all: true})
	for i := range roundings {
		if o := &roundings[i]; (!o.unit || asked == collection.Cosine) && (o.bits < 24 || r.oracle.float64s()) {
			list = append(list, theory{kind: BecauseRounded, text: "they are the best of " + o.text, metric: asked, rounding: o})
		}
	}
	return list
}

// metricNames are the metrics as reasons name them.
var metricNames = map[collection.Metric]string{
	collection.InnerProduct: "inner product", collection.Cosine: "cosine", collection.Euclidean: "Euclidean distance",
}

// scored is a score under a theory, and by how much that of another program may differ.
type scored struct{ value, room float64 }

// ownRoom is the error of another program's float32 sums, relative to the size of their terms: that of sums in
// blocks. Answers of a program that sums less well are left unexplained.
const ownRoom = 0x1p-21

// of returns the score of a pair from its inner product, the square of its distance and both lengths.
func (h *theory) of(dot, squared, q, v float64) (s scored) {
	switch h.metric {
	case collection.Cosine:
		if q > 0 && v > 0 {
			s = scored{dot / (q * v), ownRoom}
		}
	case collection.Euclidean:
		s = scored{-squared, 2 * ownRoom * squared}
	default:
		s = scored{dot, ownRoom * q * v}
	}
	if h.reversed {
		s.value = -s.value
	}
	return s
}

// rounding is how another program may keep vectors.
type rounding struct {
	text    string
	bits    int // of a significand
	least   int // binary exponent of the least number above 0
	largest float64
	queries bool // are rounded, too
	unit    bool // vectors are normalised before
}

const largestHalf, largestBrain = 65504, 0x1.fep127

var roundings = []rounding{
	{"vectors rounded to float32", 24, -149, math.MaxFloat32, false, false},
	{"vectors and queries rounded to float32", 24, -149, math.MaxFloat32, true, false},
	{"vectors rounded to float16", 11, -24, largestHalf, false, false},
	{"vectors and queries rounded to float16", 11, -24, largestHalf, true, false},
	{"normalised vectors rounded to float16", 11, -24, largestHalf, false, true},
	{"normalised vectors and queries rounded to float16", 11, -24, largestHalf, true, true},
	{"vectors rounded to bfloat16", 8, -133, largestBrain, false, false},
	{"vectors and queries rounded to bfloat16", 8, -133, largestBrain, true, false},
	{"normalised vectors rounded to bfloat16", 8, -133, largestBrain, false, true},
	{"normalised vectors and queries rounded to bfloat16", 8, -133, largestBrain, true, true},
}

// apply writes x of this length, rounded, to out. Numbers that are too large become infinite.
func (o *rounding) apply(out, x []float64, length float64) {
	scale := 1.0
	if o.unit && length > 0 {
		scale = 1 / length
	}
	for c, y := range x {
		y *= scale
		if o.unit {
			y = float64(float32(y))
		}
		out[c] = 0
		if y == 0 {
			continue
		}
		_, exp := math.Frexp(y)
		step := math.Ldexp(1, max(exp-o.bits, o.least))
		out[c] = math.RoundToEven(y/step) * step
		if math.Abs(out[c]) > o.largest {
			out[c] = math.Inf(1)
		}
	}
}

// changes bounds by how much a score under h, which has a rounding, may exceed the one without it.
func (h *theory) changes(squared, q, v float64, dim int) float64 {
	o := h.rounding
	share, floor := math.Ldexp(1, -o.bits), math.Ldexp(math.Sqrt(float64(dim)), o.least)
	if o.unit {
		share *= 1.01 // rounded to float32 before
	}
	dv, dq := share*v+floor, 0.0
	if o.unit {
		dv += floor * v
	}
	if o.queries {
		dq = share*q + floor
		if o.unit {
			dq += floor * q
		}
	}
	switch h.metric {
	case collection.Cosine:
		if dv >= v/2 || dq >= q/2 {
			return 2
		}
		return 4 * (dv/v + dq/q)
	case collection.Euclidean:
		return 2*math.Sqrt(squared)*(dv+dq) + (dv+dq)*(dv+dq)
	}
	return q*dv + dq*v + dq*dv
}
