package trial

import (
	"math"
	"testing"
)

// Bands are Student's t, over the users or, if there is one, over its repeats.
func TestMeanBand(t *testing.T) {
	for _, c := range []struct {
		byUser [][]float64
		want   float64 // from tables
	}{
		{[][]float64{{1}, {3}}, 12.706 * 1},
		{[][]float64{{0, 2}, {3, 3}}, 12.706 * 1},
		{[][]float64{{1, 2, 3}}, 4.303 / math.Sqrt(3)},
		{[][]float64{{1}}, 0},
	} {
		if got := meanOf(c.byUser).Band(); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%v: band %g, want %g", c.byUser, got, c.want)
		}
	}
}

// Differences are those of the same users: what varies between users alone drops out.
func TestMeanLess(t *testing.T) {
	a, b := meanOf([][]float64{{1, 3}, {7}, {4}}), meanOf([][]float64{{1}, {6}, {2, 4}})
	got := a.Less(b)
	if got.Mean != 1 || got.SE != 0 || got.Of != 3 || a.SE == 0 {
		t.Errorf("%+v", got)
	}
	if back := b.Less(a); back.Mean != -1 {
		t.Errorf("%+v", back)
	}
}
