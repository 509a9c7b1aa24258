package verify

import (
	"testing"

	"thresher/collection"
	"thresher/internal/vectors"
)

func TestReadings(t *testing.T) {
	const n, dim, k = 60, 8, 5
	r := vectors.Rand(2)
	rows, q := vectors.Gaussian(r, n, dim), vectors.Gaussian(r, 1, dim)
	wide := make([]float64, dim)
	for j, x := range q {
		wide[j] = float64(x)
	}
	o, err := NewLazyOracle(rows, dim, collection.Cosine)
	if err != nil {
		t.Fatal(err)
	}
	first, second := []int64{3, 9, 12, 40, 7}, []int64{5, 9, 30, 2, 50}
	stated := func(ids []int64) []float32 {
		s := o.pairs(q)
		scores := make([]float32, k)
		for at, id := range ids {
			p := s.pair(id)
			sum, _ := p.sumOf(collection.Cosine, dim)
			scores[at] = float32(1 - sum) // a form of some databases
		}
		return scores
	}
	noise := vectors.Gaussian(r, 1, k)
	for name, c := range map[string]struct {
		first, second []int64
		scores        []float32
		want          int
	}{
		"first": {first, second, stated(first), 0}, "second": {first, second, stated(second), 1},
		"neither": {first, second, noise, -1}, "the same": {first, first, stated(first), -1},
		"without scores": {first, second, nil, -1},
	} {
		readings := NewReadings(o)
		if !readings.Add(wide, c.first, c.second, c.scores) {
			t.Errorf("%s: %d scores are enough", name, k)
		}
		if got := readings.Decide(); got != c.want {
			t.Errorf("%s: reading %d, want %d", name, got, c.want)
		}
	}
}
