package collection

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestLimitsAreThoseOfShownScores: at a limit, and one float64 beyond it.
func TestLimitsAreThoseOfShownScores(t *testing.T) {
	metrics := []Metric{InnerProduct, Cosine, Euclidean}
	shown := func(m Metric, score float64) float32 { return float32(m.Shown(score)) }
	noWorse := func(m Metric, a, b float32) bool {
		if m == Euclidean {
			return a <= b
		}
		return a >= b
	}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(metrics).Draw(t, "metric")
		limit := rapid.OneOf(
			rapid.Float64Range(-1e30, 1e30), rapid.Float64Range(-2, 2), rapid.Float64Range(-1e-44, 1e-44),
			rapid.SampledFrom([]float64{0, 1, -1, .7, 1e-46, math.MaxFloat32, -math.MaxFloat32, float64(float32(.1))}),
		).Draw(t, "limit")
		limit = float64(float32(limit))
		if rapid.Bool().Draw(t, "decimal") {
			limit, _ = strconv.ParseFloat(strconv.FormatFloat(limit, 'g', -1, 32), 64)
		}
		at := float32(limit)
		floor, ceiling := m.Floor(limit), m.Ceiling(limit)
		if !noWorse(m, shown(m, floor), at) || noWorse(m, shown(m, math.Nextafter(floor, math.Inf(-1))), at) {
			t.Fatalf("%v, limit %g: floor %g shows %g, the score below %g", m, limit, floor, shown(m, floor), shown(m, math.Nextafter(floor, math.Inf(-1))))
		}
		if !noWorse(m, at, shown(m, ceiling)) || noWorse(m, at, shown(m, math.Nextafter(ceiling, math.Inf(1)))) {
			t.Fatalf("%v, limit %g: ceiling %g shows %g", m, limit, ceiling, shown(m, ceiling))
		}
		score := rapid.Float64Range(-1e30, 1e30).Draw(t, "score")
		if s := float64(shown(m, score)); score < m.Floor(s) || score > m.Ceiling(s) {
			t.Fatalf("%v: score %g, shown as %g, is not within that", m, score, s)
		}
	})
	for _, limit := range []float64{.1234567891, 1.00000001, -2.718281828459045, 1e300} {
		for _, m := range metrics { // of more digits than scores have
			if f, c := m.Floor(limit), m.Ceiling(limit); m.Shown(f) != limit || m.Shown(c) != limit {
				t.Errorf("%v, limit %v: floor %v, ceiling %v", m, limit, f, c)
			}
		}
	}
	for _, m := range metrics {
		if f := m.Floor(-math.MaxFloat64); m != Euclidean && f > -math.MaxFloat32 {
			t.Error(m, f)
		}
	}
}
