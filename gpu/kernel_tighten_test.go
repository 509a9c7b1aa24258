//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// TestTighten: tighten equals rounds of select_candidates, score and merge, more of them for queries with a
// ceiling that hold too few, then prune and mark_finished.
func TestTighten(t *testing.T) {
	onKernels(t, func(b *preparer) {
		const n, seen, share, beyond = 1500, 2000, .2, .01
		r := rand.New(rand.NewPCG(12, 12))
		for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			for _, by := range []int{rankByBound, rankByEstimate} {
				for _, dim := range []int{64, 99} {
					for _, rounds := range []int{0, 1, 2, 5} {
						name := fmt.Sprintf("%v, by %d, dimension %d, %d rounds", metric, by, dim, rounds)
						ks := []uint32{1, 10, 10, 33, 256, 300, 0, 10, 3}
						s := randomScoring(r, metric, dim, n, make([]int, len(ks)))
						var lists [][]arm
						for j := range s.states {
							q := &s.states[j]
							q.k, q.tau, q.floor, q.ceiling, q.epsilon, q.norm, q.seen, q.allowed, q.rows = ks[j], math.Inf(-1), math.Inf(-1), math.Inf(1), .5, 3, seen, n, 2
							var list []arm
							var scores []float64
							for _, atom := range r.Perm(n)[:[]int{n, n, 0, 700, n, n, 50, 5, n}[j]] {
								score := s.want(j, s.order[atom])
								scores = append(scores, score)
								list = append(list, arm{uint32(atom), float32(score + 9*r.Float64()), float32(score + r.NormFloat64())})
							}
							q.listed = uint32(len(list))
							lists = append(lists, list)
							switch j {
							case 1:
								q.tau, q.floor = 12, 12
							case 8:
								q.flags = flagDense
							case 0, 3, 5, 7: // more arms above the ceiling than are scored at once
								slices.Sort(scores)
								q.ceiling = scores[len(scores)*2/3]
							}
						}
						if got, want := s.tighten(b, lists, by, rounds, share, beyond, false), s.tightenApart(b, lists, by, rounds, share, beyond); !got.equal(want) {
							t.Fatalf("%s: raised to %+v, want %+v", name, got, want)
						}
					}
				}
			}
		}
	}, "lists", "score", "shares", "tighten")
}

// TestTightenShort: with the queries of short lists left to tighten_short, the result is that of tighten for all.
func TestTightenShort(t *testing.T) {
	onKernels(t, func(b *preparer) {
		const n, seen, share, beyond = 1500, 2000, .2, .01
		r := rand.New(rand.NewPCG(13, 12))
		ks := []uint32{1, 2, 10, 31, 32, 33, 10, 10, 10, 32, 10, 10, 5, 10, 32, 7, 10}
		sizes := []int{512, 300, 128, 511, 512, 500, 513, 9, 10, 31, 0, 129, 200, 127, 400, 512, 512}
		for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
			for _, by := range []int{rankByBound, rankByEstimate} {
				for _, rounds := range []int{0, 1, 2, 5} {
					s := randomScoring(r, metric, []int{64, 99}[rounds%2], n, make([]int, len(ks)))
					var lists [][]arm
					for j := range s.states {
						q := &s.states[j]
						*q = query{k: ks[j], tau: math.Inf(-1), floor: math.Inf(-1), ceiling: math.Inf(1), epsilon: .5 * float64(j%2), norm: 3, seen: seen, allowed: n, rows: 2, exp: q.exp, unit: 1, square: q.square}
						var list []arm
						for _, atom := range r.Perm(n)[:sizes[j]] {
							score := s.want(j, s.order[atom])
							list = append(list, arm{uint32(atom), float32(score + 9*r.Float64()), float32(score + r.NormFloat64())})
							if j%5 == 1 { // equal keys
								list[len(list)-1].bound = float32(math.Round(score) + 9)
								list[len(list)-1].estimate = float32(math.Round(score))
							}
							if j%5 == 2 && len(list) > 1 && r.IntN(2) == 0 { // an atom listed twice
								list[len(list)-1] = list[r.IntN(len(list)-1)]
							}
						}
						q.listed = uint32(len(list))
						switch j {
						case 11:
							q.tau, q.floor = 12, 12
						case 12:
							q.flags = flagDense
						case 13:
							q.ceiling = 3
						}
						lists = append(lists, list)
					}
					if got, want := s.tighten(b, lists, by, rounds, share, beyond, true), s.tighten(b, lists, by, rounds, share, beyond, false); !got.equal(want) {
						t.Fatalf("%v, by %d, %d rounds: %+v, want %+v", metric, by, rounds, got, want)
					}
				}
			}
		}
	}, "tighten", "tighten_short")
}

// tightened is the result of tighten.
type tightened struct {
	states []query
	lists  [][]arm
	best   [][]scoredRow
}

func (x *tightened) equal(y *tightened) bool {
	return slices.Equal(x.states, y.states) && slices.EqualFunc(x.lists, y.lists, slices.Equal) && slices.EqualFunc(x.best, y.best, slices.Equal)
}

const tightenRoom = 304

// tightener is a scoring on the device, with lists and the best.
type tightener struct {
	b            *preparer
	m            int
	q            *device.Buffer[query]
	l            *listing
	rows         *device.Buffer[float32]
	order        *device.Buffer[uint32]
	scaled, norm *device.Buffer[float64]
	best         *device.Buffer[float64]
	bestRow      *device.Buffer[uint32]
}

func (s *scoring) tightener(b *preparer, lists [][]arm) *tightener {
	m := len(s.states)
	return &tightener{b: b, m: m, q: to(b, s.states), l: toLists(b, lists, multiple(s.n)), rows: to(b, s.rows), order: to(b, s.order), scaled: to(b, s.scaled),
		norm: to(b, s.squares), best: room[float64](b, m*tightenRoom), bestRow: room[uint32](b, m*tightenRoom)}
}

// result downloads the result and frees the memory.
func (d *tightener) result() *tightened {
	b, x := d.b, &tightened{}
	x.states = from(b, d.q)
	x.lists = d.l.back(b, x.states)
	from(b, d.rows)
	from(b, d.order)
	from(b, d.scaled)
	from(b, d.norm)
	scores, rows := from(b, d.best), from(b, d.bestRow)
	for j, q := range x.states {
		var best []scoredRow
		for i := range int(q.best) {
			best = append(best, scoredRow{scores[j*tightenRoom+i], rows[j*tightenRoom+i]})
		}
		x.best = append(x.best, best)
		forget(x.lists[j])
	}
	return x
}

const notDone = flagDone | flagDense

// tighten runs tighten, with short after tighten_short, which takes some of the queries.
func (s *scoring) tighten(b *preparer, lists [][]arm, by, rounds int, share float64, beyond float32, short bool) *tightened {
	d := s.tightener(b, lists)
	if short {
		b.q.tightenShort(warpEach(d.m), tightenShortArgs{
			queries: device.Ptr(d.q), m: uint32(d.m), lists: d.l.table, mask: notDone, value: 0, by: by, rounds: rounds,
			rows: device.Ptr(d.rows), dim: s.dim, order: device.Ptr(d.order), scaled: device.Ptr(d.scaled), rowSquare: device.Ptr(d.norm),
			metric: int(looks.ScoringOf(s.metric)), bestScore: device.Ptr(d.best), bestRow: device.Ptr(d.bestRow), bestRoom: tightenRoom, share: share, beyond: beyond,
		})
	}
	b.q.tighten(device.Shape{Grid: device.Dim{X: d.m}, Block: device.Dim{X: 256}}, tightenArgs{
		queries: device.Ptr(d.q), lists: d.l.table, mask: notDone, value: 0, without: flag(short), by: by, rounds: rounds, ceilingRounds: rounds + 3,
		rows: device.Ptr(d.rows), dim: s.dim, order: device.Ptr(d.order), scaled: device.Ptr(d.scaled), rowSquare: device.Ptr(d.norm),
		metric: int(looks.ScoringOf(s.metric)), bestScore: device.Ptr(d.best), bestRow: device.Ptr(d.bestRow), bestRoom: tightenRoom, share: share, beyond: beyond,
	})
	return d.result()
}

func (s *scoring) tightenApart(b *preparer, lists [][]arm, by, rounds int, share float64, beyond float32) *tightened {
	const most = 256
	d := s.tightener(b, lists)
	lead, led, scores, of := room[uint32](b, d.m*most), room[uint32](b, d.m), room[float64](b, d.m*most), room[uint32](b, d.m*most)
	begins := room[uint32](b, d.m+2)
	each := device.Shape{Grid: device.Dim{X: d.m}, Block: device.Dim{X: 256}}
	for round := range rounds + 3 {
		b.q.selectCandidates(each, selectCandidatesArgs{
			queries: device.Ptr(d.q), lists: d.l.table, mask: notDone, value: 0, by: by, most: 0, ceiling: flag(round >= rounds),
			candidate: device.Ptr(lead), selected: device.Ptr(led), room: most,
		})
		b.q.shareCandidates(oneBlock(), shareCandidatesArgs{selected: device.Ptr(led), m: uint32(d.m), want: 20, begins: device.Ptr(begins)})
		b.q.score(device.Shape{Grid: device.Dim{X: blocks(20+d.m, 4)}, Block: device.Dim{X: 128}}, scoreArgs{
			queries: device.Ptr(d.q), m: uint32(d.m), begins: device.Ptr(begins), candidate: device.Ptr(lead), selected: device.Ptr(led), room: most, rows: device.Ptr(d.rows), dim: s.dim,
			order: device.Ptr(d.order), scaled: device.Ptr(d.scaled), rowSquare: device.Ptr(d.norm), metric: int(looks.ScoringOf(s.metric)),
			scores: device.Ptr(scores), of: device.Ptr(of),
		})
		b.q.merge(each, mergeArgs{
			queries: device.Ptr(d.q), selected: device.Ptr(led), scores: device.Ptr(scores), of: device.Ptr(of), room: most, dim: s.dim,
			bestScore: device.Ptr(d.best), bestRow: device.Ptr(d.bestRow), bestRoom: tightenRoom,
		})
	}
	b.q.prune(each, pruneArgs{
		queries: device.Ptr(d.q), lists: d.l.table, mask: notDone, value: 0,
	})
	b.q.markFinished(device.Shape{Grid: device.Dim{X: 1}, Block: device.Dim{X: 256}}, markFinishedArgs{queries: device.Ptr(d.q), m: uint32(d.m), share: share, beyond: beyond})
	from(b, begins)
	from(b, lead)
	from(b, led)
	from(b, scores)
	from(b, of)
	return d.result()
}
