//go:build unix

package worker

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/tasks"
)

// TestPursuit: a signal that is a sum of rows is written as that sum, a signal of zeros as none, and the summary says what is
// promised.
func TestPursuit(t *testing.T) {
	c := newClient(t, testOptions(t))
	var info about
	c.must(&info, "build", object{"metric": "cosine"}, floats("vectors", 3, 3, []float32{2, 0, 0, 0, 4, 0, 0, 0, .5}))
	var summary tasks.PursuitSummary
	r := c.must(&summary, "pursuit", object{"handle": info.Handle, "terms": 2}, floats("signals", 3, 3, []float32{6, 4, 0, 0, 0, 0, 0, -2, 3}))
	for name, want := range map[string][]int64{"lims": {0, 2, 2, 4}, "rows": {0, 1, 2, 1}} {
		if d := cmp.Diff(want, elements[int64](aligned(r.bytes[name]))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for name, want := range map[string][]float64{"coefficients": {3, 1, 6, -.5}, "residuals": {4, 0, 2, 0}} {
		for i, x := range elements[float64](aligned(r.bytes[name])) {
			if math.Abs(x-want[i]) > 1e-12 {
				t.Errorf("%s[%d] = %g, want %g", name, i, x, want[i])
			}
		}
	}
	if summary.Signals != 3 || summary.Terms != 4 || summary.Residual != 0 || summary.Method != "certain" {
		t.Errorf("%+v", summary)
	}
}
