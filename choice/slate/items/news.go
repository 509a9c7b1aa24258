package items

import (
	"fmt"
	"math/rand/v2"

	"thresher/internal/philox"
)

// News generates n news items with d topics and one cost (section 7.1 of the paper). Two
// topics of an item are covered well, the others hardly. The paper's ranges are missing
// from its text; those of Peaks replace them, and costs are uniform in [0.01, 1].
func News(n, d int, seed uint64) (*Set, error) {
	if n < 1 || d < 2 {
		return nil, fmt.Errorf("items: news of %d items and %d topics; at least 1 and 2", n, d)
	}
	s := &Set{
		IDs: make([]string, n), Titles: make([]string, n), Topics: make([]string, d), Features: make([]float64, n*d),
		CostNames: []string{"cost"}, Costs: make([]float64, n), Groups: make([][]int, n),
	}
	for g := range s.Topics {
		s.Topics[g] = fmt.Sprintf("topic %d", g)
	}
	r := rand.New(philox.New(seed, 0))
	for i := range n {
		s.IDs[i] = fmt.Sprint(i)
		Peaks(r, s.Row(i))
		s.Costs[i] = max(.01, r.Float64())
	}
	return s, nil
}

// Peaks fills a row with uniform numbers: two random entries from [0.5, 0.8], the others
// from [0, 0.01]. A row has at least two entries.
func Peaks(r *rand.Rand, row []float64) {
	first := r.IntN(len(row))
	second := r.IntN(len(row) - 1)
	if second >= first {
		second++
	}
	for i := range row {
		if i == first || i == second {
			row[i] = .5 + .3*r.Float64()
		} else {
			row[i] = .01 * r.Float64()
		}
	}
}
