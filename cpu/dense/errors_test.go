package dense

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/simd"
)

func TestInCommon(t *testing.T) {
	negativeZero := float32(math.Copysign(0, -1))
	for _, x := range []struct {
		values      []float32
		grain       float32
		nonNegative bool
		even        bool
	}{
		{[]float32{0, 1, 7, negativeZero}, 1, true, true},
		{[]float32{0, 1, .5}, 1, true, false},
		{[]float32{0, 1, .5}, .5, true, true},
		{[]float32{-3, 1<<22 - 1}, 1, false, true},
		{[]float32{-3, 2, 1 << 21, -1<<21 - .5}, 1, false, false},
		{[]float32{0, minCoordinate}, 1, true, false},
		{[]float32{0, minCoordinate / 2}, 1, false, false},
		{[]float32{0, 1, math.SmallestNonzeroFloat32}, minGrain, false, false},
		{[]float32{0, 1, 2}, 0, true, false},
	} {
		if nonNegative, even := inCommon(x.values, x.grain); nonNegative != x.nonNegative || even != x.even {
			t.Errorf("%g: not negative %v, multiples of %g %v", x.values, nonNegative, x.grain, even)
		}
	}
}

func TestMultiples(t *testing.T) {
	for _, x := range []struct {
		values []float64
		grain  float64
		want   bool
	}{
		{[]float64{0, -3, 8, math.Copysign(0, -1)}, 1, true},
		{[]float64{.25, -.75}, .25, true},
		{[]float64{.25, -.75}, .5, false},
		{[]float64{0x1p-40}, 1, false},
		{[]float64{0x1p51 + 1, .5}, 1, false},
	} {
		if got := multiples(x.values, x.grain); got != x.want {
			t.Errorf("%g are multiples of %g: %v", x.values, x.grain, got)
		}
	}
}

// TestErrorWith: whole numbers have products without error just up to the greatest sums that float32 holds.
func TestErrorWith(t *testing.T) {
	for _, x := range []struct {
		metric collection.Metric
		row    float32 // its only coordinate
		query  float32
		want   dotError
	}{
		{collection.InnerProduct, 1 << 11, 1<<12 - 1, noError},
		{collection.InnerProduct, 1 << 11, 1<<13 + 1, byProduct},
		{collection.InnerProduct, 1 << 11, -1<<13 - 1, byNorms},
		{collection.InnerProduct, 1 << 11, 0x1p-70, noError}, // of one bit
		{collection.InnerProduct, 1.0001, 3, byProduct},
		{collection.InnerProduct, -1.0001, 3, byNorms},
		{collection.InnerProduct, 3, 0, noError},
		{collection.Cosine, 3, 0, noError},
		{collection.Cosine, 1 << 11, 1<<9 - 1, noError},
		{collection.Cosine, 1 << 11, 1<<11 + 1, byProduct},
		{collection.Euclidean, 1 << 11, 1<<10 - 1, noError},
		{collection.Euclidean, 1 << 11, 1<<12 + 1, byNorms},
		{collection.Euclidean, 1 << 13, 1, byNorms},
		{collection.Euclidean, 1, 0, noError},
		{collection.Euclidean, 1.0001, 3, byNorms},
	} {
		const n, dim = minRead, 3
		rows := make([]float32, n*dim)
		for i := range n {
			rows[i*dim] = x.row
		}
		r := tiedRows(t, rows, dim, x.metric, simd.Best(), 1)
		r.WantTraits()
		run := begin(t, r, []float32{x.query, 0, 0}, []backend.Goal{{K: 1, Floor: math.Inf(-1), Ceiling: math.Inf(1), Allowed: n}})
		if err := run.Scan(t.Context(), []int{0}); err != nil {
			t.Fatal(err)
		}
		if got := run.queries[0].dots; got != x.want {
			t.Errorf("%v, row %g, query %g: %d, want %d", x.metric, x.row, x.query, got, x.want)
		}
	}
}

// tiedRows returns rows of a collection without codes.
func tiedRows(t *testing.T, rows []float32, dim int, metric collection.Metric, kern simd.Kernels, n int) *Rows {
	t.Helper()
	c, err := collection.Build(t.Context(), rows, dim, &collection.Options{Metric: metric, NoCodes: true})
	if err != nil {
		t.Fatal(err)
	}
	return rowsOf(t, c, kern, n)
}

// rowsOfTies returns rows whose scores tie often.
func rowsOfTies(r *rand.Rand, kind string, n, dim int) []float32 {
	x := make([]float32, n*dim)
	for i := range n {
		row := x[i*dim : (i+1)*dim]
		switch kind {
		case "counts":
			for range 3 {
				row[r.IntN(dim)] += float32(1 + r.IntN(3))
			}
		case "one-hot":
			row[r.IntN(dim)] = 1
		case "weights":
			for range 3 {
				j := r.IntN(dim)
				row[j] = float32(.1 + math.Sqrt(float64(j)))
			}
		case "halves":
			for j := range row {
				row[j] = float32(r.IntN(7)-3) / 2
			}
		case "bytes":
			for j := range row {
				row[j] = float32(r.IntN(256))
			}
		case "near ties":
			for j := range row {
				row[j] = float32(1+float64(j)/10) * float32(1+2e-7*r.NormFloat64())
			}
		case "copies":
			copy(row, vectors.Gaussian(vectors.Rand(uint64(r.IntN(5))), 1, dim))
		case "mostly zero":
			if i%50 == 0 {
				row[r.IntN(dim)] = float32(math.Copysign(1, r.NormFloat64()))
			}
			row[0] = float32(math.Copysign(0, -1))
		}
	}
	return x
}

// TestErrorsBoundedByProducts: answers are the same bits whether the errors of float32 products are bounded by norms, by the
// products themselves or not at all, for rows whose scores tie.
func TestErrorsBoundedByProducts(t *testing.T) {
	const n, dim, m = 1500, 40, 21
	kinds := []string{"counts", "one-hot", "weights", "halves", "bytes", "near ties", "copies", "mostly zero"}
	kernels, teams, numbers := simd.Available(), []int{1, 3}, []int{1, 5, m}
	if race.Enabled { // goroutines share rows and queries alike in all of them; the detector sees what Go reads, not what assembly does
		kinds, kernels, teams, numbers = kinds[:1], kernels[:1], teams[1:], numbers[2:]
	}
	for _, kind := range kinds {
		for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			rng := vectors.Rand(uint64(metric))
			rows, queries := rowsOfTies(rng, kind, n, dim), rowsOfTies(rng, kind, m, dim)
			clear(queries[:dim])
			for j := range dim { // sparse, and with a sign
				queries[dim+j] = float32((j % 5) - 2)
			}
			for _, kern := range kernels {
				for _, threads := range teams {
					before := tiedRows(t, rows, dim, metric, kern, threads)
					after := tiedRows(t, rows, dim, metric, kern, threads)
					after.WantTraits()
					for what, goals := range goalsOfTies(rng, before.C, queries) {
						for _, some := range numbers {
							want, _ := answerAll(t, begin(t, before, queries[:some*dim], goals[:some]))
							got, scored := answerAll(t, begin(t, after, queries[:some*dim], goals[:some]))
							for j := range want {
								if !slices.Equal(got[j].IDs, want[j].IDs) || !slices.Equal(got[j].Scores, want[j].Scores) {
									t.Fatalf("%s, %v, %v, %d threads, %s, query %d of %d: %v of %v, want %v of %v", kind, metric, kern, threads, what, j, some,
										got[j].IDs, got[j].Scores, want[j].IDs, want[j].Scores)
								}
							}
							few := 0
							if kind == "weights" && metric != collection.Euclidean && what == "k=400" && threads == 1 { // most score 0
								few = some * 800
							}
							if exact := kind == "counts" || kind == "one-hot" || few > 0; exact && !strings.Contains(what, "ceiling") && scored > few {
								t.Errorf("%s, %v, %s: %d rows of %d scored in float64", kind, metric, what, scored, some*n)
							}
						}
					}
				}
			}
		}
	}
}

// goalsOfTies returns goals of several kinds for queries.
func goalsOfTies(rng *rand.Rand, c *collection.Collection, queries []float32) map[string][]backend.Goal {
	m := len(queries) / c.Dim
	all := map[string][]backend.Goal{}
	add := func(what string, change func(j int, g *backend.Goal)) {
		for j := range m {
			g := backend.Goal{K: 10, Floor: math.Inf(-1), Ceiling: math.Inf(1), Allowed: c.N}
			change(j, &g)
			all[what] = append(all[what], g)
		}
	}
	filter := allow(c.N, 7, c.N, 3)
	tied := func(j int) float64 { return c.Score(queries[j*c.Dim:(j+1)*c.Dim], j) }
	for _, k := range []int{1, 10, 400, c.N - 1, c.N} {
		add(fmt.Sprint("k=", k), func(_ int, g *backend.Goal) { g.K = k })
	}
	add("a floor that rows tie with", func(j int, g *backend.Goal) { g.Floor = tied(j) })
	add("all above a floor that rows tie with", func(j int, g *backend.Goal) { g.K, g.Floor = 0, tied(j) })
	add("a ceiling", func(j int, g *backend.Goal) { g.Ceiling = tied(j) })
	add("ceilings of some", func(j int, g *backend.Goal) {
		if j%2 == 0 {
			g.Ceiling = tied(j)
		}
	})
	add("a filter", func(_ int, g *backend.Goal) { g.Filter, g.Allowed = filter, filter.Len() })
	add("gathered rows", func(_ int, g *backend.Goal) { g.Filter, g.Allowed, g.Gather = filter, filter.Len(), true })
	add("candidates", func(_ int, g *backend.Goal) {
		for i := c.N - 30; i < c.N; i += 2 {
			g.Candidates = append(g.Candidates, uint32(i))
		}
	})
	add("some excluded", func(_ int, g *backend.Goal) {
		g.Exclude = []uint32{1, 2, uint32(c.N) - 1}
		g.Allowed -= len(g.Exclude)
	})
	return all
}
