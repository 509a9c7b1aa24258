package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/collection"
)

func gaussian(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestOracleScores(t *testing.T) {
	const n, d, m = 7, 5, 6 // m leaves a short tile
	atoms, queries := gaussian(1, n*d), gaussian(2, m*d)
	clear(atoms[d : 2*d])
	clear(queries[:d])
	for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
		o := newOracle(atoms, d, metric, 3)
		var mu sync.Mutex
		seen := make([]int, m)
		err := o.each(context.Background(), queries, func(j int, s scored) {
			mu.Lock()
			defer mu.Unlock()
			seen[j]++
			for i := range n {
				var dot, nq, nv float64
				for c := range d {
					q, v := float64(queries[j*d+c]), float64(atoms[i*d+c])
					dot, nq, nv = dot+q*v, nq+q*q, nv+v*v
				}
				want := dot
				switch {
				case metric == collection.Cosine && (nq == 0 || nv == 0):
					want = 0
				case metric == collection.Cosine:
					want = dot / math.Sqrt(nq*nv)
				case metric == collection.Euclidean:
					want = dot - nv/2
				}
				if math.Abs(s.search[i]-want) > 1e-12 {
					t.Errorf("%v: query %d, atom %d: %g, want %g", metric, j, i, s.search[i], want)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]int{1, 1, 1, 1, 1, 1}, seen); d != "" {
			t.Errorf("%v: visits: %s", metric, d)
		}
	}
}

func TestOracleHeedsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := newOracle(gaussian(1, 40), 4, collection.InnerProduct, 2)
	err := o.each(ctx, gaussian(2, 4000), func(int, scored) {})
	if err == nil {
		t.Error("no error from a cancelled context")
	}
}

func TestRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var buf []int
	for range 300 {
		scores := make([]float64, 1+r.IntN(30))
		for i := range scores {
			scores[i] = float64(r.IntN(6)) // many ties
		}
		k, skip := 1+r.IntN(12), int64(r.IntN(len(scores)+1)-1)
		var want []int
		for i := range scores {
			if int64(i) != skip {
				want = append(want, i)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return int(scores[b] - scores[a]) })
		want = want[:min(k, len(want))]
		buf = ranking(scores, k, skip, buf)
		if !slices.Equal(buf, want) {
			t.Fatalf("scores %v, k %d, skip %d: %v, want %v", scores, k, skip, buf, want)
		}
	}
}

func TestBinomialTail(t *testing.T) {
	for _, c := range []struct {
		n, k int64
		p    float64
	}{{10, 1, .1}, {10, 3, .25}, {1000, 25, .01}, {5, 5, .5}, {7, 0, .3}, {200, 1, .01}, {200, 50, .3}, {200, 60, .3}, {200, 61, .3}, {200, 200, .9}} {
		var want float64
		for x := c.k; x <= c.n; x++ {
			logp := float64(x)*math.Log(c.p) + float64(c.n-x)*math.Log1p(-c.p)
			for y := int64(1); y <= x; y++ {
				logp += math.Log(float64(c.n-x+y)) - math.Log(float64(y))
			}
			want += math.Exp(logp)
		}
		if got := binomialTail(c.k, c.n, c.p); math.Abs(got-want) > 1e-9*want {
			t.Errorf("P(X >= %d), X ~ B(%d, %g): %g, want %g", c.k, c.n, c.p, got, want)
		}
	}
	if binomialTail(1, 10, 0) != 0 || binomialTail(3, 10, 1) != 1 {
		t.Error("certain outcomes are not")
	}
}

func TestNeighbourhoods(t *testing.T) {
	var g atomGroups
	for _, missed := range [][]int64{{1, 2}, {2, 3}, {7}, {9, 8}, {}, {3}, {8}} {
		g.join(missed)
	}
	if g.count() != 4 { // {1 2 3}, {7}, {8 9}, and one without an atom
		t.Errorf("%d groups, want 4", g.count())
	}
}
