package cpu

import (
	"context"
	"math"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/internal/vectors"
)

// TestHighHalves compares what looks at signs charge for omitting the low halves of a
// query's codes with the error that this causes.
func TestHighHalves(t *testing.T) {
	s := &begun(t, 100, 800, 1).states[0]
	if s.c.StageOf(collection.Signs) < 0 {
		t.Fatal("no signs are kept: the test shows nothing")
	}
	s.codeQuery16(&scratch{})
	var lost, sum float64
	for j, w := range s.prep.Rest {
		hi := float64(s.rows.codes.Hi[s.c.R+j])
		off := float64(w) - s.rows.highSteps.RestStep*hi
		lost, sum = lost+off*off, sum+hi
	}
	if lost = math.Sqrt(lost); !(lost <= s.rows.highSteps.RestErr) || s.rows.highSteps.RestErr > 1.1*lost {
		t.Errorf("the high halves are off by %g, %g is charged", lost, s.rows.highSteps.RestErr)
	}
	if s.rows.highSum != sum {
		t.Errorf("the high halves add up to %g, not %g", sum, s.rows.highSum)
	}
}

// TestOffsets: the true offset of an atom whose square underflows in float32 is between the
// offset and its width below, and bounds on given coordinates charge for the sums in
// offsets of long rows.
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
	s := &state{c: c, exp: -16, perUnit: 1 << 16}
	vanished := 0
	for i := range n {
		var squares float64
		for _, v := range c.Row(int(c.Order[i])) {
			squares += float64(v) * float64(v)
		}
		off, want := s.offset(i), -math.Ldexp(squares/2, -s.exp)
		if off == 0 {
			vanished++
		}
		if !(off >= want*(1-1e-12) && off-s.offsetWidth(i) <= want*(1-1e-12)) {
			t.Errorf("atom %d: offset %g, of width %g, it is %g", i, off, s.offsetWidth(i), want)
		}
	}
	look, err := looks.NewSet(c).Compile(backend.Look{Rep: backend.Panels, To: c.D, Rule: backend.Cauchy})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if most := look.Strips[0].OffsetWidth * s.perUnit; !(most >= s.offsetWidth(i)) {
			t.Errorf("atom %d: offset of width %g, of at most %g", i, s.offsetWidth(i), most)
		}
	}
	if vanished == 0 || vanished == n {
		t.Errorf("%d of %d offsets vanished: the test shows nothing", vanished, n)
	}

	long := &state{c: &collection.Collection{Dim: 1 << 21, Norm: []float32{1 << 20}, Offset: []float32{-1 << 39}}, perUnit: 1}
	if got, want := long.exactSlack(0), 0x1p21*0x1p-53*0x1p39; got < want {
		t.Errorf("%g charged for the sums of a long row, of which its offset can lack %g", got, want)
	}
}
