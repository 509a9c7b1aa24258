//go:build cuda && cgo

package gpu

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/gpu/device"
)

// arm is one entry of a list.
type arm struct {
	atom            uint32
	bound, estimate float32
}

// listing is the lists of some queries on the device.
type listing struct {
	atom            *device.Buffer[uint32]
	bound, estimate *device.Buffer[float32]
	table           lists
	cap             int
}

// toLists uploads lists of at most room entries; the memory behind them holds values that are not
// valid entries.
func toLists(b *preparer, all [][]arm, room int) *listing {
	b.Helper()
	n := len(all) * room
	atom, bound, estimate := make([]uint32, n), make([]float32, n), make([]float32, n)
	for i := range atom {
		atom[i], bound[i], estimate[i] = math.MaxUint32, float32(math.Inf(1)), float32(math.Inf(1))
	}
	for j, list := range all {
		for i, e := range list {
			atom[j*room+i], bound[j*room+i], estimate[j*room+i] = e.atom, e.bound, e.estimate
		}
	}
	l := &listing{atom: to(b, atom), bound: to(b, bound), estimate: to(b, estimate), cap: room}
	l.table = lists{atom: l.atom.Address(), bound: l.bound.Address(), estimate: l.estimate.Address(), room: uint32(room)}
	return l
}

// back returns the entries of the lists and frees the device's memory.
func (l *listing) back(b *preparer, states []query) [][]arm {
	b.Helper()
	atom, bound, estimate := from(b, l.atom), from(b, l.bound), from(b, l.estimate)
	all := make([][]arm, len(states))
	for j := range states {
		n := int(states[j].listed)
		if n > l.cap {
			b.Fatalf("query %d lists %d entries of %d", j, n, l.cap)
		}
		for i := j * l.cap; i < j*l.cap+n; i++ {
			all[j] = append(all[j], arm{atom[i], bound[i], estimate[i]})
		}
	}
	return all
}

// multiple rounds n up to a multiple of four.
func multiple(n int) int { return (n + 3) &^ 3 }

// drawn returns n different atoms with random bounds within spread of mean, some of them equal, and
// estimates below the bounds.
func drawn(r *rand.Rand, n int, mean, spread float64) []arm {
	list := make([]arm, n)
	for i, a := range r.Perm(n) {
		list[i].atom = uint32(3 * a)
		list[i].bound = float32(mean + spread*(r.Float64()*2-1))
		if i > 0 && r.IntN(3) == 0 {
			list[i].bound = list[r.IntN(i)].bound
		}
		list[i].estimate = list[i].bound - float32(spread*r.Float64())
	}
	return list
}

// listSizes are list lengths around the numbers that threads, warps and blocks process at a time.
var listSizes = []int{0, 1, 2, 3, 4, 5, 31, 33, 255, 256, 257, 1023, 1024, 1025, 2048, 5000}

// TestPrune: a prune keeps the entries that reach the threshold, rounded to float32, in order, and
// reports the greatest bound left. Queries with other flags stay as they are.
func TestPrune(t *testing.T) {
	onKernels(t, func(b *preparer) {
		for _, dropping := range []float64{0, .3, .99, 1} {
			r := rand.New(rand.NewPCG(1, uint64(100*dropping)))
			lists, states := make([][]arm, len(listSizes)), make([]query, len(listSizes))
			for j, n := range listSizes {
				lists[j] = drawn(r, n, .1, 2)
				s := &states[j]
				s.listed, s.open, s.tau = uint32(n), 17, .1+2*(2*dropping-1)*1.01
				switch {
				case dropping == 0 && j%2 == 0:
					s.tau = math.Inf(-1)
				case n > 2 && j%2 == 0: // a threshold just above a bound, which rounds to it
					s.tau = math.Nextafter(float64(lists[j][1].bound), 9)
				}
				if j%5 == 4 {
					s.flags = []uint32{flagDone, flagDense, flagDone | flagDense}[j%3]
				} else if j%3 == 0 {
					s.flags = flagScanned | flagRandom
				}
			}
			l, q := toLists(b, lists, multiple(5000)), to(b, states)
			b.q.prune(device.Shape{Grid: device.Dim{X: len(states)}, Block: device.Dim{X: 256}}, pruneArgs{
				queries: device.Ptr(q), lists: l.table, mask: flagDone | flagDense, value: 0,
			})
			after := from(b, q)
			kept := l.back(b, after)
			for j := range states {
				want, open := lists[j], 17.0
				if states[j].flags&(flagDone|flagDense) == 0 {
					want, open = nil, math.Inf(-1)
					for _, e := range lists[j] {
						if e.bound >= float32(states[j].tau) {
							want, open = append(want, e), max(open, float64(e.bound))
						}
					}
				}
				forget(kept[j])
				want = slices.Clone(want)
				forget(want)
				if !slices.Equal(kept[j], want) {
					t.Errorf("%d entries, threshold %g: kept %d, want %d, or others", len(lists[j]), states[j].tau, len(kept[j]), len(want))
				}
				expect := states[j]
				expect.listed, expect.open = uint32(len(want)), open
				if after[j] != expect {
					t.Errorf("%d entries: state %+v, want %+v", len(lists[j]), after[j], expect)
				}
			}
		}
	}, "lists")
}

// forget clears the estimates of entries.
func forget(list []arm) {
	for i := range list {
		list[i].estimate = 0
	}
}

// selecting is the parameters of select_candidates.
type selecting struct {
	byEstimate bool
	most, room int
}

func (c selecting) String() string {
	return fmt.Sprintf("by estimate %v, most %d, room %d", c.byEstimate, c.most, c.room)
}

// selectCandidates runs the kernel.
func (b *preparer) selectCandidates(c selecting, all [][]arm, states []query, cap int) (lead [][]uint32, after []query, kept [][]arm) {
	b.Helper()
	l, q := toLists(b, all, cap), to(b, states)
	dl, dn := room[uint32](b, len(all)*c.room), room[uint32](b, len(all))
	b.q.selectCandidates(device.Shape{Grid: device.Dim{X: len(states)}, Block: device.Dim{X: 256}}, selectCandidatesArgs{
		queries: device.Ptr(q), lists: l.table, mask: flagDone | flagDense, value: 0, by: flag(c.byEstimate), most: uint32(c.most),
		ceiling: 0, candidate: device.Ptr(dl), selected: device.Ptr(dn), room: uint32(c.room),
	})
	after = from(b, q)
	kept = l.back(b, after)
	atoms, led := from(b, dl), from(b, dn)
	for j, n := range led {
		if int(n) > c.room {
			b.Fatalf("query %d has %d candidates, room is %d", j, n, c.room)
		}
		lead = append(lead, atoms[j*c.room:j*c.room+int(n)])
	}
	return lead, after, kept
}

// expected returns the atoms of a list that are selected, and the entries that stay.
func (c selecting) expected(list []arm, s *query) (lead []uint32, kept []arm) {
	least, want := float32(s.tau), c.most
	if want == 0 {
		want = int(s.k)
	}
	want = min(want, c.room)
	key := func(e arm) float32 {
		if c.byEstimate {
			return e.estimate
		}
		return e.bound
	}
	var ranked []arm
	for _, e := range list {
		if e.bound >= least && key(e) >= least {
			ranked = append(ranked, e)
		}
	}
	slices.SortStableFunc(ranked, func(x, y arm) int {
		// total order: -0 is less than 0, as for the kernel's integers
		if d := cmp.Compare(math.Float32bits(key(y))>>31, math.Float32bits(key(x))>>31); key(x) == 0 && key(y) == 0 && d != 0 {
			return -d
		}
		return cmp.Or(cmp.Compare(key(y), key(x)), cmp.Compare(x.atom, y.atom))
	})
	leads := map[uint32]int{}
	for _, e := range ranked[:min(want, len(ranked))] {
		lead = append(lead, e.atom)
		leads[e.atom]++
	}
	for _, e := range list {
		if e.bound >= least && leads[e.atom] == 0 {
			kept = append(kept, e)
		}
		leads[e.atom] = max(0, leads[e.atom]-1)
	}
	return lead, kept
}

// checkSelection compares the kernel with expected, for lists without duplicate atoms.
func checkSelection(b *preparer, c selecting, all [][]arm, states []query) {
	b.Helper()
	longest := 0
	for _, l := range all {
		longest = max(longest, len(l))
	}
	lead, after, kept := b.selectCandidates(c, all, states, multiple(longest))
	for j := range states {
		name := fmt.Sprintf("%v: query %d, %d entries, k %d, threshold %g", c, j, len(all[j]), states[j].k, states[j].tau)
		wantLead, wantKept := c.expected(all[j], &states[j])
		expect := states[j]
		if states[j].flags&(flagDone|flagDense) != 0 {
			wantLead, wantKept = nil, all[j]
		} else {
			expect.listed, expect.kept, expect.open = uint32(len(wantKept)), states[j].kept+uint32(len(wantLead)), math.Inf(-1)
			for _, e := range wantKept {
				expect.open = max(expect.open, float64(e.bound))
			}
		}
		slices.Sort(lead[j])
		slices.Sort(wantLead)
		if !slices.Equal(lead[j], wantLead) {
			b.Errorf("%s: %d candidates, want %d, or others: %v, %v", name, len(lead[j]), len(wantLead), few(lead[j]), few(wantLead))
		}
		if !c.byEstimate {
			forget(kept[j])
			wantKept = slices.Clone(wantKept)
			forget(wantKept)
		}
		if !slices.Equal(kept[j], wantKept) {
			b.Errorf("%s: %d kept, want %d, or others", name, len(kept[j]), len(wantKept))
		}
		if after[j] != expect {
			b.Errorf("%s: state %+v, want %+v", name, after[j], expect)
		}
	}
}

func few[T any](x []T) []T { return x[:min(8, len(x))] }

// TestSelectCandidates: the candidates are the entries of greatest bound or estimate, of equal ones
// the lower atoms, in whatever order the list is, and are removed from it.
func TestSelectCandidates(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(2, 2))
		for _, c := range []selecting{
			{room: 16}, {room: 2000}, {most: 1, room: 1}, {most: 10, room: 10}, {most: 5000, room: 100},
			{byEstimate: true, room: 300}, {byEstimate: true, most: 10000, room: 10000}, {byEstimate: true, most: 7, room: 7},
		} {
			lists, states := make([][]arm, len(listSizes)), make([]query, len(listSizes))
			for j, n := range listSizes {
				lists[j] = drawn(r, n, -.4, 1)
				states[j] = query{listed: uint32(n), k: []uint32{1, 10, 100, 1000, 0}[j%5], tau: []float64{math.Inf(-1), -.6, .3}[j%3], kept: 5, open: 3}
				if j%7 == 6 {
					states[j].flags = flagDense
				}
			}
			checkSelection(b, c, lists, states)
		}
	}, "lists")
}

// TestSelectAmongEquals: ties, and keys of either sign and any size.
func TestSelectAmongEquals(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(3, 3))
		bounds := [][]float32{
			{1.5}, {-2}, {0}, {float32(math.Copysign(0, -1)), 0}, {1, math.Nextafter32(1, 2)}, {-1e30, 1e30, 1e-40, -1e-40, 0},
			{float32(math.Inf(-1)), 3}, {math.MaxFloat32, float32(math.Inf(1))},
		}
		for _, most := range []int{1, 33, 499, 500, 1999, 2000} {
			var lists [][]arm
			var states []query
			for _, of := range bounds {
				for _, atomOf := range []func(int) uint32{
					func(a int) uint32 { return uint32(a) * 2_000_003 },
					func(a int) uint32 { return uint32(a+1)<<21 - 1 }, // on the boundaries of intervals
				} {
					list := make([]arm, 2000)
					for i, a := range r.Perm(len(list)) {
						list[i] = arm{atom: atomOf(a), bound: of[r.IntN(len(of))], estimate: float32(i % 3)}
					}
					lists, states = append(lists, list), append(states, query{listed: uint32(len(list)), tau: math.Inf(-1)})
				}
			}
			checkSelection(b, selecting{most: most, room: 2000}, lists, states)
		}
	}, "lists")
}

// TestSelectOfAtomsListedTwice: of an atom listed twice, as after a chunk was scanned again, each
// entry is selected at most once, and room is never exceeded.
func TestSelectOfAtomsListedTwice(t *testing.T) {
	onKernels(t, func(b *preparer) {
		for _, n := range []int{2, 300, 3000} {
			list := make([]arm, n)
			for i := range list {
				list[i] = arm{atom: 9, bound: 2, estimate: 1}
				if i%2 == 1 && n > 2 {
					list[i].atom = uint32(i)
				}
			}
			for _, most := range []int{1, 2, 100, 1500} {
				lead, after, kept := b.selectCandidates(selecting{most: most, room: most}, [][]arm{list}, []query{{listed: uint32(n), tau: 2}}, multiple(n))
				want := min(most, n)
				if len(lead[0]) != want || len(kept[0]) != n-want || int(after[0].kept) != want {
					t.Errorf("%d entries, %d wanted: %d lead, %d stay", n, most, len(lead[0]), len(kept[0]))
				}
				var atoms []uint32
				for _, e := range kept[0] {
					atoms = append(atoms, e.atom)
				}
				atoms = append(atoms, lead[0]...)
				slices.Sort(atoms)
				var before []uint32
				for _, e := range list {
					before = append(before, e.atom)
				}
				slices.Sort(before)
				if !slices.Equal(atoms, before) {
					t.Errorf("%d entries, %d wanted: an arm was lost or made", n, most)
				}
			}
		}
	}, "lists")
}

// TestListsThatOverflowed: a list that overflowed ends at its capacity.
func TestListsThatOverflowed(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(4, 4))
		lists := [][]arm{drawn(r, 64, 0, 1), drawn(r, 64, 0, 1)}
		states := []query{{listed: 90, tau: -2, flags: flagOverflow}, {listed: 64, tau: -2}}
		l, q := toLists(b, lists, 64), to(b, states)
		b.q.prune(device.Shape{Grid: device.Dim{X: 2}, Block: device.Dim{X: 256}}, pruneArgs{queries: device.Ptr(q), lists: l.table, mask: 0, value: 0})
		after := from(b, q)
		if kept := l.back(b, after); !slices.Equal(kept[0], lists[0]) || !slices.Equal(kept[1], lists[1]) {
			t.Errorf("%d and %d entries kept of 64 each", len(kept[0]), len(kept[1]))
		}
		lead, after, _ := b.selectCandidates(selecting{most: 64, room: 64}, lists, states, 64)
		if len(lead[0]) != 64 || after[0].listed != 0 {
			t.Errorf("%d candidates and %d entries left of 64", len(lead[0]), after[0].listed)
		}
	}, "lists")
}

// TestLookFigures: the figures of a look are reported and added up as in cpu/scan/end.go and
// cpu/revisit/revisit.go.
func TestLookFigures(t *testing.T) {
	onKernels(t, func(b *preparer) {
		const m = 300
		states := make([]query, m)
		for j := range states {
			states[j] = query{seen: 9, kept: 9, listed: uint32(j), rows: uint32(j % 4), pulls: 1 << 40, bytes: 7, listedBefore: 3}
		}
		q := to(b, states)
		begins := room[uint32](b, m+2)
		b.q.lookBegin(oneBlock(), lookBeginArgs{queries: device.Ptr(q), m: m, cap: m, want: 40, begins: device.Ptr(begins)})
		from(b, begins)
		states = from(b, q)
		for j := range states {
			s := &states[j]
			if s.seen != 0 || s.kept != 0 || s.listedBefore != uint32(j) || s.listed != uint32(j) || s.pulls != 1<<40 {
				t.Fatalf("query %d before a look: %+v", j, *s)
			}
			s.seen, s.kept, s.listed = uint32(j), uint32(j%3), uint32(j-j%5)
			if j%11 == 0 {
				s.expectedRows = 77
			}
			if j%7 == 3 {
				s.flags, s.seen = flagDone, 0
			}
		}
		for _, c := range []struct{ random, scan bool }{{false, false}, {true, false}, {true, true}} {
			q, dr := to(b, states), room[report](b, m)
			b.q.lookEnd(device.Shape{Grid: device.Dim{X: 2}, Block: device.Dim{X: 256}}, lookEndArgs{
				queries: device.Ptr(q), m: m, width: 128, random: flag(c.random), scan: flag(c.scan), reports: device.Ptr(dr),
			})
			after, reports := from(b, q), from(b, dr)
			for j := range states {
				want, told := states[j], report{}
				if states[j].flags == 0 {
					told = report{want.seen, want.kept + want.listed}
					want.pulls += 128 * uint64(want.seen)
					want.bytes += 140 * uint64(want.seen)
					all := want.listedBefore
					if c.scan {
						all += want.seen
					}
					if c.random && told.kept < all {
						want.flags |= flagRandom
					}
					if c.random && want.expectedRows == 0 {
						want.expectedRows = want.rows + want.listed
					}
				}
				want.seen, want.kept = 0, 0
				if after[j] != want || reports[j] != told {
					t.Fatalf("%+v: query %d: %+v and %+v, want %+v and %+v", c, j, after[j], reports[j], want, told)
				}
			}
		}
	}, "lists")
}

// TestFinishedQueries: after a chunk a query is finished if norms rule out the other atoms, and
// goes to the dense path if it keeps more than its share after 1,024 atoms, or 16 k, as on the CPU.
func TestFinishedQueries(t *testing.T) {
	onKernels(t, func(b *preparer) {
		base := query{norm: 2, tau: 1, k: 10, seen: 2000, listed: 101, allowed: 1000}
		with := func(f func(*query)) query { q := base; f(&q); return q }
		for _, c := range []struct {
			name   string
			state  query
			share  float64
			beyond float32
			want   uint32
		}{
			{"keeps more than its share", base, .1, 1, flagDense},
			{"keeps its share", with(func(q *query) { q.listed = 100 }), .1, 1, 0},
			{"no limit", base, 0, 1, 0},
			{"too early", with(func(q *query) { q.seen = 1023 }), .1, 1, 0},
			{"just in time", with(func(q *query) { q.seen = 1024 }), .1, 1, flagDense},
			{"too early for its k", with(func(q *query) { q.k = 126 }), .1, 1, 0},
			{"at the end", base, .1, -1, flagScanned},
			{"beyond its reach", base, .1, .49, flagScanned},
			{"the bound of norms is rounded up", base, .1, float32(.5), flagDense},
			{"done already", with(func(q *query) { q.flags = flagDone }), .1, -1, flagDone},
			{"dense already", with(func(q *query) { q.flags = flagDense }), .1, -1, flagDense},
			{"no threshold", with(func(q *query) { q.tau = math.Inf(-1) }), .5, 0, 0},
		} {
			q := to(b, []query{c.state})
			b.q.markFinished(device.Shape{Grid: device.Dim{X: 1}, Block: device.Dim{X: 256}}, markFinishedArgs{queries: device.Ptr(q), m: 1, share: c.share, beyond: c.beyond})
			want := c.state
			want.flags = c.want
			if got := from(b, q)[0]; got != want {
				t.Errorf("%s: %+v, want %+v", c.name, got, want)
			}
		}
	}, "lists")
}
