//go:build cuda && cgo

package gpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/gpu/device"
)

// TestMarkWaiting: before the end of a chunk, the queries wait whose own chunk does not end there; the host
// and the device agree on where chunks end.
func TestMarkWaiting(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(5, 5))
		for _, n := range []int{100, 1024, 1025, 70000, 3 << 20} {
			states, ends := make([]query, 300), map[int]bool{}
			first := firstChunk([]int{0, 1500, 4096}[r.IntN(3)])
			for j := range states {
				at := r.IntN(n)
				if j%4 == 0 {
					at = min(at, 5000)
				}
				states[j] = query{from: uint32(at), flags: flagRandom | flagWaiting*uint32(j%2)}
				for at := stripOf(at, n); at < n && len(ends) < 200; {
					at = chunkEnd(stripOf(int(states[j].from), n), at, first, n)
					ends[at] = true
				}
			}
			for end := range ends {
				q := to(b, states)
				b.q.markWaiting(device.Shape{Grid: device.Dim{X: 2}, Block: device.Dim{X: 256}}, markWaitingArgs{
					queries: device.Ptr(q), m: 300, end: uint32(end), first: uint32(first), n: uint32(n),
				})
				for j, s := range from(b, q) {
					start := stripOf(int(s.from), n)
					want := states[j]
					want.flags = flagRandom
					if chunkEnd(start, end-1, first, n) != end {
						want.flags |= flagWaiting
					}
					if s != want {
						t.Fatalf("%d atoms, first chunk of %d, query from %d at %d: flags %b, want %b", n, first, s.from, end, s.flags, want.flags)
					}
				}
			}
		}
	}, "lists")
}

// TestChunkEnds: a scan's chunks cover its atoms, grow, and end where a scan from the first atom has ends,
// except for the first.
func TestChunkEnds(t *testing.T) {
	const n = 40 << 20
	for _, first := range []int{0, 1024, 3000} {
		size := firstChunk(first)
		for start := 0; start < 3<<20; start += 37 * looks.StripAtoms {
			at := chunkEnd(start, start, first, n)
			if at != start+size || chunkEnd(start, 0, first, n) != at {
				t.Fatalf("the first chunk from %d ends at %d", start, at)
			}
			for k := 1; at < n; k++ {
				end := chunkEnd(start, at, first, n)
				if most := size << (3 * k); end != n && (end%most != 0 || end-start < most || end-start >= 2*most) || chunkEnd(start, end-1, first, n) != end {
					t.Fatalf("chunk %d from %d ends at %d, after that at %d", k, start, end, at)
				}
				at = end
			}
		}
	}
}

// TestTakeGiven: the atoms given are taken as candidates once each, in order, as many at a time as there is
// room for.
func TestTakeGiven(t *testing.T) {
	onKernels(t, func(b *preparer) {
		for _, space := range []int{1, 8, 300, 1000} {
			r := rand.New(rand.NewPCG(6, uint64(space)))
			given := drawHiding(r, 7, 1000)
			states := make([]query, len(given))
			atoms := given.upload(b, states)
			for j := range states {
				states[j].given, states[j].givens = states[j].excluded, states[j].excludes
				states[j].excluded, states[j].excludes = 0, 0
			}
			q := to(b, states)
			got, most := make(hiding, len(given)), 0
			for j := range given {
				most = max(most, len(given[j]))
			}
			for range ceil(most, space) + 1 {
				candidate, selected := room[uint32](b, len(given)*space), room[uint32](b, len(given))
				b.q.takeGiven(device.Shape{Grid: device.Dim{X: len(given)}, Block: device.Dim{X: 256}}, takeGivenArgs{
					queries: device.Ptr(q), candidate: device.Ptr(candidate), selected: device.Ptr(selected), room: uint32(space),
				})
				all, counts := from(b, candidate), from(b, selected)
				for j, n := range counts {
					if int(n) > space {
						b.Fatalf("%d candidates with room for %d", n, space)
					}
					got[j] = append(got[j], all[j*space:][:n]...)
				}
			}
			from(b, q)
			from(b, atoms)
			for j := range given {
				if !slices.Equal(got[j], given[j]) {
					t.Errorf("room for %d, query %d: took %v of %v", space, j, got[j], given[j])
				}
			}
		}
	}, "lists")
}

// TestSeedBest: a dense scan's queries begin with the best of theirs in the run, which give a threshold if
// there are k.
func TestSeedBest(t *testing.T) {
	onKernels(t, func(b *preparer) {
		const m, runRoom, bestRoom = 9, 400, 310
		r := rand.New(rand.NewPCG(7, 7))
		run, score, row := make([]query, m), make([]float64, m*runRoom), make([]uint32, m*runRoom)
		for i := range score {
			score[i], row[i] = float64(-i%runRoom)/8, r.Uint32()
		}
		for p := range run {
			run[p] = query{best: uint32([]int{0, 1, 9, 10, 300}[p%5]), tau: 77, rows: 5}
		}
		var states []query
		for i := range 2 * m {
			s := query{origin: uint32(r.IntN(m)), k: uint32([]int{1, 10, 300, 0}[i%4]), tau: []float64{math.Inf(-1), -20, 20}[i%3], epsilon: .25, rows: 2}
			run[s.origin].best = min(run[s.origin].best, max(1, s.k)) // never more than k
			states = append(states, s)
		}
		dr, ds, dn, q := to(b, run), to(b, score), to(b, row), to(b, states)
		scores, rows := room[float64](b, len(states)*bestRoom), room[uint32](b, len(states)*bestRoom)
		b.q.seedBest(device.Shape{Grid: device.Dim{X: len(states)}, Block: device.Dim{X: 256}}, seedBestArgs{
			run: device.Ptr(dr), runScore: device.Ptr(ds), runRow: device.Ptr(dn), runRoom: runRoom, queries: device.Ptr(q),
			bestScore: device.Ptr(scores), bestRow: device.Ptr(rows), bestRoom: bestRoom,
		})
		from(b, dr)
		from(b, ds)
		from(b, dn)
		gotScores, gotRows := from(b, scores), from(b, rows)
		for i, s := range from(b, q) {
			want := states[i]
			if want.k > 0 {
				want.best = min(run[want.origin].best, want.k)
			}
			first := int(want.origin) * runRoom
			if want.k > 0 && want.best == want.k {
				want.tau = max(want.tau, score[first+int(want.k)-1]+want.epsilon)
			}
			if s != want {
				t.Errorf("query %d: %+v, want %+v", i, s, want)
			}
			n := int(want.best)
			if !slices.Equal(gotScores[i*bestRoom:][:n], score[first:first+n]) || !slices.Equal(gotRows[i*bestRoom:][:n], row[first:first+n]) {
				t.Errorf("query %d: the best %d differ from those of query %d of the run", i, n, want.origin)
			}
		}
	}, "score")
}
