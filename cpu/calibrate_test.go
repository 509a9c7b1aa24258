package cpu

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"thresher/backend"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
	"thresher/internal/vectors"
)

var (
	calibrateDraws = flag.Int("calibrate", 0, "draws a cell of TestCalibration; 0 means the suite's own number")
	calibrateWrite = flag.String("write", "", "document between whose calibrate markers the table is written")
)

// alarm is the probability that a cell is reported although its failure probability is
// exactly delta: a one-sided binomial test.
const alarm = 1e-6

// cell is one kind of data. draw returns a query and its true arms, best first.
type cell struct {
	name  string
	dim   int
	k     int
	share int  // draws that share a rotation, with fresh data each
	light bool // a cell the suite draws less often; make calibrate does not
	draw  func(r *rand.Rand) (q []float32, arms []float32)
}

// pool draws rows as queries and returns their k best by float64 scores, which are
// computed once for each row.
func pool(rows []float32, dim, k int) func(r *rand.Rand) ([]float32, []float32) {
	n := len(rows) / dim
	known := make([]func() []int, n)
	for i := range known {
		known[i] = sync.OnceValue(func() []int { return best(rows, dim, k, i) })
	}
	return func(r *rand.Rand) ([]float32, []float32) {
		self := r.IntN(n)
		var arms []float32
		for _, i := range known[self]() {
			arms = append(arms, rows[i*dim:(i+1)*dim]...)
		}
		return rows[self*dim : (self+1)*dim], arms
	}
}

// best returns the k rows of greatest inner product with row self, which is excluded.
func best(rows []float32, dim, k, self int) []int {
	q := rows[self*dim : (self+1)*dim]
	scores := make([]float64, len(rows)/dim)
	var others []int
	for i := range scores {
		if i != self {
			scores[i] = dot64(q, rows[i*dim:(i+1)*dim])
			others = append(others, i)
		}
	}
	slices.SortFunc(others, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return slices.Clone(others[:k])
}

// dot64 is <a, b> in float64. Four partial sums do not wait for each other.
func dot64(a, b []float32) float64 {
	var s [4]float64
	for ; len(a) >= 4; a, b = a[4:], b[4:] {
		for j := range s {
			s[j] += float64(a[j]) * float64(b[j])
		}
	}
	for j, v := range a {
		s[0] += float64(v) * float64(b[j])
	}
	return s[0] + s[1] + (s[2] + s[3])
}

// correlated returns a query and one arm with the given cosine.
func correlated(dim int, cos float64) func(r *rand.Rand) ([]float32, []float32) {
	return func(r *rand.Rand) ([]float32, []float32) {
		q, v := make([]float32, dim), make([]float32, dim)
		for j := range q {
			a, b := r.NormFloat64(), r.NormFloat64()
			q[j], v[j] = float32(a), float32(cos*a+math.Sqrt(1-cos*cos)*b)
		}
		return q, v
	}
}

// fewHot returns vectors with a few nonzero entries, of which one is shared.
func fewHot(dim, few int) func(r *rand.Rand) ([]float32, []float32) {
	return func(r *rand.Rand) ([]float32, []float32) {
		q, v := make([]float32, dim), make([]float32, dim)
		shared := r.IntN(dim)
		q[shared], v[shared] = 1, 1
		for range few - 1 {
			q[r.IntN(dim)] = 1 - 2*float32(r.IntN(2))
			v[r.IntN(dim)] = 1 - 2*float32(r.IntN(2))
		}
		return q, v
	}
}

// block returns vectors within the first 256 coordinates, with the cosine .3. The
// rotation's first round spreads both over the same coordinates.
func block(dim int) func(r *rand.Rand) ([]float32, []float32) {
	within := correlated(256, .3)
	return func(r *rand.Rand) ([]float32, []float32) {
		q, v := make([]float32, dim), make([]float32, dim)
		x, y := within(r)
		copy(q, x)
		copy(v, y)
		return q, v
	}
}

func cells(t *testing.T, large bool) []cell {
	r := vectors.Rand(11)
	c := []cell{
		{name: "near-duplicates", dim: 768, k: 1, light: true, draw: correlated(768, .999999)},
		{name: "cosine .9", dim: 768, k: 1, draw: correlated(768, .9)},
		{name: "cosine .3", dim: 300, k: 1, light: true, draw: correlated(300, .3)},
		{name: "cosine -.95 (all scores negative)", dim: 768, k: 1, light: true, draw: correlated(768, -.95)},
		{name: "iid Gaussian", dim: 512, k: 1, draw: pool(vectors.Gaussian(r, 400, 512), 512, 1)},
		{name: "iid Gaussian", dim: 512, k: 10, light: true, draw: pool(vectors.Gaussian(r, 400, 512), 512, 10)},
		{name: "iid Gaussian, Haar", dim: 128, k: 1, draw: pool(vectors.Gaussian(r, 400, 128), 128, 1)},
		{name: "power-law embeddings", dim: 768, k: 1, draw: pool(vectors.PowerLaw(r, 400, 768), 768, 1)},
		{name: "power-law embeddings", dim: 768, k: 10, draw: pool(vectors.PowerLaw(r, 400, 768), 768, 10)},
		{name: "sparse TF-IDF", dim: 2048, k: 1, light: true, draw: pool(vectors.TFIDF(r, 300, 2048), 2048, 1)},
		{name: "near-duplicate rows", dim: 544, k: 10, light: true, draw: pool(vectors.NearDuplicates(r, 300, 544), 544, 10)},
		{name: "one dominant coordinate", dim: 768, k: 1, light: true, draw: func(r *rand.Rand) ([]float32, []float32) {
			q, v := correlated(768, .2)(r)
			q[3], v[3] = 200, 150
			return q, v
		}},
		{name: "norms from 1e-25 to 1e30", dim: 768, k: 1, draw: func(r *rand.Rand) ([]float32, []float32) {
			q, v := correlated(768, .5)(r)
			f := float32(math.Pow(10, 50*r.Float64()-25))
			for j := range v {
				v[j] *= f
			}
			return q, v
		}},
		{name: "equal entries", dim: 768, k: 1, light: true, draw: func(r *rand.Rand) ([]float32, []float32) {
			q, v := make([]float32, 768), make([]float32, 768)
			for j := range q {
				q[j], v[j] = 1, 1
			}
			for range 20 {
				v[r.IntN(768)] = 0
			}
			return q, v
		}},
		{name: "1-hot", dim: 4096, k: 1, light: true, draw: fewHot(4096, 1)},
		{name: "2-hot", dim: 4096, k: 1, draw: fewHot(4096, 2)},
		{name: "4-hot", dim: 4096, k: 1, light: true, draw: fewHot(4096, 4)},
		{name: "4-hot", dim: 65536, k: 1, light: true, share: 25, draw: fewHot(65536, 4)},
		{name: "one block", dim: 1024, k: 1, light: true, draw: block(1024)},
		{name: "one block", dim: 16384, k: 1, light: true, share: 5, draw: block(16384)},
	}
	if large {
		c = append(c, cell{name: "1-hot", dim: 65536, k: 1, share: 25, draw: fewHot(65536, 1)},
			cell{name: "2-hot", dim: 1 << 20, k: 1, share: 100, draw: fewHot(1<<20, 2)},
			cell{name: "4-hot", dim: 1 << 20, k: 1, share: 100, draw: fewHot(1<<20, 4)},
			cell{name: "one block", dim: 4096, k: 1, draw: block(4096)},
			cell{name: "one block", dim: 1 << 20, k: 1, share: 100, draw: block(1 << 20)})
	}
	if rows, dim := mnistRows(t); rows != nil {
		c = append(c, cell{name: "MNIST", dim: dim, k: 1, draw: pool(rows, dim, 1)}, cell{name: "MNIST", dim: dim, k: 10, light: true, draw: pool(rows, dim, 10)})
	}
	return c
}

// tally counts, per look, failures at each of deltas.
type tally struct {
	look  backend.Look
	fails [2]atomic.Int64
}

// name returns the look's name in the table.
func (t *tally) name() string {
	if t.look.Rep == backend.Signs {
		return "signs"
	}
	if t.look.Rep == backend.SignPanels {
		return fmt.Sprintf("%d signs", t.look.To)
	}
	return strconv.Itoa(t.look.To)
}

var deltas = [2]float64{.1, .01}

// TestCalibration counts how often a look at alpha = delta/k drops a true arm of its query,
// with the threshold at the k-th exact score, which is the worst case of any search. Each
// draw has a fresh rotation or, in the largest dimensions, fresh positions and signs under
// a shared one. A cell fails if its count has a probability below 1e-6 under delta. With
// 1,000 draws a rate of .164 where .1 is promised, or of .036 where .01 is, is found with probability .9, with the 600 of light
// cells .185 and .047; a full run
// (THRESHER_FULL) finds .127 and .020 with 5,000, and make calibrate measures the rates.
func TestCalibration(t *testing.T) {
	race.Skip(t, "rates, of draws that share their counts alone")
	n := 1000
	if draws.Full() {
		n = 5000
	}
	if testing.Short() {
		n = 500
	}
	if race.Enabled { // races show at once, rates do not
		n = 40
	}
	large := *calibrateDraws > 0
	if large {
		n = *calibrateDraws
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "| data | dimension | k | look | draws | failures at .1 | at .01 |\n|---|---|---|---|---|---|---|\n")
	for _, c := range cells(t, large) {
		count := n
		switch {
		case c.dim > 1<<17:
			count = min(n, 1000)
		case c.dim > 1<<13 && large:
			count = min(n, 20000)
		case c.light && !large:
			count = min(n, 600)
		}
		for _, l := range calibrate(t, c, count) {
			fmt.Fprintf(&table, "| %s | %d | %d | %s | %d | %.4f | %.5f |\n", c.name, c.dim, c.k, l.name(), count,
				float64(l.fails[0].Load())/float64(count), float64(l.fails[1].Load())/float64(count))
			for i, delta := range deltas {
				x := l.fails[i].Load()
				if p := tail(count, delta, x); p < alarm {
					t.Errorf("%s, dimension %d, k %d, look at %s: %d of %d failed at delta %g (p = %.2g)", c.name, c.dim, c.k, l.name(), x, count, delta, p)
				}
			}
		}
		if *calibrateWrite != "" { // cell by cell: a full run takes long
			writeTable(t, *calibrateWrite, table.Bytes())
		}
	}
	t.Logf("\n%s", table.String())
}

// tail returns P(X >= x) for binomial X.
func tail(n int, p float64, x int64) float64 {
	return distuv.Binomial{N: float64(n), P: p}.Survival(float64(x) - 1)
}

func calibrate(t *testing.T, c cell, count int) []*tally {
	var tallies []*tally
	share := max(1, c.share)
	first, err := collection.Build(context.Background(), make([]float32, c.dim), c.dim, &collection.Options{Metric: collection.InnerProduct, NoHead: true, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range first.Stages {
		look := backend.Look{Rep: backend.Panels, To: l.Width, Rule: backend.Student}
		switch {
		case l.Coding == collection.Signs:
			look.Rep = backend.Signs
		case l.Width > first.PanelWidth || l.Width == first.D:
			continue
		}
		tallies = append(tallies, &tally{look: look})
		if signs := backend.SignPanels.Reads(l.Width); look.Rep == backend.Panels && signs <= first.D && signs%128 == 0 {
			look.Rep, look.To = backend.SignPanels, signs
			tallies = append(tallies, &tally{look: look})
		}
	}
	var wg sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			b := New(Options{Threads: 1})
			for {
				i := int(next.Add(1)) - 1
				if i*share >= count {
					return
				}
				for part := range min(share, count-i*share) {
					// All draws of a group share the rotation of seed i.
					r := rand.New(rand.NewPCG(uint64(part), uint64(i)))
					q, arms := c.draw(r)
					if err := testDraw(b, c, q, arms, uint64(i), tallies); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return tallies
}

// testDraw takes every look at the true arms of one query, at each of deltas, and counts
// failures.
func testDraw(b *Backend, c cell, q, arms []float32, seed uint64, tallies []*tally) error {
	ctx := context.Background()
	col, err := collection.Build(ctx, arms, c.dim, &collection.Options{Metric: collection.InnerProduct, NoHead: true, Threads: 1, Seed: seed})
	if err != nil {
		return err
	}
	res, err := b.Load(ctx, col)
	if err != nil {
		return err
	}
	defer res.Close()
	tau := math.Inf(1)
	for i := range c.k {
		tau = min(tau, dot64(q, col.Row(i)))
	}
	goal := []backend.Goal{{Floor: tau, Ceiling: math.Inf(1), Allowed: c.k}}
	begun, err := res.Begin(ctx, backend.Queries{M: 1, Dim: c.dim, Data: q}, goal)
	if err != nil {
		return err
	}
	defer begun.Close()
	x := begun.(*run)
	if err := x.prepareLooks(ctx); err != nil {
		return err
	}
	first := x.states[0].Query
	later := first.Query
	query := later.Query
	freshFirst, freshLater, freshQuery := *first, *later, *query
	for _, l := range tallies {
		for i, delta := range deltas {
			*first, *later, *query = freshFirst, freshLater, freshQuery // as if no look had been taken
			x.states[0].pass = nil
			look := l.look
			look.Alpha = delta / float64(c.k)
			left, err := x.Pull(ctx, look)
			if err != nil {
				return err
			}
			if left[0] < c.k {
				l.fails[i].Add(1)
			}
		}
	}
	return nil
}

const (
	tableBegin = "<!-- calibrate:begin -->"
	tableEnd   = "<!-- calibrate:end -->"
)

// writeTable replaces the text between the markers of a document.
func writeTable(t *testing.T, path string, table []byte) {
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := bytes.Index(doc, []byte(tableBegin)), bytes.Index(doc, []byte(tableEnd))
	if a < 0 || b < a {
		t.Fatalf("%s has no markers %s, %s", path, tableBegin, tableEnd)
	}
	out := slices.Concat(doc[:a+len(tableBegin)], []byte("\n"), table, doc[b:])
	if err := os.WriteFile(path, out, 0o644); err != nil {
		t.Fatal(err)
	}
}
