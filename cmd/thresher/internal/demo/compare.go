package demo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"thresher/batch"
)

const (
	// piece is the number of queries answered in one call, by both methods.
	piece = 256
	// sample is the number of queries that the dense scan answers: enough to time it and to
	// find wrong answers, few enough for a short run.
	sample = 512
)

// compare searches every comment among all others and times the dense scan alternately with
// the search on a sample of the pieces, evenly spread.
func (t *tour) compare(ctx context.Context) (*Batch, error) {
	n := len(t.corpus.Entries)
	pieces := (n + piece - 1) / piece
	both := pieces
	if s := cmp.Or(t.Sample, sample); s > 0 {
		both = min(pieces, (s+piece-1)/piece)
	}
	b := &Batch{Queries: n}
	methods, guarantees, laws := map[batch.Method]int{}, map[batch.Guarantee]int{}, map[batch.Law]int{}
	for p, done := 0, 0; p < pieces; p++ {
		from, to := p*piece, min((p+1)*piece, n)
		t.progress("every comment against all others", int64(from), int64(n))
		// The middle one of each of equal shares of the pieces is compared.
		twice := done < both && p == (2*done+1)*pieces/(2*both)
		searched, dense, err := t.answer(ctx, from, to, twice, done%2 == 1)
		if err != nil {
			return nil, fmt.Errorf("comments %d to %d: %w", from, to-1, err)
		}
		b.add(searched)
		for i := range searched.Answers {
			c := &searched.Answers[i].Certificate
			methods[c.Method]++
			guarantees[c.Guarantee]++
			laws[c.Law]++
		}
		if twice {
			done++
			t.judge(&b.Compared, from, searched, dense)
		}
	}
	t.progress("every comment against all others", int64(n), int64(n))
	b.Method, b.Guarantee, b.Law = most(methods), most(guarantees), most(laws)
	b.finish(t.delta())
	return b, nil
}

// delta returns the requested failure probability.
func (t *tour) delta() float64 { return cmp.Or(t.Delta, .01) }

// answer searches comments from..to-1 among all others and, if twice, scans them densely too:
// after the search, or before it if denseFirst.
func (t *tour) answer(ctx context.Context, from, to int, twice, denseFirst bool) (searched, dense *batch.Response, err error) {
	dim := len(t.rows) / len(t.corpus.Entries)
	req := batch.Request{Queries: t.rows[from*dim : to*dim], ExcludeSelf: true, SelfFirst: int64(from)}
	scan := func() error {
		r := req
		r.Method = batch.Exact
		dense, err = t.search(ctx, r)
		return err
	}
	if twice && denseFirst {
		if err := scan(); err != nil {
			return nil, nil, err
		}
	}
	if searched, err = t.search(ctx, req); err != nil {
		return nil, nil, err
	}
	if twice && !denseFirst {
		err = scan()
	}
	return searched, dense, err
}

func (b *Batch) add(r *batch.Response) {
	b.SearchSeconds += r.Took.Seconds()
	b.Pulls += r.Stats.Pulls
	b.DensePulls += r.Stats.DensePulls
	b.NeededNoLuck += r.Stats.Exact
	b.WentDense += r.Stats.Dense
	b.WrongAllowed += allowed(r)
}

// allowed returns the sum of the failure probabilities of a response's answers.
func allowed(r *batch.Response) float64 {
	var sum float64
	for i := range r.Answers {
		if c := &r.Answers[i].Certificate; c.Guarantee == batch.GuaranteeProbabilistic {
			sum += c.Delta
		}
	}
	return sum
}

func (b *Batch) finish(delta float64) {
	b.Delta = delta
	b.Saving = batch.Stats{Pulls: b.Pulls, DensePulls: b.DensePulls}.Saving()
	b.QueriesPerSecond = ratio(float64(b.Queries), b.SearchSeconds)
	c := &b.Compared
	c.Ratio = ratio(c.DenseSeconds, c.SearchSeconds)
	c.WholeDenseSeconds = c.DenseSeconds
	if c.Extrapolated = c.Queries < b.Queries; c.Extrapolated {
		c.WholeDenseSeconds *= ratio(float64(b.Queries), float64(c.Queries))
	}
}

// ratio returns x/y, and 0 if y is 0, because JSON has no infinity.
func ratio(x, y float64) float64 {
	if y == 0 {
		return 0
	}
	return x / y
}

// judge counts in c the answers to comments from.. that differ from the dense scan's, and the
// wrong ones among them.
func (t *tour) judge(c *DenseComparison, from int, searched, dense *batch.Response) {
	c.Queries += len(searched.Answers)
	c.SearchSeconds += searched.Took.Seconds()
	c.DenseSeconds += dense.Took.Seconds()
	c.WrongAllowed += allowed(searched)
	for i := range searched.Answers {
		got, want := searched.Answers[i].IDs, dense.Answers[i].IDs
		if sameSet(got, want) {
			continue
		}
		c.Differing++
		// Vectors have length 1, so the rounding that the guarantee excludes is at most 2^-22
		// (docs/guarantee.md).
		if len(got) != len(want) || t.worst(from+i, got) < t.worst(from+i, want)-0x1p-22 {
			c.Wrong++
		}
	}
}

// worst returns the least score, in float64, of the texts ids for text query.
func (t *tour) worst(query int, ids []int64) float64 {
	dim := len(t.rows) / len(t.corpus.Entries)
	q := t.rows[query*dim : (query+1)*dim]
	least := math.Inf(1)
	for _, id := range ids {
		var score float64
		for j, x := range t.rows[int(id)*dim : (int(id)+1)*dim] {
			score += float64(x) * float64(q[j])
		}
		least = min(least, score)
	}
	return least
}

func sameSet(a, b []int64) bool {
	x, y := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(x, y)
}

// most returns the key with the greatest count; of equal ones the first by name.
func most[K cmp.Ordered](counts map[K]int) K {
	var best K
	for k, n := range counts {
		if n > counts[best] || (n == counts[best] && k < best) {
			best = k
		}
	}
	return best
}
