package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/batch/plan"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
)

// TestUnits counts by hand what rows of 160 bytes take.
func TestUnits(t *testing.T) {
	for _, x := range []struct {
		width, stride, unit int
		rows, parts         float64
	}{
		{96, 160, 32, 96, 96},
		{96, 160, 64, 128, 96}, // bytes 0 to 95 are in two units, bytes 160 to 255 in two
		{64, 160, 64, 96, 64},  // one, and two
		{128, 160, 64, 160, 128},
		{64, 160, 128, 160, 64},
		{160, 160, 64, 160, 160},
		{100, 160, 32, 128, 128}, // part of a sector
		{64, 224, 128, 160, 64},  // four rows take 1, 2, 1 and 1
	} {
		if rows, parts := inRows(x.width, x.stride, x.unit), inParts(x.width); rows != x.rows || parts != x.parts {
			t.Errorf("%d of %d bytes in units of %d: %g and %g bytes, want %g and %g", x.width, x.stride, x.unit, rows, parts, x.rows, x.parts)
		}
	}
}

// TestDescribe: what is written of a plan with two looks.
func TestDescribe(t *testing.T) {
	const n, dim = 500, 200
	c, err := collection.Build(t.Context(), vectors.PowerLaw(vectors.Rand(5), n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1, Head: 32})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	p := &plan.Plan{Looks: []backend.Look{{Rep: backend.Panels, To: 64}, {Rep: backend.RowCodes, To: c.D}}, SurvivorShares: []float64{.1, .02}}
	var out strings.Builder
	describe(&out, c, p)
	for _, want := range []string{
		"first look: 96 codes of 160 and 12 bytes of terms an atom",
		"units of  64 bytes: in rows 128.0, in parts  96.0 bytes an atom, 22.9%",
		fmt.Sprintf("50 rows of %d codes", c.R+c.D), "scores: 10 rows of 800 bytes",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestRun writes the table of a small collection.
func TestRun(t *testing.T) {
	const n, dim = 2000, 160
	name := filepath.Join(t.TempDir(), "atoms.npy")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := dataset.WriteNPY(f, n, dim, vectors.PowerLaw(vectors.Rand(5), n, dim)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), &out, options{atoms: name, metric: "l2", ks: "1,10", delta: .01}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2000 x 160, l2", "auto, m = 1, k = 10: ", "adaptive, m = 1024, k = 1: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := run(t.Context(), &out, options{atoms: name, metric: "ip", ks: "0"}); err == nil {
		t.Error("k = 0 is allowed")
	}
}
