package slate

import "fmt"

// Element is what a WeightedCoverage covers.
type Element struct {
	Topic  int     // in [0, d)
	Weight float64 // >= 0
}

// WeightedCoverage is the total weight of the elements that the items of a list cover:
// f_i(S) sums the weights of the elements of topic i that some item of S covers.
type WeightedCoverage struct {
	d        int
	elements []Element
	sets     [][]int
	bound    float64
}

// NewWeightedCoverage returns the coverage of elements of d topics by items. sets lists
// the elements that each item covers, without repetition. It retains the slices, which
// must not change.
func NewWeightedCoverage(d int, elements []Element, sets [][]int) (*WeightedCoverage, error) {
	if err := checkSize("weighted coverage", len(sets), d, len(sets)*d); err != nil {
		return nil, err
	}
	for u, x := range elements {
		if x.Topic < 0 || x.Topic >= d {
			return nil, fmt.Errorf("slate: weighted coverage: element %d: topic %d of %d", u, x.Topic, d)
		}
		if !(x.Weight >= 0 && x.Weight <= MaxMagnitude) {
			return nil, fmt.Errorf("slate: weighted coverage: element %d: weight %v is not in [0, %g]", u, x.Weight, MaxMagnitude)
		}
	}
	last := make([]int, len(elements)) // 1 + the last item that named the element
	for e, set := range sets {
		for _, u := range set {
			if u < 0 || u >= len(elements) {
				return nil, fmt.Errorf("slate: weighted coverage: item %d: element %d of %d", e, u, len(elements))
			}
			if last[u] == e+1 {
				return nil, fmt.Errorf("slate: weighted coverage: item %d: element %d twice", e, u)
			}
			last[u] = e + 1
		}
	}
	c := &WeightedCoverage{d: d, elements: elements, sets: sets}
	c.bound = widest(c)
	return c, nil
}

// Size returns n.
func (c *WeightedCoverage) Size() int { return len(c.sets) }

// Features returns the number of topics.
func (c *WeightedCoverage) Features() int { return c.d }

// Bound returns the largest norm of a gain.
func (c *WeightedCoverage) Bound() float64 { return c.bound }

// NewList returns an empty list.
func (c *WeightedCoverage) NewList() List {
	return &weightedList{of: c, covered: make([]bool, len(c.elements))}
}

type weightedList struct {
	of      *WeightedCoverage
	covered []bool
}

func (l *weightedList) Gains(dst []float64, e int) {
	clear(dst[:l.of.d])
	for _, u := range l.of.sets[e] {
		if !l.covered[u] {
			x := l.of.elements[u]
			dst[x.Topic] += x.Weight
		}
	}
}

func (l *weightedList) Append(e int) {
	for _, u := range l.of.sets[e] {
		l.covered[u] = true
	}
}

func (l *weightedList) Reset() { clear(l.covered) }
