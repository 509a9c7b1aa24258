package cpu

import (
	"context"
	"fmt"
	"math"

	"thresher/backend"
	"thresher/collection"
	"thresher/cpu/simd"
)

// denseTile is how many rows a goroutine takes at a time in the dense path.
const denseTile = 256

// Dense scores all allowed atoms for these queries: float32 products decide
// what cannot be among the best, with their derived error; the rest is scored
// in float64.
func (x *run) Dense(ctx context.Context, queries ...int) error {
	if x.closed {
		return backend.ErrClosed
	}
	for _, j := range queries {
		if j < 0 || j >= len(x.states) {
			return fmt.Errorf("query %d of %d", j, len(x.states))
		}
	}
	// groups of four share the rows they read; few groups are split by rows
	groups := (len(queries) + 3) / 4
	parts := 1
	if groups < 2*x.r.threads {
		parts = min((2*x.r.threads+groups-1)/groups, (x.c.N+denseTile-1)/denseTile)
	}
	workers := make([]denseWork, groups*parts)
	err := x.r.each(ctx, len(workers), func(w *scratch, t int) error {
		g, p := t/parts, t%parts
		js := queries[4*g : min(4*g+4, len(queries))]
		return workers[t].run(ctx, x, js, x.c.N*p/parts, x.c.N*(p+1)/parts)
	})
	for k, j := range queries {
		x.states[j].settleDense(workers[k/4*parts:][:parts], k%4)
	}
	return err
}

// settleDense takes what the parts of a dense scan found for the query in
// place k of its group. If ctx ended one of them, it is kept for a partial
// answer.
func (s *state) settleDense(parts []denseWork, k int) {
	done, read := true, 0
	for p := range parts {
		done = done && parts[p].done
		read += parts[p].rows[k]
	}
	s.readRows(read)
	if !done {
		if s.owed > 0 {
			s.owed += read // none of these counts as a listed arm scored
		}
		for p := range parts {
			s.spare = append(s.spare, parts[p].best[k].heap...)
		}
		return
	}
	s.best.heap = s.best.heap[:0]
	for p := range parts {
		for _, a := range parts[p].best[k].heap {
			s.take(a)
		}
	}
	s.dense, s.listed, s.list, s.slab, s.random, s.owed = true, true, nil, nil, false, 0
}

// denseWork is the dense scan of up to four queries over a stretch of rows.
type denseWork struct {
	best [4]top
	tau  [4]float64
	rows [4]int // scored
	done bool
}

func (d *denseWork) run(ctx context.Context, x *run, js []int, lo, hi int) error {
	c := x.c
	var q [4][]float32
	var margin [4]float64
	all := make([]float32, 4*c.Dim)
	for k := range q {
		q[k] = all[k*c.Dim : (k+1)*c.Dim]
		if k >= len(js) {
			continue
		}
		s := &x.states[js[k]]
		for j, v := range s.q {
			q[k][j] = float32(v)
		}
		// sums of at most DenseBlock float32 products, rounded queries
		margin[k] = (simd.DenseBlock + 4) * unit * math.Sqrt(simd.SumSquares(q[k])) * up
		d.best[k].k, d.tau[k] = s.goal.K, s.floor
	}
	for i := lo; i < hi; i += 2 {
		if (i-lo)%denseTile == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		// in the collection's order, so that the greatest norms come first
		a, b := c.Order[i], c.Order[i]
		if i+1 < hi {
			b = c.Order[i+1]
		}
		var sums [8]float64
		ra, rb := c.Row(int(a)), c.Row(int(b))
		for from := 0; from < c.Dim; from += simd.DenseBlock {
			to := min(from+simd.DenseBlock, c.Dim)
			simd.Dense4x2(ra[from:to], rb[from:to], q[0][from:to], q[1][from:to], q[2][from:to], q[3][from:to], &sums)
		}
		for k := range js {
			s := &x.states[js[k]]
			d.offer(s, k, i, sums[k], margin[k])
			if i+1 < hi {
				d.offer(s, k, i+1, sums[4+k], margin[k])
			}
		}
	}
	d.done = true
	return nil
}

// offer scores atom i exactly unless its float32 product cannot reach the
// query's threshold here.
func (d *denseWork) offer(s *state, k, i int, dot, margin float64) {
	if !s.allows(i) {
		return
	}
	d.rows[k]++
	c := s.c
	row := int(c.Order[i])
	// denormal products lose up to half a step of the least float32 each
	bound := dot + float64(c.Dim)*math.SmallestNonzeroFloat32
	size := float64(c.Norm[i])
	switch c.Metric {
	case collection.Cosine:
		n := c.RowNorm[row]
		if n == 0 {
			bound, size = 0, 0
			break
		}
		bound /= n
	case collection.Euclidean:
		bound += s.offset(i) + slop*math.Abs(s.offset(i))
	}
	if bound+margin*size < d.tau[k] {
		return
	}
	x := scored{s.exact(row), uint32(row)}
	if x.score < s.floor {
		return
	}
	d.best[k].push(x)
	if d.best[k].full() {
		d.tau[k] = max(d.tau[k], d.best[k].heap[0].score)
	}
}
