package topk

import (
	"math"
	"slices"
)

// buckets are the structure of a top of many atoms. The entries are divided by score into
// buckets of equal width, and those of the lowest bucket that is not empty are ordered, so that
// the worst of all is known. A push changes one bucket, while a heap of all entries would move the
// logarithm of their number, each of them in another line of the cache.
type buckets struct {
	// An entry of score x is in bucket scale*(x-base), at least 0 and below len(first). Greater
	// scores are in the last bucket.
	base, scale float64
	first       []int32 // by bucket: an entry, the first of a list, or -1
	next        []int32 // by entry: the next in its bucket, or -1
	low         int     // the lowest bucket that is not empty; its entries are in edge
	edge        []int32 // best first, or a heap with the worst at its root
	heaped      bool    // the edge is a heap
	pushed      int     // entries replaced since the buckets were made
}

const (
	// perBucket is the mean number of entries in a bucket.
	perBucket = 8
	// maxSorted is the greatest number of entries of an edge that is sorted. It never grows.
	maxSorted = 4 * perBucket
	// sampled is the number of entries of which all but one in sixteen are below the last
	// bucket, so that a few far scores do not widen the others.
	sampled = 64
)

// replaceWorst replaces the worst entry by x, which ranks before it, and returns the one that is
// the worst then.
func (b *buckets) replaceWorst(entries []Scored, x Scored) Scored {
	b.pushed++
	i, at := b.dropWorst(entries), b.bucket(x.Score)
	entries[i] = x
	if at <= b.low {
		b.addToEdge(entries, i)
	} else {
		b.next[i], b.first[at] = b.first[at], i
	}
	if len(b.edge) == 0 {
		b.raise(entries)
	}
	return entries[b.edge[b.root()]]
}

// root is where the worst entry is in the edge.
func (b *buckets) root() int {
	if b.heaped {
		return 0
	}
	return len(b.edge) - 1
}

// dropWorst removes the worst entry from the edge and returns it.
func (b *buckets) dropWorst(entries []Scored) int32 {
	last := len(b.edge) - 1
	i := b.edge[b.root()]
	if b.heaped {
		b.edge[0] = b.edge[last]
	}
	b.edge = b.edge[:last]
	if b.heaped {
		b.sink(entries, 0)
	}
	return i
}

// addToEdge adds entry i to the edge, from which another was removed before.
func (b *buckets) addToEdge(entries []Scored, i int32) {
	b.edge = append(b.edge, i)
	at := len(b.edge) - 1
	if !b.heaped {
		for ; at > 0 && ranksBefore(entries[b.edge[at]], entries[b.edge[at-1]]); at-- {
			b.edge[at], b.edge[at-1] = b.edge[at-1], b.edge[at]
		}
		return
	}
	for p := (at - 1) / 2; at > 0 && ranksBefore(entries[b.edge[p]], entries[b.edge[at]]); p = (at - 1) / 2 {
		b.edge[at], b.edge[p] = b.edge[p], b.edge[at]
		at = p
	}
}

// divide makes buckets of all entries, which are more than 2 perBucket.
func (b *buckets) divide(entries []Scored) {
	b.measure(entries)
	b.first, b.next = Grow(b.first, len(entries)/perBucket), Grow(b.next, len(entries))
	for i := range b.first {
		b.first[i] = -1
	}
	for i := range entries {
		at := b.bucket(entries[i].Score)
		b.next[i], b.first[at] = b.first[at], int32(i)
	}
	b.pushed, b.low, b.edge = 0, -1, b.edge[:0]
	b.raise(entries)
}

// measure sets the bounds of the buckets: from the least score to one that a sixteenth of the
// entries exceed.
func (b *buckets) measure(entries []Scored) {
	var sample [sampled]float64
	for i := range sample {
		sample[i] = entries[i*len(entries)/sampled].Score
	}
	slices.Sort(sample[:])
	least := math.Inf(1)
	for i := range entries {
		if x := entries[i].Score; x < least {
			least = x
		}
	}
	b.base, b.scale = least, float64(len(entries)/perBucket-1)/(sample[sampled-sampled/16]-least)
	if !(b.scale > 0 && b.scale <= math.MaxFloat64) { // scores that are equal, or infinite
		b.scale = 0
	}
}

// bucket returns the bucket of a score. It never falls as the score rises.
func (b *buckets) bucket(score float64) int {
	x, last := (score-b.base)*b.scale, len(b.first)-1
	if x < float64(last) {
		return max(0, int(x))
	}
	if b.scale > 0 && x >= float64(last) {
		return last
	}
	return 0 // all are in one bucket, or the score is the base, which is infinite
}

// raise makes the lowest bucket that is not empty the edge. If that holds a large part of the
// entries after many were replaced, it divides them anew.
func (b *buckets) raise(entries []Scored) {
	for b.low++; b.first[b.low] < 0; b.low++ {
	}
	for i := b.first[b.low]; i >= 0; i = b.next[i] {
		b.edge = append(b.edge, i)
	}
	b.heaped = len(b.edge) > maxSorted
	if b.heaped && b.pushed > len(entries)/4 {
		b.divide(entries)
		return
	}
	if b.heaped {
		for i := len(b.edge)/2 - 1; i >= 0; i-- {
			b.sink(entries, i)
		}
		return
	}
	for n, i := range b.edge {
		b.edge = b.edge[:n]
		b.addToEdge(entries, i)
	}
}

// sink restores the heap of the edge below i, whose entry may rank before others there.
func (b *buckets) sink(entries []Scored, i int) {
	h := b.edge
	for {
		c := 2*i + 1
		if c >= len(h) {
			return
		}
		if c+1 < len(h) && ranksBefore(entries[h[c]], entries[h[c+1]]) {
			c++
		}
		if !ranksBefore(entries[h[i]], entries[h[c]]) {
			return
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
}
