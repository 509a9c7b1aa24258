package slate

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Cells are a partition into sets of at most cellSize items; an envelope is the
// coordinate-wise maximum of their vectors.
func TestCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(1, 300).Draw(t, "n"), rapid.IntRange(1, 5).Draw(t, "d")
		vectors := drawVectors(t, n, d)
		c := newCells(n, d, vectors)
		seen := make([]bool, n)
		if c.start[0] != 0 || int(c.start[c.size()]) != n {
			t.Fatalf("cells from %d to %d of %d items", c.start[0], c.start[c.size()], n)
		}
		for r := range c.size() {
			if k := c.start[r+1] - c.start[r]; k < 1 || k > cellSize {
				t.Fatalf("cell %d has %d items", r, k)
			}
			top := make([]float32, d)
			for p := c.start[r]; p < c.start[r+1]; p++ {
				e := int(c.items[p])
				if seen[e] {
					t.Fatalf("item %d twice", e)
				}
				seen[e] = true
				row := vectors[e*d : (e+1)*d]
				if !slices.Equal(row, c.rows[int(p)*d:(int(p)+1)*d]) {
					t.Fatalf("item %d has another's row", e)
				}
				for g, x := range row {
					top[g] = max(top[g], float32(x/c.scale))
				}
			}
			if !slices.Equal(top, c.envelopes[r*d:(r+1)*d]) || slices.Max(top) > 1 {
				t.Fatalf("cell %d: envelope %v of items up to %v", r, c.envelopes[r*d:(r+1)*d], top)
			}
		}
	})
}

// Items of the same topics share cells: envelopes are little above their items.
func TestCellsFindTopics(t *testing.T) {
	items, _ := market(t, "news", 5000)
	c := newCells(5000, 18, items.objective.(Separable).Vectors())
	var above float64
	for r := range c.size() {
		for p := c.start[r]; p < c.start[r+1]; p++ {
			for g, x := range c.rows[int(p)*18 : (int(p)+1)*18] {
				above += float64(c.envelopes[r*18+g])*c.scale - x
			}
		}
	}
	// Two topics are spread over 0.3 each and sixteen over 0.01: cells by topic exceed an item
	// by less than 0.3 + 0.16, random cells by 8.
	if above /= 5000; above > 0.46 {
		t.Errorf("envelopes exceed items by %.2f", above)
	}
	if c.size() > 5000/8 {
		t.Errorf("%d cells", c.size())
	}
}

// Vectors of very many magnitudes do not make splitting quadratic: splits by value have
// limited depth, and then sets are halved.
func TestCellsOfManyMagnitudes(t *testing.T) {
	vectors := make([]float64, 2000)
	for e := range vectors {
		vectors[e] = math.Pow(0.7, float64(e))
	}
	if c := newCells(2000, 1, vectors); c.size() > 2000/4 {
		t.Errorf("%d cells", c.size())
	}
}

func TestCellQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Float64Range(-3, 3), 1, 40).Draw(t, "keys")
		q := make(cellQueue, len(keys))
		for i, k := range keys {
			q[i] = queuedCell{key: k, cell: int32(i)}
		}
		q.order()
		slices.Sort(keys)
		for _, k := range slices.Backward(keys) {
			if got := q.pop(); got.key != k {
				t.Fatalf("%v comes before %v", got.key, k)
			}
		}
		if len(q) != 0 {
			t.Fatalf("%d left", len(q))
		}
	})
}
