package baseline

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"thresher/internal/philox"
)

// LSH is LSH-MIPS as the BoundedME paper describes it: Bachrach's reduction (see reduced), hashed by the signs of Gaussian
// projections (Charikar, STOC 2002; for inner products Neyshabur and Srebro, "On symmetric and asymmetric LSHs for inner
// product search", ICML 2015). A hyper hash is the AND of a signs, an index the OR of b hyper hashes: the candidates of a
// query are the atoms that agree with it in all a signs of at least one of b tables.
//
// One index serves all settings up to those it was built for: the setting (a, b) takes the first a signs of the first b tables.
type LSH struct {
	atoms             reduced
	functions, tables int
	planes            []float32 // tables x functions x (d+1)
	// keys[t] are the signs of the atoms in table t, the first the most significant bit, in ascending order; ids[t] their atoms.
	keys [][]uint32
	ids  [][]int32
}

// LSHOptions are the greatest setting of an index.
type LSHOptions struct {
	Functions int // a, 1 to 32
	Tables    int // b, at least 1
	Seed      uint64
	Threads   int // goroutines while building; 0 is 1
}

// NewLSH builds an index: n d multiplications for the norms and n a b (d+1) for the hashes. Errors wrap ErrSetting or are
// the context's.
func NewLSH(ctx context.Context, vectors *Vectors, opt LSHOptions) (*LSH, error) {
	if opt.Functions < 1 || opt.Functions > 32 || opt.Tables < 1 {
		return nil, fmt.Errorf("%w: %d functions, %d tables; 1 to 32, and at least 1", ErrSetting, opt.Functions, opt.Tables)
	}
	l := &LSH{atoms: vectors.reduce(), functions: opt.Functions, tables: opt.Tables,
		keys: make([][]uint32, opt.Tables), ids: make([][]int32, opt.Tables)}
	width := vectors.d + 1
	l.planes = make([]float32, opt.Tables*opt.Functions*width)
	for t := range l.keys {
		r := rand.New(philox.New(opt.Seed, uint64(t)))
		for j := range opt.Functions * width {
			l.planes[t*opt.Functions*width+j] = float32(r.NormFloat64())
		}
		l.keys[t], l.ids[t] = make([]uint32, vectors.n), everyID(vectors.n)
	}
	const part = 16 // atoms that stay in a cache while all planes pass
	if err := each(ctx, opt.Threads, vectors.n, part, func(from, to int) {
		for t := range l.tables {
			for f := range l.functions {
				plane := l.plane(t, f)
				for i := from; i < to; i++ {
					l.keys[t][i] = l.keys[t][i]<<1 | sign(l.atoms.dot(i, plane))
				}
			}
		}
	}); err != nil {
		return nil, err
	}
	err := each(ctx, opt.Threads, l.tables, 1, func(t, _ int) {
		keys := l.keys[t]
		slices.SortFunc(l.ids[t], func(a, b int32) int {
			return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
		})
		sorted := make([]uint32, len(keys))
		for p, id := range l.ids[t] {
			sorted[p] = keys[id]
		}
		l.keys[t] = sorted
	})
	return l, err
}

func (l *LSH) plane(t, f int) []float32 {
	width := l.atoms.d + 1
	at := (t*l.functions + f) * width
	return l.planes[at : at+width]
}

func sign(x float64) uint32 {
	if x >= 0 {
		return 1
	}
	return 0
}

// At returns the searcher of a setting: a functions, 0 to those of the index, and b tables, 1 to those of the index. With
// a = 0 all atoms are candidates. It fails with ErrSetting.
func (l *LSH) At(a, b int) (Searcher, error) {
	if a < 0 || a > l.functions || b < 1 || b > l.tables {
		return nil, fmt.Errorf("%w: a = %d, b = %d; the index has up to %d and %d", ErrSetting, a, b, l.functions, l.tables)
	}
	return &lshSearcher{l, a, b}, nil
}

type lshSearcher struct {
	*LSH
	a, b int
}

func (s *lshSearcher) String() string { return fmt.Sprintf("a %d, b %d", s.a, s.b) }

func (s *lshSearcher) Preprocessing() Effort {
	n, d := int64(s.atoms.n), int64(s.atoms.d)
	return Effort{Multiplications: n*d + n*int64(s.a*s.b)*(d+1)}
}

// Search hashes the query, a b (d+1) multiplications, and scores the atoms that share a bucket with it.
func (s *lshSearcher) Search(ctx context.Context, query []float32, k int) (Found, error) {
	v := s.atoms.Vectors
	if err := v.check(query, k); err != nil {
		return Found{}, err
	}
	seen := make([]bool, v.n)
	var candidates []int32
	for t := range s.b {
		if ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		key := uint32(0)
		for f := range s.a {
			plane := s.plane(t, f)
			key = key<<1 | sign(v.products.dot(query, plane[:v.d])+v.products.times(0, plane[v.d]))
		}
		unused := s.functions - s.a
		at := func(prefix uint64) int { // of the first atom whose first a signs are at least prefix
			return sort.Search(v.n, func(p int) bool { return uint64(s.keys[t][p])>>unused >= prefix })
		}
		for _, id := range s.ids[t][at(uint64(key)):at(uint64(key)+1)] {
			if !seen[id] {
				seen[id] = true
				candidates = append(candidates, id)
			}
		}
	}
	return v.score(ctx, query, k, candidates, Effort{Multiplications: int64(s.a*s.b) * int64(v.d+1)})
}
