package scan

import (
	"context"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/revisit"
	"thresher/cpu/threads"
	"thresher/internal/vectors"
	"thresher/simd"
)

// filtered begins a run over random atoms with one query for each filter; nil is none.
func filtered(t *testing.T, n int, filters []*backend.Filter) *Run {
	t.Helper()
	const dim = 64
	r := vectors.Rand(1)
	c, err := collection.Build(context.Background(), vectors.Gaussian(r, n, dim), dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	goals := make([]backend.Goal, len(filters))
	for j, f := range filters {
		goals[j] = backend.Goal{K: 1, Floor: math.Inf(-1), Filter: f, Allowed: n, Ceiling: math.Inf(1)}
		if f != nil {
			goals[j].Allowed = f.Len()
		}
	}
	a := arms.NewResident(c, threads.NewCrew(1, simd.Best(), threads.NewHelpers(1), false))
	b := arms.NewBatch(a)
	if err := b.Begin(t.Context(), backend.Queries{M: len(goals), Dim: dim, Data: vectors.Gaussian(r, len(goals), dim)}, goals); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	codes := revisit.NewCodes(a)
	later := revisit.NewRun(codes, b)
	later.Reset()
	x := NewRun(NewPanels(codes), later)
	x.Reset()
	return x
}

// allow returns a filter of atoms first, first+every, .. below last.
func allow(n, first, last, every int) *backend.Filter {
	order, atoms := make([]uint32, n), []uint32(nil)
	for i := range order {
		order[i] = uint32(i)
		if i >= first && i < last && (i-first)%every == 0 {
			atoms = append(atoms, uint32(i))
		}
	}
	return backend.ListFilter(order, atoms)
}

// TestPanelsScanned: a first look scans the panels with an atom that one of its queries may
// return, and no other.
func TestPanelsScanned(t *testing.T) {
	const n = 1000
	a, b := allow(n, 64, 65, 1), allow(n, 700, 1000, 100)
	for _, x := range []struct {
		name    string
		filters []*backend.Filter
		want    []uint32
	}{
		{"one", []*backend.Filter{a}, []uint32{1}},
		{"shared", []*backend.Filter{b, b}, []uint32{10, 12, 14}},
		{"several", []*backend.Filter{b, a, b}, []uint32{1, 10, 12, 14}},
		{"nothing allowed", []*backend.Filter{allow(n, 0, 0, 1)}, nil},
		{"no filter", []*backend.Filter{a, nil}, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
	} {
		run := filtered(t, n, x.filters)
		var qs []*scanning
		for j := range run.queries {
			qs = append(qs, &scanning{Query: run.Query(j), allowedBits: run.Query(j).filterBits()})
		}
		if got := run.panelsToScan(qs); !slices.Equal(got, x.want) {
			t.Errorf("%s: panels %v, want %v", x.name, got, x.want)
		}
	}
}

// TestExpectedBytes: a search is expected to read the codes of its first look, and more rows later if the look's
// bound cannot fail.
func TestExpectedBytes(t *testing.T) {
	c := &collection.Collection{N: 10_000, R: 32, D: 768}
	x := &Run{Batch: arms.NewBatch(&arms.Resident{C: c})}
	for _, l := range []struct {
		to   int
		rule backend.Rule
		want float64
	}{
		{96, backend.Student, 10_000 * (128 + 672./50)},
		{96, backend.Cauchy, 10_000 * (128 + 672./3)},
		{768, backend.Cauchy, 10_000 * 800},
	} {
		if got := x.ExpectedBytes(backend.Look{Rep: backend.Panels, To: l.to, Rule: l.rule}); math.Abs(got-l.want) > 1 {
			t.Errorf("first look at %d by rule %d: %g bytes, want %g", l.to, l.rule, got, l.want)
		}
	}
}

// TestOpenBoundOfExpected: while a look that expects a threshold has not ended, the atoms that it has passed over are bounded by
// that threshold.
func TestOpenBoundOfExpected(t *testing.T) {
	const n = 300
	q := filtered(t, n, []*backend.Filter{nil}).Query(0)
	q.NextPanel = q.C.PanelCount()
	if left, most := q.CountOpen(); left != 0 || !math.IsInf(most, -1) {
		t.Fatalf("all atoms are seen: %d are open, up to %g", left, most)
	}
	q.Expected = 7
	if _, most := q.CountOpen(); most != 7 {
		t.Errorf("the threshold is expected at 7: open atoms are bounded by %g", most)
	}
	q.Tau = 8
	if _, most := q.CountOpen(); !math.IsInf(most, -1) {
		t.Errorf("the threshold is 8: open atoms are bounded by %g", most)
	}
}

// TestOwnBoundsOfOthers: a look that goes on after another one, which a context stopped, makes no threshold of the arms that
// that one listed: their upper bounds may be any distance from their scores.
func TestOwnBoundsOfOthers(t *testing.T) {
	x := filtered(t, 300, []*backend.Filter{nil})
	if err := x.later.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := x.Query(0)
	best := math.Inf(-1)
	for i := range q.C.N {
		best = max(best, q.SearchScore(q.C.Order[i]))
	}
	q.NextPanel = 1
	for i := range uint32(arms.PanelAtoms) {
		q.List.IDs, q.List.Bounds = append(q.List.IDs, i), append(q.List.Bounds, 100)
	}
	look := backend.Look{Rep: backend.Panels, To: q.C.D, Rule: backend.Cauchy, Source: backend.LowerBound}
	if err := x.Take(t.Context(), look); err != nil {
		t.Fatal(err)
	}
	if most := q.Conversion.Threshold(best); !q.RaisedByLowers() || q.Tau > most {
		t.Errorf("raised %v: the threshold is %g, the best atom reaches %g", q.RaisedByLowers(), q.Tau, most)
	}
}
