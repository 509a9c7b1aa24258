//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// sharesOf divides lists of these lengths into shares, as count_shares of kernels/shares.cuh does.
func sharesOf(lengths []uint32, want, unit uint32) []uint32 {
	units := uint32(0)
	for _, n := range lengths {
		units += (n + unit - 1) / unit
	}
	length := max(1, (units+want-1)/want) * unit
	begins := []uint32{0}
	for j, n := range lengths {
		begins = append(begins, begins[j]+(n+length-1)/length)
	}
	return append(begins, length)
}

// unevenLengths returns lengths of m lists: none, few, around multiples of a unit, and one longer than the others
// together.
func unevenLengths(r *rand.Rand, m int) []uint32 {
	all := make([]uint32, m)
	for j := range all {
		switch r.IntN(4) {
		case 0:
			all[j] = uint32(r.IntN(40))
		case 1:
			all[j] = uint32(16*r.IntN(6) + r.IntN(3))
		}
	}
	if m > 0 {
		all[r.IntN(m)] = uint32(30*m + r.IntN(50))
	}
	return all
}

// TestShares: the kernels divide lists as sharesOf does; lists of answered queries have no shares in a look, and no list
// is longer than its room.
func TestShares(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(21, 1))
		for _, m := range []int{1, 2, 31, 33, 1023, 1024, 1025, 4100} {
			for _, want := range []uint32{1, 7, 256, 1 << 20} {
				name := fmt.Sprintf("%d lists, %d shares wanted", m, want)
				lengths := unevenLengths(r, m)
				cap := uint32(25 * m)
				states, open, cut := make([]query, m), make([]uint32, m), make([]uint32, m)
				for j, n := range lengths {
					states[j] = query{listed: n, flags: []uint32{0, 0, flagDone, flagDense, flagOverflow, flagScanned}[r.IntN(6)]}
					cut[j] = min(n, cap)
					if states[j].flags&(flagDone|flagDense) == 0 {
						open[j] = cut[j]
					}
				}
				begins := room[uint32](b, m+2)
				check := func(kernel string, want []uint32) {
					got := make([]uint32, m+2)
					if err := begins.Download(b.th, got, 0); err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("%s, %s: %d shares of %d, want %d of %d, or lists begin elsewhere", name, kernel, got[m], got[m+1], want[m], want[m+1])
					}
				}
				q, n := to(b, states), to(b, lengths)
				b.q.lookBegin(oneBlock(), lookBeginArgs{queries: device.Ptr(q), m: uint32(m), cap: cap, want: want, begins: device.Ptr(begins)})
				check("look_begin", sharesOf(open, want, 16))
				b.q.shareLists(oneBlock(), shareListsArgs{queries: device.Ptr(q), m: uint32(m), cap: cap, want: want, begins: device.Ptr(begins)})
				check("share_lists", sharesOf(cut, want, 16))
				b.q.shareCandidates(oneBlock(), shareCandidatesArgs{selected: device.Ptr(n), m: uint32(m), want: want, begins: device.Ptr(begins)})
				check("share_candidates", sharesOf(lengths, want, 4))
				from(b, q)
				from(b, n)
				if all := from(b, begins); all[m] > want+uint32(m) {
					t.Errorf("%s: %d shares", name, all[m])
				}
			}
		}
	}, "lists", "shares")
}

// TestMoveLists: every entry of every list is moved, into however many shares uneven lists are divided. Lists longer than either memory has room for lose what is beyond.
func TestMoveLists(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(22, 1))
		for _, m := range []int{1, 5, 32, 33, 400} {
			for _, want := range []int{1, 10, 3000} {
				lengths := unevenLengths(r, m)
				longest := int(slices.Max(lengths))
				for _, space := range []int{longest, max(1, longest/2)} {
					lists, empty, states := make([][]arm, m), make([][]arm, m), make([]query, m)
					for j, n := range lengths {
						for range n {
							lists[j] = append(lists[j], arm{r.Uint32(), r.Float32(), r.Float32()})
						}
						states[j].listed = n
						empty[j] = make([]arm, n)
					}
					source := toLists(b, lists, multiple(longest))
					for j := range empty {
						empty[j] = empty[j][:min(len(empty[j]), space)]
					}
					target := toLists(b, empty, multiple(space))
					cut := make([]uint32, m)
					for j := range cut {
						cut[j] = min(lengths[j], uint32(multiple(space)))
					}
					q, begins := to(b, states), to(b, sharesOf(cut, uint32(want), 16))
					b.q.moveLists(device.Shape{Grid: device.Dim{X: blocks(want+m, 4)}, Block: device.Dim{X: 128}}, moveListsArgs{
						queries: device.Ptr(q), m: uint32(m), begins: device.Ptr(begins), from: source.table, to: target.table,
					})
					from(b, begins)
					after := from(b, q)
					source.back(b, after)
					for j := range after {
						after[j].listed = min(after[j].listed, uint32(multiple(space)))
					}
					for j, got := range target.back(b, after) {
						if want := lists[j][:cut[j]]; !slices.Equal(got, want) {
							t.Fatalf("%d lists, room for %d: list %d of %d entries is not the one moved", m, space, j, len(want))
						}
					}
				}
			}
		}
	}, "move_lists")
}

// powerLawLists are the lengths that lists of 64 queries have after a simulated first look: 32 codes of the head and 64 of
// the rest, 2^20 atoms of 768 dimensions whose variances follow a power law, delta 1%, the 10 best.
var powerLawLists = []uint32{
	603, 130, 483, 0, 243, 125, 3292, 1066, 0, 503, 685, 7, 460, 27, 26, 97, 59, 75, 50, 411, 295, 45, 149, 924, 55, 25, 338, 33, 211, 79, 60, 255,
	90, 62, 100, 1541, 599, 1089, 264, 298, 47, 112, 48, 348, 13, 372, 3627, 0, 2250, 12, 600, 5229, 34, 107, 19, 40, 0, 75, 386, 21, 86, 260, 186, 554,
}

// TestEvenShares: with these lists for each 64 of 1,024 queries, on 132 multiprocessors, no warp gets more than 64 entries,
// in place of a block's 5,229. docs/gpu.md has the counts.
func TestEvenShares(t *testing.T) {
	lengths := slices.Repeat(powerLawLists, 16)
	total := uint32(0)
	for _, n := range lengths {
		total += n
	}
	begins := sharesOf(lengths, sharesWanted*132, 16)
	got := [...]uint32{total, slices.Max(lengths), begins[len(begins)-2], begins[len(begins)-1]}
	if want := [...]uint32{468480, 5229, 7808, 64}; got != want {
		t.Errorf("entries, longest list, shares, entries of a share: %d, want %d", got, want)
	}
}

// TestListRoom: lists after a scan are no longer than maxListed, unless the first chunk or k needs more; lists of all atoms
// are as long as there are atoms.
func TestListRoom(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct {
		name string
		k    int
		look backend.Look
		want int
	}{
		{"few survivors", 10, backend.Look{Rep: backend.Panels, MaxSurvivors: .01}, 2*scanFirst + n/50},
		{"many survivors", 10, backend.Look{Rep: backend.Panels, MaxSurvivors: .1}, maxListed},
		{"any number", 10, backend.Look{Rep: backend.Panels}, maxListed},
		{"a long first chunk", 10, backend.Look{Rep: backend.Panels, FirstChunk: 1 << 16}, 1 << 17},
		{"many wanted", 1 << 17, backend.Look{Rep: backend.Panels}, 1 << 19},
		{"all wanted", n, backend.Look{Rep: backend.Panels}, n},
		{"no scan", 10, backend.Look{Rep: backend.RowCodes}, n},
	} {
		x := &run{r: &resident{atoms: n, c: &collection.Collection{N: n}, stores: stores{spare: 1 << 40}}, queries: []hostQuery{{goal: &backend.Goal{K: c.k}}}}
		if got := x.listRoom(&look{Compiled: &looks.Compiled{Look: c.look}}); got != c.want {
			t.Errorf("%s: room for %d entries, want %d", c.name, got, c.want)
		}
	}
}
