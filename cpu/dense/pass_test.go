package dense

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/internal/vectors"
	"thresher/simd"
)

// rowsOf returns the rows of c, for the given kernels and number of threads.
func rowsOf(t testing.TB, c *collection.Collection, kern simd.Kernels, n int) *Rows {
	t.Helper()
	h := threads.NewHelpers(n)
	t.Cleanup(h.Close)
	return NewRows(arms.NewResident(c, threads.NewCrew(n, kern, h, false)))
}

// begin begins scans for queries.
func begin(t testing.TB, r *Rows, queries []float32, goals []backend.Goal) *Scans {
	t.Helper()
	b := arms.NewBatch(r.Resident)
	if err := b.Begin(t.Context(), backend.Queries{M: len(goals), Dim: r.C.Dim, Data: queries}, goals); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	x := NewScans(r, b)
	x.Reset()
	return x
}

// answerAll scans for all queries and returns their answers and how many rows the scans have scored in float64 after the
// test.
func answerAll(t testing.TB, x *Scans) (answers backend.Answers, scored int) {
	t.Helper()
	all := backend.QueryIndexes(0, len(x.queries))
	if err := x.ScoreGiven(t.Context(), all, false); err != nil {
		t.Fatal(err)
	}
	if err := x.Scan(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	w := x.GetScratch()
	defer x.PutScratch(w)
	for j := range x.queries {
		scored += x.queries[j].scored
		_, open := x.queries[j].CountOpen()
		answers = append(answers, x.queries[j].Answer(w, open))
	}
	return answers, scored
}

// goalsOver begins scans of random atoms with one query for each filter; nil is none.
func goalsOver(t *testing.T, n int, filters []*backend.Filter, gather bool) *Scans {
	t.Helper()
	const dim = 64
	r := vectors.Rand(1)
	c, err := collection.Build(t.Context(), vectors.Gaussian(r, n, dim), dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	goals := make([]backend.Goal, len(filters))
	for j, f := range filters {
		goals[j] = backend.Goal{K: 1, Floor: math.Inf(-1), Filter: f, Allowed: n, Ceiling: math.Inf(1), Gather: gather}
		if f != nil {
			goals[j].Allowed = f.Len()
		}
	}
	return begin(t, rowsOf(t, c, simd.Best(), 1), vectors.Gaussian(r, len(goals), dim), goals)
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

// TestPasses: queries that share a filter gather its rows together. Those with filters
// of their own gather alone or, if they are many and their filters allow much, join a scan
// of all rows. Queries that do not gather read all rows.
func TestPasses(t *testing.T) {
	const n = 1000
	half, few, none := allow(n, 0, n, 2), allow(n, 0, n, 100), (*backend.Filter)(nil)
	own := func(m, every int) (all []*backend.Filter) {
		for range m {
			all = append(all, allow(n, 0, n, every))
		}
		return all
	}
	for _, x := range []struct {
		name    string
		filters []*backend.Filter
		gather  bool
		want    []string // queries and rows of each pass
	}{
		{"one filter", slices.Repeat([]*backend.Filter{half}, 70), true, []string{"64 of 500", "6 of 500"}},
		{"a query alone", []*backend.Filter{half}, true, []string{"1 of 500"}},
		{"two filters", append(slices.Repeat([]*backend.Filter{half}, 5), slices.Repeat([]*backend.Filter{few}, 4)...), true, []string{"5 of 500", "4 of 10"}},
		{"few of filters of their own", own(3, 2), true, []string{"1 of 500", "1 of 500", "1 of 500"}},
		{"many of filters of their own", own(20, 2), true, []string{"20 of all"}},
		{"many of filters of few atoms", own(9, 20), true, slices.Repeat([]string{"1 of 50"}, 9)},
		{"one filter of many among none", append(slices.Repeat([]*backend.Filter{none}, 10), half, few), true, []string{"11 of all", "1 of 10"}},
		{"nobody gathers", []*backend.Filter{half, few, none}, false, []string{"3 of all"}},
	} {
		run := goalsOver(t, n, x.filters, x.gather)
		all := backend.QueryIndexes(0, len(x.filters))
		var got []string
		for _, pass := range run.passes(all) {
			rows := "all"
			if pass.rows != nil {
				rows = fmt.Sprint(len(pass.rows))
			}
			got = append(got, fmt.Sprintf("%d of %s", len(pass.js), rows))
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
