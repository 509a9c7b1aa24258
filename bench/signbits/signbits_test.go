package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
)

const (
	testAtoms = 1500 // not a multiple of a tile
	testDim   = 128
)

// testLook returns a collection of a metric, a first look at it and queries.
func testLook(t *testing.T, metric collection.Metric) (*workload, *looks.Compiled) {
	t.Helper()
	rows := vectors.PowerLaw(vectors.Rand(3), testAtoms+queryCount, testDim)
	c, err := collection.Build(t.Context(), rows[:testAtoms*testDim], testDim, &collection.Options{Metric: metric, Seed: 1, Head: 32})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := looks.NewSet(c).Compile(t.Context(), backend.Look{Rep: backend.Panels, Rule: backend.Student, To: 64, Alpha: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	return newWorkload(c, rows[testAtoms*testDim:]), l
}

// lawful is the bound that fails with probability alpha, from codes and terms of the atom i itself, in
// float64: what every form of the look may only exceed.
func lawful(w *workload, l *looks.Compiled, i, j int) float64 {
	c, q := w.c, &w.queries[j]
	var atom [1]collection.Query
	row := c.Row(int(c.Order[i]))
	c.PrepareBatch(atom[:], row, []float64{c.Metric.Factor(collection.Norm(row))}, nil)
	b := 0.0
	for k, v := range atom[0].Head {
		b += math.Ldexp(float64(v), atom[0].Exp) * float64(q.Head[k])
	}
	for k, v := range c.Code(i)[c.R : c.R+l.To] {
		b += float64(l.Scale[i]) * (float64(v) - 128) * float64(q.Rest[k])
	}
	b += float64(l.Radius[i]) * l.Reach * q.RestNorm
	if l.Offset != nil {
		b += float64(l.Offset[i]) * math.Ldexp(1, -q.Exp)
	}
	return b
}

// TestSignBitsKeepWhatTheLawKeeps: at a threshold equal to the bound that the law gives a pair, the
// pair passes, in both orders and with all forms of offsets; so it does in the look as it is. Bounds do
// not exceed the law's by much more than codes of 8 bits and a tile's maxima explain.
func TestSignBitsKeepWhatTheLawKeeps(t *testing.T) {
	for metric, forms := range map[collection.Metric][]offsetForm{
		collection.InnerProduct: {noOffset}, collection.Cosine: {noOffset}, collection.Euclidean: {offsetMost, offsetCoordinate},
	} {
		w, l := testLook(t, metric)
		if w.c.R != 32 {
			t.Fatalf("%d head directions", w.c.R)
		}
		scanners := map[string]scanner{"as it is": newAtomwise(w, l)}
		orders := map[string][]uint32{"as it is": storedOrder(testAtoms), "terms coded": storedOrder(testAtoms)}
		if m, err := newMixed(t.Context(), w, l); err != nil || m == nil != (metric == collection.Euclidean) {
			t.Fatalf("%v: mixed codes %v, %v", metric, m, err)
		} else if m != nil {
			scanners["terms coded"] = m
		}
		for _, form := range forms {
			for name, order := range map[string][]uint32{"as stored": storedOrder(testAtoms), "by radius": orderByRadius(testAtoms, l.Radius, 0)} {
				name += form.String()
				scanners[name], orders[name] = newTiled(w, l, order, form), order
			}
		}
		for name, s := range scanners {
			excess, sizes := 0.0, 0.0
			bounds := make([]float64, testAtoms*queryCount)
			never := slices.Repeat([]float64{math.Inf(-1)}, queryCount)
			s.scan(0, testAtoms, never, func(at, j int, bound float64) { bounds[at*queryCount+j] = bound })
			for at := 0; at < testAtoms; at += 7 {
				for j := range queryCount {
					law := lawful(w, l, int(orders[name][at]), j)
					if bound := bounds[at*queryCount+j]; !(bound >= law) {
						t.Fatalf("%v, %s: atom %d, query %d has bound %g, by the law %g", metric, name, at, j, bound, law)
					}
					excess += bounds[at*queryCount+j] - law
					sizes += w.queries[j].Norm * float64(l.Norm[orders[name][at]])
				}
			}
			if excess > .25*sizes {
				t.Errorf("%v, %s: bounds exceed the law's by %.3f of the norms", metric, name, excess/sizes)
			}
			for at := range 40 { // thresholds, one pair at a time
				j, law := at%queryCount, lawful(w, l, int(orders[name][at]), at%queryCount)
				tau := slices.Repeat([]float64{math.Inf(1)}, queryCount)
				tau[j] = law
				passed := false
				s.scan(0, 512, tau, func(a, q int, bound float64) {
					passed = passed || a == at && q == j
					if q != j {
						t.Errorf("%v, %s: query %d passes an infinite threshold", metric, name, q)
					}
				})
				if !passed {
					t.Errorf("%v, %s: atom %d is dropped at its own bound", metric, name, at)
				}
			}
		}
	}
}

// TestRoundingIsCharged takes a query along the rounding error of an atom's codes, and an atom along that
// of a query's, so that the errors of all coordinates add up: what a threshold charges for either is
// enough, and little more.
func TestRoundingIsCharged(t *testing.T) {
	const width, atoms = 96, 3
	r := vectors.Rand(5)
	y, z := vectors.Gaussian(r, atoms, width), vectors.Gaussian(r, 2, width)
	s := &tiled{workload: &workload{}, width: width, panel: make([]float32, width*queryCount), look: &looks.Compiled{Terms: looks.Terms{
		Radius: make([]float32, atoms), XNorm: make([]float32, atoms), Norm: make([]float32, atoms)}}}
	codes, all := make([]float32, atoms*width), []uint32{0, 1, 2}
	z[width] = 20 // the codes of query 1 are coarse; atom 2 is along their error, and its coordinates do not set the tile's step
	step, _ := encode(s.panel, 1, z[width:])
	for c, v := range z[width:] {
		y[2*width+c] = (v - s.panel[c*queryCount+1]*float32(step)) / float32(step) * 4
	}
	got := s.encodeTile(codes, y, all, noOffset)
	for c, v := range y[:width] { // query 0 is along the error of atom 0, and long enough that its own rounding is small
		z[c] = (v - codes[c]*float32(got.step)) * 1e3
	}
	for j := range 2 {
		step, err := encode(s.panel, j, z[j*width:(j+1)*width])
		s.step, s.err, s.size = append(s.step, step), append(s.err, err), append(s.size, collection.Norm(z[j*width:(j+1)*width])+err)
		s.factors = append(s.factors, looks.Factors{})
	}
	for _, pair := range []struct {
		atom, query int
		share       float64 // of the charge that the error is at least
	}{{0, 0, .4}, {1, 0, -1}, {1, 1, -1}, {2, 1, .4}} {
		exact, coded := 0.0, 0.0
		for c := range width {
			exact += float64(y[pair.atom*width+c]) * float64(z[pair.query*width+c])
			coded += float64(codes[pair.atom*width+c]) * float64(s.panel[c*queryCount+pair.query])
		}
		off, charged := exact-coded*got.step*s.step[pair.query], s.constant(&got, pair.query)
		if off > charged || off < pair.share*charged {
			t.Errorf("atom %d, query %d: off by %g, charged %g", pair.atom, pair.query, off, charged)
		}
		if least := s.threshold(&got, pair.query, exact); coded < float64(least) || float64(least) > math.Ceil((exact-charged)/(got.step*s.step[pair.query])) {
			t.Errorf("atom %d, query %d: codes give %g, %d pass", pair.atom, pair.query, coded, least)
		}
	}
}

// TestOrderByRadius: the first chunk stays, other atoms stay in their band, and radii ascend there.
func TestOrderByRadius(t *testing.T) {
	const n = 2*bandAtoms + 100
	r := vectors.Rand(1)
	radius := make([]float32, n+28) // padded, as a stage's terms are
	for i := range n {
		radius[i] = r.Float32()
	}
	order := orderByRadius(n, radius, 2000)
	if len(order) != n || !slices.Equal(order[:2048], storedOrder(2048)) {
		t.Fatalf("%d atoms, first %v", len(order), order[:4])
	}
	for lo := 2048; lo < n; lo = (lo/bandAtoms + 1) * bandAtoms {
		band := slices.Clone(order[lo:min(n, (lo/bandAtoms+1)*bandAtoms)])
		if !slices.IsSortedFunc(band, func(a, b uint32) int {
			if radius[a] < radius[b] {
				return -1
			}
			return 1
		}) {
			t.Errorf("radii do not ascend from atom %d on", lo)
		}
		slices.Sort(band)
		if int(band[0]) != lo || int(band[len(band)-1]) != lo+len(band)-1 {
			t.Errorf("the band at %d has atoms %d to %d", lo, band[0], band[len(band)-1])
		}
	}
}

// TestTighten: after a chunk the threshold is the k-th best score among those scored, and arms below it
// are dropped.
func TestTighten(t *testing.T) {
	w, _ := testLook(t, collection.InnerProduct)
	order := storedOrder(testAtoms)
	scores := make([]float64, 100)
	w.c.Scores(scores, w.vector(0), w.c.Order[:100])
	var list []entry
	for i, s := range scores {
		list = append(list, entry{i, math.Ldexp(s, -w.queries[0].Exp)})
	}
	left, best, tau := w.tighten(0, order, list, nil, math.Inf(-1), 10)
	slices.Sort(scores)
	if want := math.Ldexp(scores[90], -w.queries[0].Exp); len(left) != 0 || tau != want || len(best) != 10 || best[0] != scores[90] {
		t.Errorf("%d left, threshold %g, want %g, best %v", len(left), tau, want, best)
	}
}

// TestRun makes a table of a small set, and refuses what it cannot use.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, rows int) string {
		path := filepath.Join(folder, name)
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		err = dataset.WriteNPY(f, rows, testDim, vectors.PowerLaw(vectors.Rand(uint64(rows)), rows, testDim))
		if closed := f.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		return path
	}
	o := options{atoms: write("atoms.npy", 20000), queries: write("queries.npy", queryCount), metric: "l2", ks: "1", costs: "cpu", width: 64, delta: .01}
	var out bytes.Buffer
	if err := run(t.Context(), &out, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"20000 x 128, l2", "k = 1: auto ", "as it is, 64", "sign bits, 64, by radius, offset coded"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	o.agreements = true
	out.Reset()
	if err := run(t.Context(), &out, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"codes, 64", "agreements, 128 ", "agreements, 128, by a line"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	few := o
	few.queries = write("few.npy", 3)
	wrong := o
	wrong.ks = "10,x"
	for want, o := range map[string]options{"has 3 queries": few, `"x" is not a number of atoms`: wrong} {
		if err := run(t.Context(), &out, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
