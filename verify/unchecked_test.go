package verify

import (
	"context"
	"errors"
	"testing"

	"thresher/backend/backendtest"
	"thresher/collection"
)

// TestOracleChecksOften: a pass over the atoms ends within 4,096 x 64 pairs of the end of its context, and
// its queries are not visited.
func TestOracleChecksOften(t *testing.T) {
	const n = 3*uncheckedRows + 1
	o, err := NewOracle(make([]float32, n), 1, collection.InnerProduct, 1)
	if err != nil {
		t.Fatal(err)
	}
	queries := make([]float32, tile)
	// One check before the tile, and one each uncheckedRows rows.
	for checks := range 6 {
		ctx, visited := backendtest.NewCountdown(checks, context.Canceled), 0
		err := o.Each(ctx, queries, func(int, *Scores) { visited++ })
		switch {
		case checks < 5 && (!errors.Is(err, context.Canceled) || visited > 0):
			t.Errorf("ended after %d checks: %v, %d queries visited", checks, err, visited)
		case checks == 5 && (err != nil || visited != tile):
			t.Errorf("not ended: %v, %d queries visited", err, visited)
		}
	}
}
