package main

import (
	"math"
	"slices"

	"thresher/backend/looks"
	"thresher/collection"
)

// As in gpu/takelook.go and gpu/pull.go: the least first chunk, how many times the end of a chunk the
// next one's is, and how often a query's best candidates are scored after a chunk.
const (
	scanFirst, scanGrowth = 1024, 8
	scoringRounds         = 2
)

// A turn is the pairs that a warp tests at once: an iteration in which none passes is short.
const turnQueries = 8

// workload is a collection and its queries, prepared.
type workload struct {
	c          *collection.Collection
	vectors    []float32 // the queries as given
	queries    []collection.Query
	conversion []looks.Conversion
}

func newWorkload(c *collection.Collection, vectors []float32) *workload {
	w := &workload{c: c, vectors: vectors[:queryCount*c.Dim], queries: make([]collection.Query, queryCount)}
	scale := make([]float64, queryCount)
	for j := range scale {
		scale[j] = c.Metric.Factor(collection.Norm(w.vector(j)))
	}
	c.PrepareBatch(w.queries, w.vectors, scale, nil)
	for j := range w.queries {
		norm := c.WorkingNorm(w.vector(j)) * scale[j]
		w.conversion = append(w.conversion, looks.NewConversion(c, norm, w.queries[j].Exp))
	}
	return w
}

func (w *workload) vector(j int) []float32 { return w.vectors[j*w.c.Dim : (j+1)*w.c.Dim] }

// entry is an arm of a list: its place in the order of the scan, and its bound.
type entry struct {
	at    int
	bound float64
}

// A scanner tests pairs of atoms and queries.
type scanner interface {
	// scan calls list for the pairs of atoms at lo to hi-1 and all queries whose bound reaches the
	// query's threshold. lo is a multiple of a strip's atoms.
	scan(lo, hi int, tau []float64, list func(at, query int, bound float64))
	// turnAtoms is the number of atoms of a turn.
	turnAtoms() int
	// firstChunk is the least first chunk that the plan asks for.
	firstChunk() int
}

// tally is what a first look did: shares of all pairs in per cent, lists at its end by length, the
// share of the turns in which a pair passed, in per cent, and the mean number of pairs of a turn that pass in the
// same lane, at most, which a warp catches one after the other.
type tally struct {
	listed, left, turns, rounds float64
	median, most                int
}

// search takes a first look for the k best at the atoms in the given order.
func (w *workload) search(s scanner, order []uint32, k int) (f tally) {
	n := len(order)
	tau := make([]float64, queryCount)
	for j := range tau {
		tau[j] = math.Inf(-1)
	}
	lists, best := make([][]entry, queryCount), make([][]float64, queryCount)
	turns := make(map[[2]int]*[32]int)
	atoms := s.turnAtoms()
	busy, rounds, listed := 0, 0, 0
	for lo, end := 0, firstChunk(s.firstChunk()); lo < n; lo, end = min(n, end), end*scanGrowth {
		s.scan(lo, min(n, end), tau, func(at, j int, bound float64) {
			listed++
			lists[j] = append(lists[j], entry{at, bound})
			turn := [2]int{at / atoms, j / turnQueries}
			if turns[turn] == nil {
				turns[turn] = new([32]int)
			}
			turns[turn][at%8*4+j%turnQueries/2]++ // as the lanes have the sums of products (kernels/dev.cuh)
		})
		busy += len(turns)
		for _, lanes := range turns {
			rounds += slices.Max(lanes[:])
		}
		clear(turns)
		for j := range lists {
			lists[j], best[j], tau[j] = w.tighten(j, order, lists[j], best[j], tau[j], k)
		}
	}
	var lengths []int
	total := 0
	for _, l := range lists {
		lengths, total = append(lengths, len(l)), total+len(l)
	}
	slices.Sort(lengths)
	pairs := float64(n) * queryCount
	all := float64((n+atoms-1)/atoms) * (queryCount / turnQueries)
	return tally{100 * float64(listed) / pairs, 100 * float64(total) / pairs, 100 * float64(busy) / all, float64(rounds) / all,
		lengths[queryCount/2], lengths[queryCount-1]}
}

// firstChunk is gpu's function of this name.
func firstChunk(first int) int {
	return (max(scanFirst, first) + looks.StripAtoms - 1) / looks.StripAtoms * looks.StripAtoms
}

// tighten scores the k arms of greatest bound of query j's list, as often as a GPU does after a chunk,
// and drops the arms that cannot reach the threshold then. best are the greatest scores, the first the
// least once there are k.
func (w *workload) tighten(j int, order []uint32, list []entry, best []float64, tau float64, k int) ([]entry, []float64, float64) {
	q := &w.queries[j]
	for range scoringRounds {
		list = slices.DeleteFunc(list, func(e entry) bool { return e.bound < tau })
		slices.SortFunc(list, func(a, b entry) int {
			if a.bound != b.bound {
				if a.bound > b.bound {
					return -1
				}
				return 1
			}
			return a.at - b.at
		})
		rows := make([]uint32, min(k, len(list)))
		for i := range rows {
			rows[i] = w.c.Order[order[list[i].at]]
		}
		list = list[len(rows):]
		scores := make([]float64, len(rows))
		w.c.Scores(scores, w.vector(j), rows)
		best = append(best, scores...)
		slices.Sort(best)
		best = best[max(0, len(best)-k):]
		if len(best) == k {
			tau = max(tau, w.conversion[j].Threshold(math.Ldexp(best[0], -q.Exp)))
		}
	}
	return slices.DeleteFunc(list, func(e entry) bool { return e.bound < tau }), best, tau
}
