package items

import (
	"slices"
	"testing"
)

func TestNews(t *testing.T) {
	s, err := News(400, 15, 1)
	if err != nil {
		t.Fatal(err)
	}
	high := make([]int, 15)
	for i := range s.Len() {
		count := 0
		for g, x := range s.Row(i) {
			switch {
			case x >= .5 && x <= .8:
				count++
				high[g]++
			case x < 0 || x > .01:
				t.Fatalf("item %d, topic %d: %g", i, g, x)
			}
		}
		if count != 2 {
			t.Errorf("item %d covers %d topics well", i, count)
		}
		if c := s.CostsOf(i)[0]; c < .01 || c > 1 {
			t.Errorf("item %d costs %g", i, c)
		}
	}
	// Each topic is one of two in fifteen: 53 of 400 expected. Outside 26 to 80 with
	// probability 2e-3 over all topics, but the seed is fixed.
	for g, n := range high {
		if n < 26 || n > 80 {
			t.Errorf("topic %d is covered well by %d of 400 items", g, n)
		}
	}
	again, err := News(400, 15, 1)
	if err != nil || !slices.Equal(s.Features, again.Features) || !slices.Equal(s.Costs, again.Costs) {
		t.Error("the same seed made other news")
	}
	if other, err := News(400, 15, 2); err != nil || slices.Equal(s.Features, other.Features) {
		t.Error("another seed made the same news")
	}
	for _, size := range [][2]int{{0, 15}, {5, 1}} {
		if _, err := News(size[0], size[1], 1); err == nil {
			t.Errorf("made news of %v", size)
		}
	}
}
