package corpus

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// spread is the number of coordinates that a term is hashed to. With one, a collision of
	// two heavy terms would make two short texts look alike.
	spread = 4
	// companyShare is the length of the part that company adds to a text's own terms, which
	// have length 1.
	companyShare = .5
	// minTexts is the least number of texts with a word that has company.
	minTexts = 3
)

// Weigher turns texts into vectors of hashed term weights.
//
// A term's weight is (1 + log count) log((N+1)/(texts with it + 1)); it is added to a few
// coordinates with signs, both given by its hash, and the sum is scaled to length 1. A share
// of the company of the text's words is added: for each word the direction of the sum of all
// texts that contain it (random indexing: Kanerva et al., "Random indexing of text samples
// for latent semantic analysis", 2000), so that texts with related words, not only equal
// ones, are alike. The result is scaled to length 1.
type Weigher struct {
	dim     int
	texts   int
	inText  map[uint64]int32 // number of texts with a term
	slot    map[uint64]int32 // of a word's company
	company []float32        // [len(slot)][dim]
}

// Vectorize returns the vectors of the entries of c, [len(c.Entries)][dim] row-major, with
// the Weigher for queries. dim is a power of two, at least 16. The result does not depend on
// the number of threads (0 means GOMAXPROCS).
func Vectorize(ctx context.Context, c *Corpus, dim, threads int) ([]float32, *Weigher, error) {
	if dim < 16 || dim&(dim-1) != 0 {
		return nil, nil, fmt.Errorf("dimension %d is no power of two of at least 16", dim)
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	n := len(c.Entries)
	terms := make([][]term, n)
	parallel(ctx, n, threads, func(i int) { terms[i] = entryTerms(c.Entries[i]) })
	w := &Weigher{dim: dim, texts: n, inText: make(map[uint64]int32), slot: make(map[uint64]int32)}
	for _, ts := range terms {
		for _, t := range ts {
			w.inText[t.hash]++
		}
	}
	own := make([]sparse, n)
	parallel(ctx, n, threads, func(i int) { own[i] = w.hashed(terms[i]) })
	w.meet(ctx, terms, own, threads)
	rows := make([]float32, n*dim)
	parallel(ctx, n, threads, func(i int) { w.join(rows[i*dim:(i+1)*dim], own[i], terms[i]) })
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return rows, w, nil
}

// parallel calls do for 0..n-1 from threads goroutines and waits for them. It stops early
// when ctx ends.
func parallel(ctx context.Context, n, threads int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(threads, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wg.Wait()
}

// Query returns the vector of a text; all zeros if none of its words is known.
func (w *Weigher) Query(text string) []float32 {
	var b bag
	b.add(text)
	terms := slices.DeleteFunc(b.fold(), func(t term) bool { return w.inText[t.hash] == 0 })
	v := make([]float32, w.dim)
	w.join(v, w.hashed(terms), terms)
	return v
}

func (w *Weigher) weight(t term) float64 {
	x := (1 + math.Log(t.count)) * math.Log(float64(w.texts+1)/float64(w.inText[t.hash]+1))
	if t.pair {
		return pairShare * x
	}
	return x
}

// coordinate is one entry of a sparse vector.
type coordinate struct {
	place int32
	value float64
}

// sparse is a vector of length 1, or empty.
type sparse []coordinate

// hashed returns the vector of the terms without company.
func (w *Weigher) hashed(terms []term) sparse {
	all := make(sparse, 0, spread*len(terms))
	for _, t := range terms {
		value, h := w.weight(t), t.hash
		for range spread {
			signed := value
			if h>>63 == 1 {
				signed = -value
			}
			all = append(all, coordinate{int32(h & uint64(w.dim-1)), signed})
			h = mix(h + t.hash)
		}
	}
	// Sorted by value as well, so that the sum does not depend on the order of the terms.
	slices.SortFunc(all, func(a, b coordinate) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.value, b.value))
	})
	out := all[:0]
	for _, c := range all {
		if n := len(out); n > 0 && out[n-1].place == c.place {
			out[n-1].value += c.value
			continue
		}
		out = append(out, c)
	}
	var square float64
	for _, c := range out {
		square += c.value * c.value
	}
	if square == 0 {
		return nil
	}
	for i := range out {
		out[i].value /= math.Sqrt(square)
	}
	return out
}

// meet computes the company of every word that occurs often enough.
func (w *Weigher) meet(ctx context.Context, terms [][]term, own []sparse, threads int) {
	var texts [][]int32 // by slot
	for i, ts := range terms {
		for _, t := range ts {
			if t.pair || w.inText[t.hash] < minTexts {
				continue
			}
			s, ok := w.slot[t.hash]
			if !ok {
				s = int32(len(texts))
				w.slot[t.hash] = s
				texts = append(texts, nil)
			}
			texts[s] = append(texts[s], int32(i))
		}
	}
	w.company = make([]float32, len(texts)*w.dim)
	parallel(ctx, len(texts), threads, func(s int) {
		v := w.company[s*w.dim : (s+1)*w.dim]
		for _, i := range texts[s] {
			for _, c := range own[i] {
				v[c.place] += float32(c.value)
			}
		}
		normalize(v)
	})
}

// join writes the vector of a text to v, which is zero: its own terms and the company of its
// words.
func (w *Weigher) join(v []float32, own sparse, terms []term) {
	for _, c := range own {
		v[c.place] = float32(c.value)
	}
	var square float64
	for _, t := range terms {
		if !t.pair {
			square += w.weight(t) * w.weight(t)
		}
	}
	for _, t := range terms {
		s, ok := w.slot[t.hash]
		if !ok {
			continue
		}
		share := float32(companyShare * w.weight(t) / math.Sqrt(square))
		for j, x := range w.company[int(s)*w.dim : (int(s)+1)*w.dim] {
			v[j] += share * x
		}
	}
	normalize(v)
}

// normalize scales v to length 1; a zero vector is unchanged.
func normalize(v []float32) {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return
	}
	scale := float32(1 / math.Sqrt(square))
	for j := range v {
		v[j] *= scale
	}
}
