package figures

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/internal/philox"
)

// TestOwnRows: thresher's own lines exist at every width up to the largest; exact and certain are right, strict too with this seed, and exact reads all.
func TestOwnRows(t *testing.T) {
	widths := []int{5, 16, 300, 66_000}
	if !testing.Short() {
		widths = append(widths, collection.MaxDim)
	}
	for _, d := range widths {
		n, m, k := 12, 2, 3
		if d > 1<<20 {
			n, m = 4, 1
		}
		r := rand.New(philox.New(1, uint64(d)))
		vectors, queries := make([]float32, n*d), make([]float32, m*d)
		for _, x := range [][]float32{vectors, queries} {
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
		}
		rows, err := ownRows(context.Background(), &Env{Seed: 2, Threads: 1}, vectors, n, d, queries, m, k, .01)
		if err != nil {
			t.Fatalf("%d coordinates: %v", d, err)
		}
		var names []string
		for _, r := range rows {
			names = append(names, r.Algorithm)
			if r.Algorithm != OwnAdaptive && (r.Wrong > 0 || r.Precision < 1-1e-12) {
				t.Errorf("%d coordinates, %s: %d wrong, precision %g", d, r.Algorithm, r.Wrong, r.Precision)
			}
			if r.Answers != m || r.Multiplications < float64(k*d) || r.Wall <= 0 || r.BuildWall <= 0 {
				t.Errorf("%d coordinates: %+v", d, r)
			}
			if r.Algorithm == OwnExact && r.Multiplications != float64(n*d) {
				t.Errorf("%d coordinates: exact reads %g of %d", d, r.Multiplications, n*d)
			}
		}
		want := OwnExact + ", " + OwnStrict + ", " + OwnCertain
		if d >= collection.MinRotated {
			want += ", " + OwnAdaptive
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%d coordinates: %s, want %s", d, got, want)
		}
	}
	if _, err := ownRows(context.Background(), &Env{}, make([]float32, 7), 2, 3, make([]float32, 3), 1, 1, .1); err == nil {
		t.Error("7 values are 2 vectors of 3 coordinates")
	}
}
