package join

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"thresher/dataset"
)

func drawRuns(t *rapid.T) (runs [][]dataset.Pair, log []byte) {
	for range rapid.IntRange(0, 6).Draw(t, "runs") {
		n := rapid.SampledFrom([]int{0, 1, 2, pagePairs - 1, pagePairs, pagePairs + 1, 3 * pagePairs}).Draw(t, "pairs")
		r := make([]dataset.Pair, n)
		seed := rapid.Int64().Draw(t, "seed")
		for i := range r {
			seed = seed*6364136223846793005 + 1442695040888963407
			r[i] = dataset.Pair{A: seed >> 60 & 7, B: int64(i), Score: float32(seed >> 40), Score64: float64(seed >> 40)}
		}
		slices.SortFunc(r, byRows)
		runs = append(runs, r)
		log = AppendRun(log, r)
	}
	return runs, log
}

func readLog(log []byte) (pairs []dataset.Pair, err error) {
	l, err := OpenPairLog(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		return nil, err
	}
	err = l.Each(func(p *dataset.Pair) error {
		pairs = append(pairs, *p)
		return nil
	})
	return pairs, err
}

func TestPairLogMerges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs, log := drawRuns(t)
		want := slices.Concat(runs...)
		slices.SortFunc(want, byRows)
		got, err := readLog(log)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(want, func(x, y dataset.Pair) int { return byRows(x, y) })
		if len(got) != len(want) || !slices.IsSortedFunc(got, byRows) {
			t.Fatalf("%d pairs of %d, or not in order", len(got), len(want))
		}
		count := map[dataset.Pair]int{}
		for i := range want {
			count[want[i]]++
			count[got[i]]--
		}
		for p, n := range count {
			if n != 0 {
				t.Fatalf("%v: %d more expected", p, n)
			}
		}
	})
}

// TestPairLogDamage: a changed byte and a missing end are found before the end.
func TestPairLogDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, log := drawRuns(t)
		if len(log) == 0 {
			t.Skip("empty")
		}
		damaged := slices.Clone(log)
		at := rapid.IntRange(0, len(log)-1).Draw(t, "at")
		if rapid.Bool().Draw(t, "cut") && at > 0 {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		got, err := readLog(damaged)
		whole, _ := readLog(log)
		if err == nil && len(got) == len(whole) {
			t.Fatalf("damage at byte %d of %d is not noticed", at, len(log))
		}
		if err != nil && !errors.Is(err, ErrPairLog) {
			t.Fatal(err)
		}
	})
}

// TestPairLogOfBefore: runs that earlier versions wrote, without the scores in float64, are read beside later ones.
func TestPairLogOfBefore(t *testing.T) {
	before, err := os.ReadFile(filepath.Join("testdata", "before.pairlog"))
	if err != nil {
		t.Fatal(err)
	}
	const n = pagePairs + 2 // pairs (i, i+1) of score i/2, in two pages
	got, err := readLog(AppendRun(slices.Clone(before), []dataset.Pair{{A: 5, B: 99, Score: 1, Score64: 1.00000000001}}))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != n+1 {
		t.Fatalf("%d pairs, want %d", len(got), n+1)
	}
	for i, p := range got {
		if p.B == 99 {
			if p.A != 5 || p.Score64 != 1.00000000001 {
				t.Errorf("the later pair is %v", p)
			}
			got = slices.Delete(got, i, i+1)
			break
		}
	}
	for i, p := range got {
		if p.A != int64(i) || p.B != int64(i)+1 || p.Score != float32(i)/2 || !math.IsNaN(p.Score64) {
			t.Errorf("pair %d is %v", i, p)
		}
	}
}

func TestPairLogErrorOfDo(t *testing.T) {
	log := AppendRun(nil, []dataset.Pair{{A: 1, B: 2}, {A: 1, B: 3}})
	l, err := OpenPairLog(bytes.NewReader(log), int64(len(log)))
	if err != nil {
		t.Fatal(err)
	}
	full, calls := errors.New("full"), 0
	err = l.Each(func(*dataset.Pair) error {
		calls++
		return full
	})
	if err != full || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func FuzzPairLog(f *testing.F) {
	f.Add(AppendRun(AppendRun(nil, []dataset.Pair{{A: 1, B: 2, Score: 3}}), make([]dataset.Pair, pagePairs+3)))
	f.Fuzz(func(t *testing.T, log []byte) {
		got, err := readLog(log)
		if err != nil && !errors.Is(err, ErrPairLog) {
			t.Fatal(err)
		}
		if len(got)*narrowPairSize > len(log) {
			t.Fatalf("%d pairs in %d bytes", len(got), len(log))
		}
	})
}

func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "nodes")
		node := rapid.IntRange(0, n-1)
		c, err := NewComponents(int64(n))
		if err != nil {
			t.Fatal(err)
		}
		least := make([]int64, n) // the least node of each one's component
		for i := range least {
			least[i] = int64(i)
		}
		for range rapid.IntRange(0, 80).Draw(t, "edges") {
			a, b := node.Draw(t, "a"), node.Draw(t, "b")
			c.Connect(int64(a), int64(b))
			x, y := least[a], least[b]
			for i := range least {
				if least[i] == x || least[i] == y {
					least[i] = min(x, y)
				}
			}
		}
		size, label, labels, largest := map[int64]int64{}, map[int64]int32{}, make([]int32, n), int64(0)
		for i, root := range least {
			size[root]++
			largest = max(largest, size[root])
			if root == int64(i) {
				label[root] = int32(len(label))
			}
			labels[i] = label[root]
		}
		for i, root := range least {
			if c.Of(int64(i)) != root || c.Size(int64(i)) != size[root] {
				t.Fatalf("node %d is in component %d of %d, want %d of %d", i, c.Of(int64(i)), c.Size(int64(i)), root, size[root])
			}
		}
		if d := cmp.Diff(labels, c.Labels()); d != "" {
			t.Fatal(d)
		}
		if count, most := c.Count(); count != int64(len(size)) || most != largest {
			t.Fatalf("%d components, the largest of %d; want %d, %d", count, most, len(size), largest)
		}
	})
	if _, err := NewComponents(1 << 31); err == nil {
		t.Error("more nodes than numbers")
	}
}
