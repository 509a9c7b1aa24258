package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/vectors"
)

// goalsOver begins a run over random atoms with one query for each filter; nil is none.
func goalsOver(t *testing.T, n int, filters []*backend.Filter, gather bool) *run {
	t.Helper()
	const dim = 64
	r := vectors.Rand(1)
	c, err := collection.Build(context.Background(), vectors.Gaussian(r, n, dim), dim, &collection.Options{Metric: collection.InnerProduct})
	if err != nil {
		t.Fatal(err)
	}
	resident, err := New(Options{Threads: 1}).Load(context.Background(), c)
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
	q := backend.Queries{M: len(goals), Dim: dim, Data: vectors.Gaussian(r, len(goals), dim)}
	x, err := resident.Begin(context.Background(), q, goals)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x.(*run)
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

// TestDenseJobs: queries that share a filter gather its rows together. Those with filters
// of their own gather alone or, if they are many and their filters allow much, join a scan
// of all rows. Queries that do not gather read all rows.
func TestDenseJobs(t *testing.T) {
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
		want    []string // queries and rows of each job
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
		for _, job := range run.denseJobs(all) {
			rows := "all"
			if job.rows != nil {
				rows = fmt.Sprint(len(job.rows))
			}
			got = append(got, fmt.Sprintf("%d of %s", len(job.js), rows))
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
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
		run := goalsOver(t, n, x.filters, false)
		var qs []*scanState
		for j := range run.states {
			qs = append(qs, &scanState{state: &run.states[j], allowedBits: run.states[j].filterBits()})
		}
		if got := run.panelsToScan(qs); !slices.Equal(got, x.want) {
			t.Errorf("%s: panels %v, want %v", x.name, got, x.want)
		}
	}
}
