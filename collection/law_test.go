package collection

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"thresher/bandit"
)

var (
	lawPairs = flag.Int("law", 0, "pairs of vectors a cell of TestLaw; 0 means the suite's own few")
	lawOnly  = flag.Int("dimension", 0, "the one dimension of TestLaw; 0 means all")
	lawWrite = flag.String("write", "", "document between whose law markers the table is written")
)

// lawAlphas are the probabilities at which TestLaw compares.
var lawAlphas = [3]float64{.01, .001, .0001}

// lawVectors is the number of orthonormal vectors that share a rotation.
const lawVectors = 8

// lawCell is one kind of vectors. Vectors within one block of 256 coordinates are the
// hardest known: the first round spreads them over the same coordinates.
type lawCell struct {
	name string
	D    int
	full bool // only in the long run
	draw func(r *rand.Rand, D int) [][]float64
}

// anywhere is the range of all coordinates.
func anywhere(D int) (from, to int) { return 0, D }

// first is the first block of the first round; last is its last block, which may be
// smaller.
func first(D int) (from, to int) { return 0, 256 }
func last(D int) (from, to int)  { return D - min(D&-D, 256), D }

// sparse draws vectors with the given number of nonzero entries in a block, no two at the
// same coordinate.
func sparse(entries int, block func(D int) (from, to int)) func(*rand.Rand, int) [][]float64 {
	return func(r *rand.Rand, D int) [][]float64 {
		from, to := block(D)
		places := r.Perm(to - from)
		v := make([][]float64, lawVectors)
		for i := range v {
			v[i] = make([]float64, D)
			for e := range entries {
				v[i][from+places[i*entries+e]] = (1 - 2*float64(r.IntN(2))) / math.Sqrt(float64(entries))
			}
		}
		return v
	}
}

// dense draws vectors that fill a block.
func dense(block func(D int) (from, to int)) func(*rand.Rand, int) [][]float64 {
	return func(r *rand.Rand, D int) [][]float64 {
		from, to := block(D)
		v := make([][]float64, lawVectors)
		for i := range v {
			v[i] = make([]float64, D)
			x := v[i][from:to]
			for c := range x {
				x[c] = r.NormFloat64()
			}
			for range 2 { // twice is enough (Kahan)
				for _, w := range v[:i] {
					d := inner(x, w[from:to])
					for c := range x {
						x[c] -= d * w[from+c]
					}
				}
			}
			size := math.Sqrt(inner(x, x))
			for c := range x {
				x[c] /= size
			}
		}
		return v
	}
}

func inner(a, b []float64) float64 {
	var s float64
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

func lawCells() []lawCell {
	var all []lawCell
	for _, D := range []int{512, 768, 1024, 1536, 4096, 16384, 1 << 16, 1 << 18} {
		all = append(all,
			lawCell{"1-hot", D, true, sparse(1, anywhere)},
			lawCell{"1-hot in one block", D, true, sparse(1, first)},
			lawCell{"2-hot in one block", D, D != 4096, sparse(2, first)},
			lawCell{"dense in one block", D, D != 4096 && D != 16384, dense(first)})
	}
	for _, D := range []int{288, 1056, 8160, 8224, 1<<16 - 32} {
		all = append(all,
			lawCell{"1-hot in the last block", D, true, sparse(1, last)},
			lawCell{"dense in the last block", D, D != 8224, dense(last)})
	}
	return all
}

// lawTally counts, for each look, the pairs beyond the quantile of each of lawAlphas.
type lawTally struct {
	width  int // 0: signs of all
	beyond [len(lawAlphas)]atomic.Int64
}

// TestLaw compares the fast rotation with the law of Theorem 1 itself, without codes,
// thresholds or rounding that could hide a difference. For orthonormal v and w the error of
// the look that reads x (a prefix of R v, or its signs) must be below -XiQuantile(alpha)
// with probability at most alpha. A cell fails if its count has a probability below 1e-6
// under a probability of 2 alpha (pairs of one rotation are not independent). With two
// rounds only, 4,096 and 16,384 dimensions have 20 and 300 times alpha at .001, which this
// test detects, and 1,024 has 1.2 times, which the table of the long run shows (make
// calibrate).
func TestLaw(t *testing.T) {
	pairs := 10000
	if testing.Short() {
		pairs = 2000
	}
	if *lawPairs > 0 {
		pairs = *lawPairs
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "| data | dimension | rounds | pairs | 64: times alpha at .01, .001, .0001 | signs |\n|---|---|---|---|---|---|\n")
	for _, c := range lawCells() {
		n := pairs
		switch {
		case *lawPairs == 0 && c.full, *lawOnly > 0 && c.D != *lawOnly:
			continue
		case *lawPairs == 0 && c.D > 1<<13:
			n = pairs / 5
		case c.D > 1<<16:
			n = pairs / 20
		case c.D > 1<<14:
			n = pairs / 4
		}
		n = n / (lawVectors * (lawVectors - 1)) * lawVectors * (lawVectors - 1)
		fmt.Fprintf(&table, "| %s | %d | %d | %d |", c.name, c.D, rotationRounds(c.D), n)
		for _, l := range law(t, c, n) {
			var times [len(lawAlphas)]string
			for i, alpha := range lawAlphas {
				x := l.beyond[i].Load()
				times[i] = fmt.Sprintf("%.2f", float64(x)/float64(n)/alpha)
				if p := (distuv.Binomial{N: float64(n), P: 2 * alpha}).Survival(float64(x) - 1); p < 1e-6 {
					t.Errorf("%s, dimension %d, look at %d (0: signs): %d of %d beyond the quantile of %g (p = %.2g)", c.name, c.D, l.width, x, n, alpha, p)
				}
			}
			if l.width == 64 || l.width == 0 {
				fmt.Fprintf(&table, " %s |", strings.Join(times[:], ", "))
			}
		}
		fmt.Fprintln(&table)
		if *lawWrite != "" {
			writeLaw(t, *lawWrite, table.Bytes())
		}
	}
	t.Logf("\n%s", table.String())
}

func law(t *testing.T, c lawCell, pairs int) []*lawTally {
	tallies := []*lawTally{{width: 32}, {width: 64}, {width: 128}, {}}
	var quantile [len(lawAlphas)]float64
	for i, alpha := range lawAlphas {
		quantile[i] = bandit.XiQuantile(alpha, c.D)
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			tmp := make([]float32, c.D)
			rotated := make([][]float32, lawVectors)
			for i := range rotated {
				rotated[i] = make([]float32, c.D)
			}
			for {
				i := next.Add(1) - 1
				if int(i)*lawVectors*(lawVectors-1) >= pairs {
					return
				}
				r := rand.New(rand.NewPCG(uint64(i), uint64(c.D)))
				tr := newTransform(c.D, r.Uint64())
				for j, v := range c.draw(r, c.D) {
					x := make([]float32, c.D)
					for k := range v {
						x[k] = float32(v[k])
					}
					tr.rotate(rotated[j], x, tmp)
				}
				for _, v := range rotated {
					for _, l := range tallies {
						beyondLaw(l, v, rotated, quantile)
					}
				}
			}
		})
	}
	wg.Wait()
	return tallies
}

// beyondLaw counts the vectors w of all, other than v and orthogonal to it, for which the
// error of the look at v is beyond a quantile. The look reads x of v.
func beyondLaw(l *lawTally, v []float32, all [][]float32, quantile [len(lawAlphas)]float64) {
	x := slices.Clone(v)
	if l.width == 0 {
		for i, y := range v {
			x[i] = float32(math.Copysign(1, float64(y)))
		}
	} else {
		x = x[:l.width]
	}
	var a, xx float64 // of x with v and with itself; |v| = 1
	for i, y := range x {
		a += float64(y) * float64(v[i])
		xx += float64(y) * float64(y)
	}
	h := math.Sqrt(max(0, xx-a*a))
	if h == 0 {
		return // nothing is random
	}
	for _, w := range all {
		if &w[0] == &v[0] {
			continue
		}
		var d float64
		for i, y := range x {
			d += float64(y) * float64(w[i])
		}
		for i, q := range quantile {
			if d/h < -q {
				l.beyond[i].Add(1)
			}
		}
	}
}

const (
	lawBegin = "<!-- law:begin -->"
	lawEnd   = "<!-- law:end -->"
)

// writeLaw replaces the text between the markers of a document.
func writeLaw(t *testing.T, path string, table []byte) {
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := bytes.Index(doc, []byte(lawBegin)), bytes.Index(doc, []byte(lawEnd))
	if a < 0 || b < a {
		t.Fatalf("%s has no markers %s, %s", path, lawBegin, lawEnd)
	}
	text := slices.Concat(doc[:a+len(lawBegin)], []byte("\n"), table, doc[b:])
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
