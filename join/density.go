package join

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"thresher/batch"
)

// Density is an estimate of how many pairs the rows of a collection are in.
type Density struct {
	N int // atoms
	// Counts are by row of a random sample, ascending: how many other atoms it makes a pair
	// with, or Limit if there are more.
	Counts []int
	Limit  int
}

// Sample counts the pairs of a random sample of the atoms of e's collection, the same one
// whenever it is called for the same collection.
func Sample(ctx context.Context, e *batch.Engine, o PairOptions) (*Density, error) {
	c := e.Collection()
	req, err := o.request(c.Metric)
	if err != nil {
		return nil, err
	}
	d := &Density{N: c.N, Limit: maxLimit}
	row := func(i int) int { return i }
	if o.Filter != nil {
		if err := checkFilter(o.Filter, c.N, 1); err != nil {
			return nil, err
		}
		d.N = len(o.Filter)
		row = func(i int) int { return int(o.Filter[i]) }
	}
	req.Limit, req.ExcludeSelf = maxLimit, true
	n := min(d.N, sampleRows, max(1, queryBytes/(4*c.Dim)))
	r := rand.New(rand.NewPCG(c.Seed, 0x7061697273)) // "pairs"
	for range n {
		self := row(r.IntN(d.N))
		req.Selves = append(req.Selves, int64(self))
		addQuery(&req, c, self)
	}
	resp, err := e.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range resp.Answers {
		d.Counts = append(d.Counts, len(resp.Answers[i].IDs))
	}
	slices.Sort(d.Counts)
	return d, nil
}

// Pairs estimates the number of pairs of the collection with itself, and returns twice the
// standard error of the estimate. Both are too low if a count has reached the limit.
func (d *Density) Pairs() (estimate, error float64) {
	m := float64(len(d.Counts))
	var sum, squares float64
	for _, n := range d.Counts {
		sum += float64(n)
		squares += float64(n) * float64(n)
	}
	scale := float64(d.N) / 2
	mean := sum / m
	return scale * mean, 2 * scale * math.Sqrt(max(0, squares/m-mean*mean)/m)
}

// Limited reports whether a row of the sample is in more pairs than were counted.
func (d *Density) Limited() bool { return d.Counts[len(d.Counts)-1] >= d.Limit }

// reaching is about how many atoms make a pair with a row; rows with unusually many count as if
// they had 100.
func (d *Density) reaching() float64 {
	sum := 0
	for _, n := range d.Counts {
		sum += min(n, 100)
	}
	return max(.25, float64(sum)/float64(len(d.Counts)))
}

// limit returns the number of atoms to ask for at first: twice that of nearly all rows of the
// sample.
func (d *Density) limit() int {
	usual := d.Counts[len(d.Counts)*63/64]
	return min(max(minLimit, 2*usual), maxLimit)
}
