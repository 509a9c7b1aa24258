package join

import (
	"context"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"thresher/collection"
	"thresher/simd"
)

const (
	// clusterAtoms is how many atoms a cluster has on average, maxClusters how many there are at
	// most, and probes in how many clusters, its own first, an atom's neighbours are guessed.
	clusterAtoms, maxClusters, probes = 256, 4096, 24
	// clusterSample is how many atoms for each cluster the centres are fitted to, in clusterRounds.
	clusterSample, clusterRounds = 24, 4
	// panel is the width of the packed points of simd's Gemm.
	panel = 64
)

// neighbourhoods guesses which atoms are near each other: by the distances of their heads, the
// leading principal coordinates, within clusters of heads that are near each other. Guesses make
// thresholds, and so cost or save work but change no answer.
type neighbourhoods struct {
	c       *collection.Collection
	kern    simd.Kernels
	threads int
	r       int       // coordinates of a head
	heads   []float32 // [n][r], internal order
	half    []float32 // |head|^2/2 of each

	centres []float32 // [clusters][r]
	members [][]uint32
}

// newNeighbourhoods clusters the atoms of c, which must have heads.
func newNeighbourhoods(ctx context.Context, c *collection.Collection, threads int) (*neighbourhoods, error) {
	b := &neighbourhoods{c: c, kern: simd.Best(), threads: threads, r: c.R, heads: make([]float32, c.N*c.R), half: make([]float32, c.N)}
	for i := range c.N {
		head, step := b.head(uint32(i)), c.HeadScale[i]
		for j, code := range c.Code(i)[:c.R] {
			head[j] = step * float32(int(code)-simd.Bias)
		}
		b.half[i] = half(head)
	}
	b.fitCentres(ctx)
	of := make([]uint32, c.N)
	err := b.each(ctx, c.N, 1024, func(lo, hi int) {
		b.nearest(ctx, of[lo:hi], b.heads[lo*b.r:hi*b.r])
	})
	if err != nil {
		return nil, err
	}
	b.members = make([][]uint32, len(b.centres)/b.r)
	for i, cluster := range of {
		b.members[cluster] = append(b.members[cluster], uint32(i))
	}
	return b, nil
}

func (b *neighbourhoods) head(i uint32) []float32 { return b.heads[int(i)*b.r : (int(i)+1)*b.r] }

func half(x []float32) float32 {
	var s float32
	for _, v := range x {
		s += v * v
	}
	return s / 2
}

// each calls do for ranges of n items on all threads, until ctx ends.
func (b *neighbourhoods) each(ctx context.Context, n, size int, do func(lo, hi int)) error {
	var g errgroup.Group
	g.SetLimit(max(1, b.threads))
	for lo := 0; lo < n && ctx.Err() == nil; lo += size {
		g.Go(func() error {
			do(lo, min(lo+size, n))
			return nil
		})
	}
	g.Wait() // always nil
	return ctx.Err()
}

// fitCentres fits the centres of the clusters to a sample of the atoms: k-means, until ctx ends.
func (b *neighbourhoods) fitCentres(ctx context.Context) {
	n := min(maxClusters, max(1, b.c.N/clusterAtoms))
	r := rand.New(rand.NewPCG(b.c.Seed, 0x6772617068)) // "graph"
	sample := r.Perm(b.c.N)[:min(b.c.N, clusterSample*n)]
	points := make([]float32, 0, len(sample)*b.r)
	for _, i := range sample {
		points = append(points, b.head(uint32(i))...)
	}
	b.centres = slices.Clone(points[:n*b.r])
	of := make([]uint32, len(sample))
	for range clusterRounds {
		if b.nearest(ctx, of, points); ctx.Err() != nil {
			return
		}
		sums, counts := make([]float32, len(b.centres)), make([]float32, n)
		for i, cluster := range of {
			counts[cluster]++
			for j, v := range points[i*b.r : (i+1)*b.r] {
				sums[int(cluster)*b.r+j] += v
			}
		}
		for i, v := range sums {
			if m := counts[i/b.r]; m > 0 { // an empty cluster keeps its centre
				b.centres[i] = v / m
			}
		}
	}
}

// maxUnchecked is how many pairs of points are compared at most between two checks of the context.
const maxUnchecked = 4096 * 64

// nearest sets of to the clusters whose centres are nearest to points. If ctx ends, some are not set.
func (b *neighbourhoods) nearest(ctx context.Context, of []uint32, points []float32) {
	n := len(b.centres) / b.r
	packed, halves := b.pack(nil, n, func(i int) ([]float32, float32) { c := b.centres[i*b.r : (i+1)*b.r]; return c, half(c) })
	const rows = maxUnchecked / maxClusters
	out := make([]float32, rows*len(halves))
	for lo := 0; lo < len(of) && ctx.Err() == nil; lo += rows {
		m := min(rows, len(of)-lo)
		b.multiply(out, points[lo*b.r:], m, packed, len(halves))
		for i := range m {
			best, at := out[i*len(halves)]-halves[0], 0
			for j, v := range out[i*len(halves)+1:][:n-1] {
				if v -= halves[j+1]; v > best {
					best, at = v, j+1
				}
			}
			of[lo+i] = uint32(at)
		}
	}
}

// pack packs n points for multiply, with their halved squares, padded to whole panels. It reuses
// the memory of packed.
func (b *neighbourhoods) pack(packed []float32, n int, point func(i int) ([]float32, float32)) ([]float32, []float32) {
	padded := (n + panel - 1) / panel * panel
	packed = slices.Grow(packed[:0], padded*b.r)[:padded*b.r]
	halves := make([]float32, padded)
	rows := make([]float32, panel*b.r)
	for lo := 0; lo < n; lo += panel {
		m := min(panel, n-lo)
		for i := range m {
			x, h := point(lo + i)
			copy(rows[i*b.r:], x)
			halves[lo+i] = h
		}
		b.kern.Pack(packed[lo*b.r:], rows, b.r, m, b.r, panel)
	}
	return packed, halves
}

// multiply sets out[i*n+j] to the product of row i of m and packed point j of n.
func (b *neighbourhoods) multiply(out, rows []float32, m int, packed []float32, n int) {
	for j := 0; j < n; j += panel {
		b.kern.Gemm(out[j:], n, rows, b.r, m, packed[j*b.r:], b.r, panel, false)
	}
}

// guess calls do with each atom, by internal index, and the most atoms, by row number, that are
// probably its nearest, from several goroutines.
func (b *neighbourhoods) guess(ctx context.Context, most int, do func(i uint32, rows []uint32)) error {
	return b.each(ctx, len(b.members), 1, func(cluster, _ int) { b.guessCluster(ctx, cluster, most, do) })
}

// guessCluster guesses for the atoms of one cluster, until ctx ends.
func (b *neighbourhoods) guessCluster(ctx context.Context, cluster, most int, do func(i uint32, rows []uint32)) {
	members := b.members[cluster]
	if len(members) == 0 {
		return
	}
	var near []uint32
	for _, other := range b.nearCentres(cluster) {
		near = append(near, b.members[other]...)
	}
	packed, halves := b.pack(nil, len(near), func(i int) ([]float32, float32) { return b.head(near[i]), b.half[near[i]] })
	if b.c.Metric == collection.InnerProduct {
		clear(halves)
	}
	rows := max(1, min(64, maxUnchecked/len(halves)))
	queries, out := make([]float32, rows*b.r), make([]float32, rows*len(halves))
	var best guesses
	for lo := 0; lo < len(members) && ctx.Err() == nil; lo += rows {
		m := min(rows, len(members)-lo)
		for i, member := range members[lo : lo+m] {
			copy(queries[i*b.r:], b.head(member))
		}
		b.multiply(out, queries, m, packed, len(halves))
		for i, member := range members[lo : lo+m] {
			best.reset(most)
			for j, v := range out[i*len(halves):][:len(near)] {
				if v -= halves[j]; v > best.least && near[j] != member {
					best.add(v, near[j])
				}
			}
			do(member, best.rows(b.c.Order))
		}
	}
}

// nearCentres returns the clusters whose centres are nearest to that of cluster, itself first.
func (b *neighbourhoods) nearCentres(cluster int) []int {
	centre := b.centres[cluster*b.r : (cluster+1)*b.r]
	n := len(b.members)
	distances, order := make([]float32, n), make([]int, n)
	for i := range n {
		order[i] = i
		for j, v := range b.centres[i*b.r : (i+1)*b.r] {
			distances[i] += (v - centre[j]) * (v - centre[j])
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		switch {
		case distances[x] < distances[y]:
			return -1
		case distances[x] > distances[y]:
			return 1
		}
		return x - y
	})
	return order[:min(probes, n)]
}
