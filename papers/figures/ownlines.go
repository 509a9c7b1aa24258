package figures

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
)

// The names of thresher's own lines, as Row.Algorithm has them.
const (
	OwnExact    = "thresher exact"
	OwnCertain  = "thresher certain"
	OwnStrict   = "thresher strict"
	OwnAdaptive = "thresher adaptive"
)

// ownMethods are thresher's own lines.
func ownMethods() []string { return []string{OwnExact, OwnCertain, OwnStrict, OwnAdaptive} }

// ownRows searches n vectors of d coordinates (row-major, kept, not changed) by thresher's exact, certain, strict and adaptive for
// the k largest inner products with each of m queries, and returns a row for each method: coordinates read of a query as
// Multiplications, with their standard deviation over the queries; the time of a query as Wall, and that of what is made of
// the vectors before the first query as BuildWall; the share of the k best found as Precision. Strict and adaptive have the
// failure probability delta. Point, Panel, Data, X, Y and Draw are the caller's.
//
// Queries are searched one after another by one goroutine, as the papers' methods are; a batch of them would take less time
// each. The multiplications of a query's rotation, below 32 d + d log2 d, and those of building are not counted: Wall and BuildWall
// have them. Rows of less than collection.MinRotated coordinates have no adaptive row.
func ownRows(ctx context.Context, e *Env, vectors []float32, n, d int, queries []float32, m, k int, delta float64) ([]Row, error) {
	if len(vectors) != n*d || len(queries) != m*d || k < 1 || k > n || m < 1 {
		return nil, fmt.Errorf("%d vectors of %d coordinates in %d values, %d queries in %d values, k = %d", n, d, len(vectors), m, len(queries), k)
	}
	truths := make([]float64, m)
	for i := range m {
		scores, err := trueScores(ctx, vectors, d, queries[i*d:(i+1)*d])
		if err != nil {
			return nil, err
		}
		slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
		truths[i] = scores[k-1]
	}
	var rows []Row
	for _, c := range ownCollections(d) {
		found, err := ownBy(ctx, e, c, vectors, d, queries, truths, k, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// ownCollection is how vectors are stored for some methods.
type ownCollection struct {
	options collection.Options
	methods []batch.Method
}

// ownCollections are those of vectors of d coordinates: without codes, as exact needs; in their own coordinates, as strict does,
// which the papers' methods have too; and rotated and coded.
func ownCollections(d int) []ownCollection {
	coded := []batch.Method{batch.Certain}
	if d >= collection.MinRotated {
		coded = append(coded, batch.Adaptive)
	}
	return []ownCollection{
		{collection.Options{NoCodes: true}, []batch.Method{batch.Exact}},
		{collection.Options{Basis: collection.Raw}, []batch.Method{batch.Strict}},
		{collection.Options{}, coded},
	}
}

// engine opens a searcher of vectors so stored, with one thread, and says what making them took. The caller calls closed.
func (c *ownCollection) engine(ctx context.Context, e *Env, vectors []float32, d int) (engine *batch.Engine, built time.Duration, closed func(), err error) {
	o := c.options
	o.Metric, o.Seed, o.Threads = collection.InnerProduct, e.Seed, 1
	began := time.Now()
	stored, err := collection.Build(ctx, vectors, d, &o)
	if err != nil {
		return nil, 0, nil, err
	}
	built = time.Since(began)
	b := cpu.New(cpu.Options{Threads: 1})
	if engine, err = batch.Open(ctx, stored, b, nil); err != nil {
		b.Close()
		stored.Close()
		return nil, 0, nil, err
	}
	return engine, built, func() { engine.Close(); b.Close(); stored.Close() }, nil
}

// promised gives the methods that may fail their delta.
func promised(req *batch.Request, delta float64) {
	if req.Method == batch.Strict || req.Method == batch.Adaptive {
		req.Delta = delta
	}
}

// ownBy returns the rows of the methods of a collection. The k-th best score of query i is truths[i].
func ownBy(ctx context.Context, e *Env, of ownCollection, vectors []float32, d int, queries []float32, truths []float64, k int, delta float64) (rows []Row, err error) {
	engine, built, closed, err := of.engine(ctx, e, vectors, d)
	if err != nil {
		return nil, err
	}
	defer closed()
	for _, method := range of.methods {
		r := Row{Algorithm: "thresher " + string(method), N: len(vectors) / d, D: d, K: k, Draws: 1, Answers: len(truths), BuildWall: built}
		req := batch.Request{K: k, Method: method}
		if promised(&req, delta); req.Delta > 0 {
			r.Setting = fmt.Sprintf("delta %g", delta)
		}
		var read []float64
		for i, truth := range truths {
			req.Queries = queries[i*d : (i+1)*d]
			began := time.Now()
			found, err := engine.Search(ctx, req)
			if err != nil {
				return nil, err
			}
			r.Wall += time.Since(began)
			a := &found.Answers[0]
			read = append(read, float64(a.Certificate.Pulls))
			right := 0
			for _, id := range a.IDs {
				if reaches(vectors[int(id)*d:(int(id)+1)*d], req.Queries, truth) {
					right++
				}
			}
			r.Precision += float64(right) / float64(k) / float64(len(truths))
			if right < k {
				r.Wrong++
			}
		}
		r.Wall /= time.Duration(len(truths))
		r.Multiplications, r.MultiplicationsSD = meanSD(read)
		rows = append(rows, r)
	}
	return rows, nil
}

// trueScores returns the inner products of a query with rows of d coordinates, summed in float64.
func trueScores(ctx context.Context, vectors []float32, d int, query []float32) ([]float64, error) {
	scores := make([]float64, len(vectors)/d)
	for i := range scores {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scores[i], _ = product(vectors[i*d:(i+1)*d], query)
	}
	return scores, nil
}

// product returns an inner product summed in float64 and a bound on its rounding error.
func product(v, q []float32) (sum, err float64) {
	q = q[:len(v)]
	size := 0.0
	for j, x := range v {
		p := float64(x) * float64(q[j])
		sum += p
		size += math.Abs(p)
	}
	return sum, size * float64(len(v)) * 0x1p-53
}

// reaches reports whether the product of v and q is at least truth, but for rounding: vectors with equal scores may stand
// for each other.
func reaches(v, q []float32, truth float64) bool {
	sum, err := product(v, q)
	return sum >= truth-2*err
}

// meanSD returns the mean of xs, which are not empty, and their standard deviation; that of one is 0.
func meanSD(xs []float64) (mean, sd float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sd += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(xs)-1)))
}
