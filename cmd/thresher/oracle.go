package main

import (
	"context"
	"math"
	"sync"

	"thresher/collection"
)

// oracle scores atoms against queries in float64, sharing no code with the
// search that it checks. Products of float32 are exact in float64, and a sum of
// d of them is off by at most d 2^-53 |q||v|, far below the margin of 2^-22.
type oracle struct {
	rows    []float32
	n, dim  int
	metric  collection.Metric
	threads int
	norm    []float64 // |v| by row number
}

// tile is how many queries one pass over the atoms serves: enough independent
// sums to hide the latency of additions.
const tile = 4

func newOracle(rows []float32, dim int, metric collection.Metric, threads int) *oracle {
	o := &oracle{rows: rows, n: len(rows) / dim, dim: dim, metric: metric, threads: threads}
	o.norm = make([]float64, o.n)
	for i := range o.norm {
		o.norm[i] = norm(o.row(i))
	}
	return o
}

func (o *oracle) row(i int) []float32 { return o.rows[i*o.dim : (i+1)*o.dim] }

// norm needs no scaling: squares of float32 lie in 1e-90..1e77.
func norm(v []float32) float64 {
	var s float64
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return math.Sqrt(s)
}

// scored is what the oracle says of one query.
type scored struct {
	norm float64
	// search holds the score that the search maximises, by row number: q.v,
	// q.v/(|q||v|) or q.v - |v|^2/2.
	search []float64
}

// each calls visit with the scores of every query, from several goroutines at
// once; the scores are valid during the call.
func (o *oracle) each(ctx context.Context, queries []float32, visit func(j int, s scored)) error {
	m := len(queries) / o.dim
	tiles := make(chan int)
	var wg sync.WaitGroup
	for range max(1, min(o.threads, (m+tile-1)/tile)) {
		wg.Go(func() { o.work(queries, tiles, visit) })
	}
	var err error
	for first := 0; first < m && err == nil; first += tile {
		select {
		case tiles <- first:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	close(tiles)
	wg.Wait()
	return err
}

func (o *oracle) work(queries []float32, tiles <-chan int, visit func(int, scored)) {
	var q [tile][]float64
	var s [tile]scored
	for t := range q {
		q[t] = make([]float64, o.dim)
		s[t].search = make([]float64, o.n)
	}
	m := len(queries) / o.dim
	for first := range tiles {
		count := min(tile, m-first)
		for t := range q {
			// A short last tile repeats its first query.
			j := first
			if t < count {
				j += t
			}
			row := queries[j*o.dim : (j+1)*o.dim]
			for c, x := range row {
				q[t][c] = float64(x)
			}
			s[t].norm = norm(row)
		}
		for i := range o.n {
			dots := dot4(&q, o.row(i))
			for t := range dots {
				s[t].search[i] = o.toSearch(dots[t], s[t].norm, o.norm[i])
			}
		}
		for t := range count {
			visit(first+t, s[t])
		}
	}
}

func dot4(q *[tile][]float64, v []float32) [tile]float64 {
	q0, q1, q2, q3 := q[0][:len(v)], q[1][:len(v)], q[2][:len(v)], q[3][:len(v)]
	var s0, s1, s2, s3 float64
	for c, x := range v {
		y := float64(x)
		s0 += q0[c] * y
		s1 += q1[c] * y
		s2 += q2[c] * y
		s3 += q3[c] * y
	}
	return [tile]float64{s0, s1, s2, s3}
}

func (o *oracle) toSearch(dot, nq, nv float64) float64 {
	switch o.metric {
	case collection.Cosine:
		if nq == 0 || nv == 0 {
			return 0
		}
		return dot / (nq * nv)
	case collection.Euclidean:
		return dot - nv*nv/2
	}
	return dot
}

// margin is the gap that rounding excuses between two atoms' search scores:
// 2^-22 |q| max(|v|, |w|), in which cosine's vectors have length 1. The float64 sums
// of |v|^2/2, here and in the search, take (d+8) 2^-52 max(|v|, |w|)^2 more.
func (o *oracle) margin(nq float64, i, j int) float64 {
	const ulp = 1.0 / (1 << 22)
	most := max(o.norm[i], o.norm[j])
	switch o.metric {
	case collection.Cosine:
		return ulp
	case collection.Euclidean:
		return ulp*nq*most + float64(o.dim+8)*0x1p-52*most*most
	}
	return ulp * nq * most
}

// reported is the score that an answer must state for atom i, and by how much
// it may be off: float32 rounding, and the sum's own where terms cancel.
func (o *oracle) reported(q []float32, s scored, i int) (score, off float64) {
	if o.metric != collection.Euclidean {
		return s.search[i], o.margin(s.norm, i, i) + math.Abs(s.search[i])/(1<<23)
	}
	for c, x := range o.row(i) {
		d := float64(q[c]) - float64(x)
		score += d * d
	}
	return score, score/(1<<22) + math.SmallestNonzeroFloat32
}

// ranking finds the k best of scores: descending, ties by ascending row. skip
// is a row that does not count, or -1. The result lies in buf's memory when
// that is large enough.
func ranking(scores []float64, k int, skip int64, buf []int) []int {
	heap := buf[:0] // the worst of the best on top
	worse := func(a, b int) bool {
		return scores[a] < scores[b] || scores[a] == scores[b] && a > b
	}
	down := func(at, size int) {
		for {
			child := 2*at + 1
			if child >= size {
				return
			}
			if child+1 < size && worse(heap[child+1], heap[child]) {
				child++
			}
			if !worse(heap[child], heap[at]) {
				return
			}
			heap[at], heap[child] = heap[child], heap[at]
			at = child
		}
	}
	for i := range scores {
		if int64(i) == skip {
			continue
		}
		if len(heap) < k {
			heap = append(heap, i)
			for at := len(heap) - 1; at > 0 && worse(heap[at], heap[(at-1)/2]); at = (at - 1) / 2 {
				heap[at], heap[(at-1)/2] = heap[(at-1)/2], heap[at]
			}
			continue
		}
		if worse(heap[0], i) {
			heap[0] = i
			down(0, k)
		}
	}
	for size := len(heap) - 1; size > 0; size-- {
		heap[0], heap[size] = heap[size], heap[0]
		down(0, size)
	}
	return heap
}
