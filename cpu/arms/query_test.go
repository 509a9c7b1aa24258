package arms

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestOffsets: the true offset of an atom whose square underflows in float32 is between the
// offset and its width below.
func TestOffsets(t *testing.T) {
	const n, dim = 40, 32 // an atom and its opposite: the centre is at 0
	rows := vectors.Gaussian(vectors.Rand(1), n, dim)
	for i := range rows[:n/2*dim] {
		rows[i] *= float32(math.Pow(10, -20-float64(i/dim)/4))
		rows[n/2*dim+i] = -rows[i]
	}
	c, err := collection.Build(context.Background(), rows, dim, &collection.Options{Metric: collection.Euclidean})
	if err != nil {
		t.Fatal(err)
	}
	s := &Query{C: c, Exp: -16, PerUnit: 1 << 16}
	vanished := 0
	for i := range n {
		var squares float64
		for _, v := range c.Row(int(c.Order[i])) {
			squares += float64(v) * float64(v)
		}
		off, want := s.Offset(i), -math.Ldexp(squares/2, -s.Exp)
		if off == 0 {
			vanished++
		}
		if !(off >= want*(1-1e-12) && off-s.OffsetWidth(i) <= want*(1-1e-12)) {
			t.Errorf("atom %d: offset %g, of width %g, it is %g", i, off, s.OffsetWidth(i), want)
		}
	}
	look, err := looks.NewSet(c).Compile(t.Context(), backend.Look{Rep: backend.Panels, To: c.D, Rule: backend.Cauchy})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if most := look.Strips[0].OffsetWidth * s.PerUnit; !(most >= s.OffsetWidth(i)) {
			t.Errorf("atom %d: offset of width %g, of at most %g", i, s.OffsetWidth(i), most)
		}
	}
	if vanished == 0 || vanished == n {
		t.Errorf("%d of %d offsets vanished: the test shows nothing", vanished, n)
	}
}
