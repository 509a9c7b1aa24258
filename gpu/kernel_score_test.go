//go:build cuda && cgo

package gpu

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"thresher/backend/looks"
	"thresher/collection"
	"thresher/gpu/device"
)

// scoring is the input of score: rows, queries and candidates.
type scoring struct {
	metric     collection.Metric
	dim, n     int
	rows       []float32
	order      []uint32
	squares    []float64 // of the norms of rows
	scaled     []float64
	states     []query
	candidates [][]uint32
	room       int
	shares     int  // of the candidates, besides one for each query
	threads    int  // of a block
	unevenly   bool // rows and queries do not begin at multiples of 16 bytes
}

// randomScoring includes a row of zeros, and one row twice.
func randomScoring(r *rand.Rand, metric collection.Metric, dim, n int, leads []int) *scoring {
	s := &scoring{metric: metric, dim: dim, n: n, rows: make([]float32, n*dim), room: slices.Max(leads) + 3}
	for i := range s.rows {
		s.rows[i] = float32(r.NormFloat64())
	}
	clear(s.rows[:dim])
	copy(s.rows[2*dim:], s.rows[dim:2*dim])
	for i := range n {
		row := s.rows[i*dim : (i+1)*dim]
		s.squares = append(s.squares, canonical(dim, func(c int) float64 { return float64(row[c]) * float64(row[c]) }))
	}
	for _, i := range r.Perm(n) {
		s.order = append(s.order, uint32(i))
	}
	for j, lead := range leads {
		for range dim {
			s.scaled = append(s.scaled, float64(float32(r.NormFloat64()))) // products are exact
		}
		q := s.scaled[j*dim:]
		s.states = append(s.states, query{exp: int32(10*(j%3) - 9), unit: 1, square: canonical(dim, func(c int) float64 { return q[c] * q[c] })})
		var list []uint32
		for range lead {
			list = append(list, uint32(r.IntN(n)))
		}
		s.candidates = append(s.candidates, list)
	}
	s.shares, s.threads = 1, 128
	return s
}

// run scores the candidates and returns scores and row numbers, query by query.
func (s *scoring) run(b *preparer) (scores [][]float64, of [][]uint32) {
	b.Helper()
	m, off := len(s.candidates), flag(s.unevenly)
	lead, led := make([]uint32, m*s.room), make([]uint32, m)
	for j, l := range s.candidates {
		led[j] = uint32(copy(lead[j*s.room:], l))
	}
	q, dl, dn, order, norms := to(b, s.states), to(b, lead), to(b, led), to(b, s.order), to(b, s.squares)
	rows, scaled := to(b, append(make([]float32, off), s.rows...)), to(b, append(make([]float64, off), s.scaled...))
	ds, dr := room[float64](b, m*s.room), room[uint32](b, m*s.room)
	var byNorm device.Pointer[float64]
	if s.metric == collection.Cosine {
		byNorm = device.Ptr(norms)
	}
	begins := to(b, sharesOf(led, uint32(s.shares), 4))
	b.q.score(device.Shape{Grid: device.Dim{X: blocks(s.shares+m, s.threads/32)}, Block: device.Dim{X: s.threads}}, scoreArgs{
		queries: device.Ptr(q), m: uint32(m), begins: device.Ptr(begins), candidate: device.Ptr(dl), selected: device.Ptr(dn), room: uint32(s.room), rows: device.View[float32](rows, off),
		dim: s.dim, order: device.Ptr(order), scaled: device.View[float64](scaled, off), rowSquare: byNorm, metric: int(looks.ScoringOf(s.metric)), scores: device.Ptr(ds),
		of: device.Ptr(dr),
	})
	from(b, begins)
	from(b, q)
	from(b, dl)
	from(b, dn)
	from(b, order)
	from(b, norms)
	from(b, rows)
	from(b, scaled)
	all, numbers := from(b, ds), from(b, dr)
	for j, l := range s.candidates {
		scores, of = append(scores, all[j*s.room:][:len(l)]), append(of, numbers[j*s.room:][:len(l)])
	}
	return scores, of
}

// canonical is the canonical sum of n terms, as package simd defines it.
func canonical(n int, term func(c int) float64) float64 {
	lane := make([]float64, 32)
	for c := range n {
		lane[c%32] += term(c)
	}
	for ; len(lane) > 1; lane = lane[:len(lane)/2] {
		for l, v := range lane[len(lane)/2:] {
			lane[l] += v
		}
	}
	return lane[0]
}

// want returns a search score.
func (s *scoring) want(j int, row uint32) float64 {
	q, v := s.scaled[j*s.dim:], s.rows[int(row)*s.dim:]
	dot := canonical(s.dim, func(c int) float64 { return float64(v[c]) * q[c] })
	switch exp := int(s.states[j].exp); s.metric {
	case collection.Cosine:
		return math.Ldexp(collection.CosineOf(dot, s.squares[row], s.states[j].square), -exp)
	case collection.Euclidean:
		return 0 - math.Ldexp(canonical(s.dim, func(c int) float64 { return float64((q[c] - float64(v[c])) * (q[c] - float64(v[c]))) })/2, -exp)
	}
	return dot
}

// TestScores: scores are those of the metric in float64 with canonical sums, bit for bit.
func TestScores(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(6, 6))
		for _, dim := range []int{1, 3, 4, 100, 101, 127, 128, 132, 768, 1536, 2049} {
			for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
				s := randomScoring(r, metric, dim, 40, []int{0, 1, 2, 3, 4, 5, 16, 17, 100})
				if dim%2 == 1 {
					s.shares, s.threads = 30, 64
				}
				scores, of := s.run(b)
				for j := range s.candidates {
					for i, atom := range s.candidates[j] {
						row := s.order[atom]
						want := s.want(j, row)
						if got := scores[j][i]; of[j][i] != row || math.Float64bits(got) != math.Float64bits(want) {
							t.Fatalf("dimension %d, %v, query %d, candidate %d of %d: row %d scores %x, want row %d, %x", dim, metric, j, i, len(s.candidates[j]), of[j][i], got, row, want)
						}
					}
				}
			}
		}
	}, "score")
}

// TestScoresDependOnTheRowAlone: a row's score has the same bits at any position, in any company,
// for any number of threads, and where 16-byte loads are impossible.
func TestScoresDependOnTheRowAlone(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(7, 7))
		for _, dim := range []int{100, 768} {
			for _, metric := range []collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean} {
				s := randomScoring(r, metric, dim, 30, []int{60, 60})
				first, of := s.run(b)
				scoreOf := []map[uint32]float64{{}, {}}
				for j := range first {
					for i, row := range of[j] {
						if have, ok := scoreOf[j][row]; ok && have != first[j][i] {
							t.Fatalf("dimension %d, %v: row %d scores %g and %g", dim, metric, row, have, first[j][i])
						}
						scoreOf[j][row] = first[j][i]
					}
				}
				for _, split := range [][2]int{{1, 128}, {100, 32}, {5, 96}} {
					for _, unevenly := range []bool{false, true} {
						s.shares, s.threads, s.unevenly = split[0], split[1], unevenly
						for j := range s.candidates {
							r.Shuffle(len(s.candidates[j]), func(x, y int) { s.candidates[j][x], s.candidates[j][y] = s.candidates[j][y], s.candidates[j][x] })
						}
						scores, of := s.run(b)
						for j := range scores {
							for i, row := range of[j] {
								if scores[j][i] != scoreOf[j][row] {
									t.Fatalf("dimension %d, %v, %v shares and threads, unevenly %v: row %d scores %g, and %g elsewhere", dim, metric, split, unevenly, row, scores[j][i], scoreOf[j][row])
								}
							}
						}
					}
				}
			}
		}
	}, "score")
}

func compareScored(x, y scoredRow) int {
	return cmp.Or(cmp.Compare(y.score+0, x.score+0), cmp.Compare(x.row, y.row)) // -0 equals 0
}

// merging is the best of some queries, on the device and by the oracle.
type merging struct {
	b         *preparer
	dim, room int // room for the best
	states    []query
	q         *device.Buffer[query]
	scores    *device.Buffer[float64]
	rows      *device.Buffer[uint32]
	want      [][]scoredRow
}

func newMerging(b *preparer, states []query, bestRoom int) *merging {
	m := &merging{b: b, dim: 24, room: bestRoom, states: states, q: to(b, states), want: make([][]scoredRow, len(states))}
	m.scores, m.rows = room[float64](b, len(states)*bestRoom), room[uint32](b, len(states)*bestRoom)
	return m
}

func (m *merging) free() {
	from(m.b, m.q)
	from(m.b, m.scores)
	from(m.b, m.rows)
}

// merge merges the scored rows of each query, and compares.
func (m *merging) merge(name string, batch [][]scoredRow) {
	b := m.b
	b.Helper()
	space := 1
	for _, l := range batch {
		space = max(space, len(l))
	}
	led, scores, of := make([]uint32, len(batch)), make([]float64, len(batch)*space), make([]uint32, len(batch)*space)
	for j, l := range batch {
		led[j] = uint32(len(l))
		for i, x := range l {
			scores[j*space+i], of[j*space+i] = x.score, x.row
		}
		m.states[j], m.want[j] = m.take(m.states[j], m.want[j], l)
	}
	dn, ds, dr := to(b, led), to(b, scores), to(b, of)
	b.q.merge(device.Shape{Grid: device.Dim{X: len(batch)}, Block: device.Dim{X: 256}}, mergeArgs{
		queries: device.Ptr(m.q), selected: device.Ptr(dn), scores: device.Ptr(ds), of: device.Ptr(dr), room: uint32(space), dim: m.dim,
		bestScore: device.Ptr(m.scores), bestRow: device.Ptr(m.rows), bestRoom: uint32(m.room),
	})
	from(b, dn)
	from(b, ds)
	from(b, dr)
	states, best, rows := make([]query, len(batch)), make([]float64, len(batch)*m.room), make([]uint32, len(batch)*m.room)
	for _, err := range []error{m.q.Download(b.th, states, 0), m.scores.Download(b.th, best, 0), m.rows.Download(b.th, rows, 0)} {
		if err != nil {
			b.Fatal(err)
		}
	}
	for j, want := range m.want {
		if states[j] != m.states[j] {
			b.Fatalf("%s: query %d: state %+v, want %+v", name, j, states[j], m.states[j])
		}
		for i, w := range want {
			if got := (scoredRow{best[j*m.room+i], rows[j*m.room+i]}); got != w {
				b.Fatalf("%s: query %d: place %d of %d: %+v, want %+v", name, j, i, len(want), got, w)
			}
		}
	}
}

// take merges by sorting everything. Rows of a query without k are not merged.
func (m *merging) take(q query, best, more []scoredRow) (query, []scoredRow) {
	if q.k == 0 || len(more) == 0 {
		return q, best
	}
	q.rows += uint32(len(more))
	q.pulls += uint64(len(more) * m.dim)
	q.bytes += 4 * uint64(len(more)*m.dim)
	best = slices.Clone(best)
	for _, x := range more {
		if x.score >= q.floor && x.score <= q.ceiling {
			best = append(best, x)
		}
	}
	slices.SortFunc(best, compareScored)
	best = slices.CompactFunc(best, func(x, y scoredRow) bool { return compareScored(x, y) == 0 })
	best = best[:min(len(best), int(q.k))]
	q.best = uint32(len(best))
	if len(best) == int(q.k) {
		q.tau = max(q.tau, best[len(best)-1].score+q.epsilon)
	}
	return q, best
}

// TestMerge: the best are the best of all merged rows within floor and ceiling, in any batches, and the
// threshold is that of the last of them.
func TestMerge(t *testing.T) {
	onKernels(t, func(b *preparer) {
		for _, grain := range []float64{1e-9, .01, .2, 10} { // equal scores: none, some, many, all
			r := rand.New(rand.NewPCG(9, uint64(1e9*grain)))
			var states []query
			for j, k := range []uint32{1, 2, 10, 33, 100, 256, 257, 1024, 1500, 10000} {
				states = append(states, query{k: k, floor: []float64{math.Inf(-1), -.5, .2}[j%3], ceiling: []float64{math.Inf(1), 1, math.Inf(1), 0}[j%4], tau: []float64{math.Inf(-1), -.5, .2}[j%3], epsilon: []float64{0, .01}[j%2], rows: 3})
			}
			states = append(states, query{k: 5, floor: -.5, ceiling: math.Inf(1), tau: 2.5}) // a threshold from elsewhere
			m := newMerging(b, states, 10000)
			next := uint32(0)
			for round, size := range []int{1, 7, 0, 64, 300, 1023, 1024, 1025, 2500, 5000, 1, 12} {
				batch := make([][]scoredRow, len(states))
				for j := range batch {
					n := size
					if j%4 == 3 {
						n = r.IntN(size + 1)
					}
					for range n {
						next += uint32(1 + r.IntN(3))
						batch[j] = append(batch[j], scoredRow{math.Round(r.NormFloat64()/grain) * grain, next * 2654435761})
					}
				}
				m.merge(fmt.Sprintf("grain %g, round %d", grain, round), batch)
			}
			m.free()
		}
	}, "score")
}

// TestMergeTakesNoRowTwice: a row that is scored again, in the same batch or another, with equal
// scores around it, is kept once.
func TestMergeTakesNoRowTwice(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(10, 10))
		states := []query{{k: 10, floor: -9, tau: -9}, {k: 300, floor: -9, tau: -9}, {k: 2000, floor: -9, tau: -9}, {floor: 1, tau: 1}}
		for j := range states {
			states[j].ceiling = 9
		}
		m := newMerging(b, states, 2000)
		defer m.free()
		var all []scoredRow
		for i := range uint32(700) {
			all = append(all, scoredRow{float64(i % 5), i * 7919 % 1000003})
		}
		all = append(all, scoredRow{math.Copysign(0, -1), 999}, scoredRow{0, 998})
		for round := range 6 {
			batch := make([][]scoredRow, len(states))
			for j := range batch {
				for range 900 {
					batch[j] = append(batch[j], all[r.IntN(len(all))])
				}
			}
			m.merge(fmt.Sprintf("round %d", round), batch)
		}
	}, "score")
}

// TestMergeFillsItsRoom: a query that wants as many as there is room for does not touch the next
// one's best.
func TestMergeFillsItsRoom(t *testing.T) {
	onKernels(t, func(b *preparer) {
		r := rand.New(rand.NewPCG(11, 10))
		m := newMerging(b, slices.Repeat([]query{{k: 10, floor: -9, ceiling: 9, tau: -9}}, 5), 10)
		defer m.free()
		for round := range 4 {
			batch := make([][]scoredRow, len(m.states))
			for j := range batch {
				for range 25 {
					batch[j] = append(batch[j], scoredRow{r.NormFloat64(), r.Uint32()})
				}
			}
			m.merge(fmt.Sprintf("round %d", round), batch)
		}
	}, "score")
}
