package verify

import (
	"math"
	"strings"
	"testing"

	"thresher/batch"
	"thresher/collection"
)

// TestLimitsAreComparedAsStated: the score that an answer states is a limit that it keeps, and the
// next float32 is one that it breaks, although the atom's own score is within rounding of both.
func TestLimitsAreComparedAsStated(t *testing.T) {
	rows, q := []float32{.3, .7, .1, .9, -.2, .4}, []float32{.6, .3}
	for _, m := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		o, err := NewOracle(rows, 2, m, 1)
		if err != nil {
			t.Fatal(err)
		}
		better := float32(math.Inf(1))
		if m == collection.Euclidean {
			better = -better
		}
		err = o.Each(t.Context(), q, func(_ int, s *Scores) {
			best, score := int64(0), 0.
			for i := range 3 {
				if i == 0 || s.Search[i] > s.Search[best] {
					best = int64(i)
				}
			}
			score, _ = s.reported(int(best))
			shown := float32(score)
			for _, c := range []struct {
				least, most float32
				want        string
			}{
				{shown, shown, ""},
				{math.Nextafter32(shown, better), math.Nextafter32(shown, better), "beyond the limit"},
				{math.Nextafter32(shown, -better), math.Nextafter32(shown, -better), "better than the limit"},
			} {
				least, most := float64(c.least), float64(c.most)
				check, err := NewCheck(o, batch.Request{K: 1, MinScore: &least, MaxScore: &most})
				if err != nil {
					t.Fatal(err)
				}
				f := check.Answer(s, 0, &batch.Answer{IDs: []int64{best}, Scores: []float32{shown}})
				if c.want == "" != (f.Malformed == "") || !strings.Contains(f.Malformed, c.want) {
					t.Errorf("%v, limits %g and %g of score %g: %q, want %q", m, c.least, c.most, shown, f.Malformed, c.want)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
