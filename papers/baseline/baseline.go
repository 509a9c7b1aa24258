package baseline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"thresher/papers"
)

// ErrSetting is wrapped by errors in a method's options. Errors in vectors, queries and k wrap those of package papers.
var ErrSetting = errors.New("setting out of range")

// Effort is work in the papers' count.
type Effort struct {
	Multiplications int64
	Comparisons     int64 // of numbers in the sorts and heaps that a method consists of
}

// Found is the answer to one query.
type Found struct {
	// IDs are the best of the candidates, at most k, and fewer if there were fewer; Scores their inner products in
	// float64, by score descending, then id ascending.
	IDs        []int
	Scores     []float64
	Candidates int // atoms whose score was computed
	Effort     Effort
}

// Searcher is a method at one setting. It may be used by several goroutines.
type Searcher interface {
	// Search returns the k best candidates of a query of as many coordinates as the vectors have; 1 <= k <= their number.
	Search(ctx context.Context, query []float32, k int) (Found, error)
	// Preprocessing is the work that this setting needs before its first query.
	Preprocessing() Effort
	// String is the setting, such as "a 3, b 10".
	String() string
}

// Vectors are n atoms of d coordinates.
type Vectors struct {
	rows     []float32
	n, d     int
	products products
}

// products makes all multiplications that are counted; a test puts one that counts in its place.
type products interface {
	dot(a, b []float32) float64                // len(a) multiplications
	times(a, b float32) float64                // one
	add(sum []float64, a float64, b []float32) // sum += a b, len(b) multiplications
}

// NewVectors wraps rows, n*d values row-major, which the caller keeps and must not change. It fails with papers.ErrNoArms or
// papers.ErrDim for a wrong shape, and with papers.ErrReward, row and column for a value that is NaN or infinite.
func NewVectors(rows []float32, n, d int) (*Vectors, error) {
	if _, err := papers.NewMatrix(rows, n, d); err != nil {
		return nil, err
	}
	return &Vectors{rows: rows, n: n, d: d, products: plain{}}, nil
}

func (v *Vectors) row(i int) []float32 { return v.rows[i*v.d : (i+1)*v.d] }

// check looks at a query and k.
func (v *Vectors) check(query []float32, k int) error {
	if len(query) != v.d {
		return fmt.Errorf("%w: query of %d, vectors of %d", papers.ErrDim, len(query), v.d)
	}
	for j, q := range query {
		if x := float64(q); math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%w: query coordinate %d is %v", papers.ErrReward, j, q)
		}
	}
	if k < 1 || k > v.n {
		return fmt.Errorf("%w: k = %d, need 1 to %d", papers.ErrK, k, v.n)
	}
	return nil
}

// score computes the scores of candidates, each once, and returns the k best. It adds d multiplications a candidate to effort.
func (v *Vectors) score(ctx context.Context, query []float32, k int, candidates []int32, effort Effort) (Found, error) {
	const between = 256 // candidates between two looks at the context
	out := Found{IDs: make([]int, 0, k+1), Scores: make([]float64, 0, k+1), Candidates: len(candidates)}
	for c, id := range candidates {
		if c%between == 0 && ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		out.offer(k, int(id), v.products.dot(v.row(int(id)), query))
	}
	effort.Multiplications += int64(len(candidates)) * int64(v.d)
	out.Effort = effort
	return out, nil
}

// offer puts an atom into its place among the k best so far.
func (f *Found) offer(k, id int, score float64) {
	at := len(f.IDs)
	for at > 0 && (score > f.Scores[at-1] || score == f.Scores[at-1] && id < f.IDs[at-1]) {
		at--
	}
	if at == k {
		return
	}
	f.IDs, f.Scores = append(f.IDs, 0), append(f.Scores, 0)
	copy(f.IDs[at+1:], f.IDs[at:])
	copy(f.Scores[at+1:], f.Scores[at:])
	f.IDs[at], f.Scores[at] = id, score
	if len(f.IDs) > k {
		f.IDs, f.Scores = f.IDs[:k], f.Scores[:k]
	}
}

// plain is products as Go has them, in float64: exact products of float32 numbers.
type plain struct{}

func (plain) dot(a, b []float32) float64 {
	var s0, s1, s2, s3 float64 // four sums, for an addition takes several cycles
	b = b[:len(a)]
	j := 0
	for ; j+4 <= len(a); j += 4 {
		s0 += float64(a[j]) * float64(b[j])
		s1 += float64(a[j+1]) * float64(b[j+1])
		s2 += float64(a[j+2]) * float64(b[j+2])
		s3 += float64(a[j+3]) * float64(b[j+3])
	}
	for ; j < len(a); j++ {
		s0 += float64(a[j]) * float64(b[j])
	}
	return (s0 + s1) + (s2 + s3)
}

func (plain) times(a, b float32) float64 { return float64(a) * float64(b) }

func (plain) add(sum []float64, a float64, b []float32) {
	sum = sum[:len(b)]
	for j, x := range b {
		sum[j] += a * float64(x)
	}
}

// each calls do for parts of [0, n) from so many goroutines, and returns when all have ended. A part that begins after the
// context has ended is not done, and its error is returned.
func each(ctx context.Context, threads, n, part int, do func(from, to int)) error {
	next := make(chan int)
	var group sync.WaitGroup
	for range max(1, threads) {
		group.Go(func() {
			for from := range next {
				if ctx.Err() == nil {
					do(from, min(n, from+part))
				}
			}
		})
	}
	for from := 0; from < n; from += part {
		next <- from
	}
	close(next)
	group.Wait()
	return ctx.Err()
}
