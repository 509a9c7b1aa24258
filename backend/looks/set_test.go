package looks

import (
	"errors"
	"math"
	"testing"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// TestSetKeeps compiles more looks than a Set keeps, some of them repeatedly.
func TestSetKeeps(t *testing.T) {
	c := &collection.Collection{N: 3, D: 64, Kappa: 1.25, Codes: []uint8{0}, HeadNorm: make([]float32, 3), HeadErr: make([]float32, 3), Norm: make([]float32, 3),
		Stages: []collection.Stage{{Width: 32, Radius: []float32{1, 2, 3}, XNorm: []float32{2, 4, 3}}, {Width: 64}}}
	s := NewSet(c)
	for i := range 4 * setMost {
		l := backend.Look{Rep: backend.Panels, To: 32, Alpha: math.Ldexp(1, -1-i/2), FirstChunk: i}
		got, err := s.Compile(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if want := bandit.Reach(l.Alpha, 1.25, 64); got.Reach != want || got.Look != l || got.Kind != Student || !got.Random() {
			t.Fatalf("%+v: kind %d, reach %g, want %g", got.Look, got.Kind, got.Reach, want)
		}
		if s := got.Strips; len(s) != 1 || s[0].Radius != 3 || s[0].MeanRadius != 2 || s[0].XNorm != 4 {
			t.Fatalf("strips %+v", s)
		}
		if n := len(s.looks); n == 0 || n > setMost {
			t.Fatalf("%d are kept", n)
		}
	}
	for name, l := range map[string]backend.Look{
		"no such rule":     {Rep: backend.RowCodes, To: 32, Rule: backend.Martingale},
		"no codes":         {Rep: backend.Float32, To: 32},
		"no signs, Cauchy": {Rep: backend.Signs, To: 64, Rule: backend.Cauchy},
		"no signs":         {Rep: backend.Signs, To: 64},
		"no such code":     {Rep: 200, To: 32},
		"no stage of them": {Rep: backend.RowCodes, To: 48},
		"not from 0":       {Rep: backend.RowCodes, From: 16, To: 32},
	} {
		if _, err := s.Compile(t.Context(), l); err == nil || errors.Is(err, backend.ErrRuleUnsupported) != (l.To != 48 && l.From == 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
