package cpu

import (
	"context"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/simd"
)

// knownRows is a backend that knows the traits of rows from the start.
type knownRows struct{ backend.Describer }

func (b knownRows) Load(ctx context.Context, c *collection.Collection) (backend.Resident, error) {
	r, err := b.Describer.Load(ctx, c)
	if err == nil {
		r.(*resident).rows.WantTraits()
	}
	return r, err
}

// TestKnownTraits runs the suite's checks of the fields of goals, and a part of the others, with each set of kernels over
// rows whose traits are known. TestConformance and TestGoals run the whole suite over others, and dense's
// TestErrorsBoundedByProducts compares each trait with each set of kernels; a full run (THRESHER_FULL) has twice the part.
func TestKnownTraits(t *testing.T) {
	if race.Enabled {
		t.Skip("TestConformance runs the suite")
	}
	for k, kern := range simd.Available() {
		t.Run(kern.String(), func(t *testing.T) {
			open := func() backend.Backend { return knownRows{New(Options{Threads: 2, Kernels: &kern})} }
			of := 8
			if draws.Full() {
				of = 4
			}
			backendtest.Goals(t, open, backendtest.Part{I: k, Of: of})
			backendtest.RunPart(t, open, backendtest.Part{I: k, Of: 2 * of})
		})
	}
}
