//go:build cuda && cgo

package gpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/collection"
)

// cell is a kind of data: draw gives a query and the arm that must not be dropped.
type cell struct {
	name string
	dim  int
	draw func(r *rand.Rand, q, v []float32)
}

// correlated draws directions with this cosine, uniformly distributed, so that draws are
// independent even under one rotation.
func correlated(cos float64) func(*rand.Rand, []float32, []float32) {
	return func(r *rand.Rand, q, v []float32) {
		for j := range q {
			a, b := r.NormFloat64(), r.NormFloat64()
			q[j], v[j] = float32(a), float32(cos*a+math.Sqrt(1-cos*cos)*b)
		}
	}
}

// hot draws vectors with few entries, one of them shared, at new positions.
func hot(few int) func(*rand.Rand, []float32, []float32) {
	return func(r *rand.Rand, q, v []float32) {
		shared := r.IntN(len(q))
		q[shared], v[shared] = 1, 1
		for range few - 1 {
			q[r.IntN(len(q))] = 1 - 2*float32(r.IntN(2))
			v[r.IntN(len(v))] = 1 - 2*float32(r.IntN(2))
		}
	}
}

// spread draws arms whose norms span twenty powers of ten.
func spread(r *rand.Rand, q, v []float32) {
	correlated(.5)(r, q, v)
	f := float32(math.Pow(10, 20*r.Float64()-10))
	for j := range v {
		v[j] *= f
	}
}

// TestCalibration counts, for each look whose bounds can fail, how often an arm that must be
// returned is dropped at failure probability delta, with the threshold at the arm's own score: the
// worst case. It is the CPU backend's test of this name with fewer draws. A look fails the test if
// its count has a probability below backendtest.FalseAlarm, 1e-6, given delta; with 240 draws,
// rates of .25 for .1 and of .08 for .01 are detected almost always.
func TestCalibration(t *testing.T) {
	const share = 60 // draws that share a rotation
	draws := 240
	if testing.Short() {
		draws = 120
	}
	b := open(t, Options{})
	defer shut(t, "backend", b.Close)
	for k, d := range []cell{
		{"cosine .9", 300, correlated(.9)},
		{"near-duplicates", 320, correlated(.999999)},
		{"cosine -.95", 272, correlated(-.95)},
		{"norms from 1e-10 to 1e10", 200, spread},
		{"4-hot", 512, hot(4)},
		{"2-hot", 784, hot(2)},
	} {
		if !myTurn(k) {
			continue
		}
		fails := map[risk]int{}
		for from := 0; from < draws; from += share {
			set := backendtest.Set{Dim: d.dim, Rows: make([]float32, share*d.dim), Queries: make([]float32, share*d.dim)}
			r := rand.New(rand.NewPCG(uint64(from), 17))
			for i := range share {
				d.draw(r, set.Query(i), set.Row(i))
			}
			for look, n := range lost(t, b, &set, uint64(from)) {
				fails[look] += n
			}
		}
		if len(fails) < 2 {
			t.Errorf("%s: %d looks", d.name, len(fails))
		}
		for look, n := range fails {
			p := backendtest.AtLeast(n, draws, look.delta)
			t.Logf("%s, %v: %d of %d (p = %.2g)", d.name, look, n, draws, p)
			if p < backendtest.FalseAlarm {
				t.Errorf("%s, %v: %d of %d draws failed (p = %.2g)", d.name, look, n, draws, p)
			}
		}
	}
}

// risk is a look and its failure probability.
type risk struct {
	reads string
	width int
	delta float64
}

// lost asks each query for its own row only, and counts by delta and look how many are dropped.
func lost(t *testing.T, b backend.Backend, set *backendtest.Set, seed uint64) map[risk]int {
	t.Helper()
	c, err := collection.Build(t.Context(), set.Rows, set.Dim, &collection.Options{Metric: collection.InnerProduct, NoHead: true, Seed: seed, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	o := backendtest.NewOracle(c)
	resident, err := b.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, "resident", resident.Close)
	var goals []backend.Goal
	for j := range set.M() {
		filter, _ := o.Filter(func(row int) bool { return row == j })
		goals = append(goals, backend.Goal{Floor: o.Scores(set.Query(j))[j] - o.Precision(set.Query(j), j), Allowed: 1, Ceiling: math.Inf(1), Filter: filter})
	}
	fails := map[risk]int{}
	first := []backend.Representation{backend.Panels, backend.Mixed}
	for k := range len(c.Stages) * len(first) {
		stage := c.Stages[k/len(first)]
		look := backend.Look{Rep: backend.RowCodes, To: stage.Width, Rule: backend.Student}
		switch {
		case stage.Coding == collection.Signs:
			look.Rep = backend.Signs
		case stage.Width == c.D:
			continue // its bounds cannot fail
		case stage.Width <= c.PanelWidth:
			look.Rep = first[k%len(first)]
		}
		if k%len(first) > 0 && !look.Rep.ForFirstLook() {
			continue
		}
		for _, delta := range []float64{.1, .01} {
			look.Alpha = delta
			l := backendtest.Ladder{Looks: []backend.Look{look}}
			got, _, err := l.Search(t.Context(), resident, backend.Queries{M: set.M(), Dim: set.Dim, Data: set.Queries}, goals)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for j := range got {
				if len(got[j].IDs) == 0 {
					n++
				}
			}
			fails[risk{look.Rep.String(), look.To, delta}] = n
		}
	}
	return fails
}
