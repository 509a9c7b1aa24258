package collection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/bandit"
	"thresher/internal/race"
	"thresher/simd"
)

// forSets builds every kind of data at several dimensions and metrics.
func forSets(t *testing.T, dims []int, f func(t *testing.T, c *Collection)) {
	for _, dim := range dims {
		for _, kind := range kinds {
			for _, m := range metrics {
				if testing.Short() && (dim > 300 || dim > 63 && m == Euclidean) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%v", kind, dim, m), func(t *testing.T) {
					n := 131 // two panels and three atoms; enough for a head of 32
					rows := data(kind, n, dim, uint64(dim))
					if m == Euclidean {
						rows = squaredSafe(rows)
					}
					f(t, build(t, rows, dim, &Options{Metric: m, Seed: 11}))
				})
			}
		}
	}
}

// testDecode returns the first width rest codes of atom i times scale, zero beyond.
func (c *Collection) testDecode(i, width int, scale float64) []float64 {
	x := make([]float64, c.D)
	for j, v := range c.Code(i)[c.R : c.R+width] {
		x[j] = scale * float64(int(v)-simd.Bias)
	}
	return x
}

// testSigns returns the signs of atom i times scale. In its row they follow the head's
// codes.
func (c *Collection) testSigns(i int, scale float64) []float64 {
	s := c.Stages[c.StageOf(Signs)]
	x := make([]float64, c.D)
	for j := range x {
		x[j] = scale
		if s.Rows[i*s.Stride+c.R+j/8]>>(j%8)&1 == 0 {
			x[j] = -scale
		}
	}
	return x
}

// ulps is the allowance for the float64 sums of these tests and of the tested code: a
// thousandth of float32's precision.
const ulps = 1e-10

func TestTermsBoundTheirAtoms(t *testing.T) {
	race.Skip(t, "one goroutine")
	forSets(t, []int{16, 17, 63, 128, 256, 300, 768}, func(t *testing.T, c *Collection) {
		if !c.Coded() {
			t.Fatal("not coded")
		}
		// The error of float64 sums of D terms where a difference is small.
		moments := 3 * math.Sqrt(float64(c.D+8)*0x1p-53)
		whole := len(c.Stages) - 1
		if c.Stages[whole].Width != c.D {
			t.Fatalf("last stage has width %d of %d", c.Stages[whole].Width, c.D)
		}
		for i := range c.N {
			head, rest := c.testParts(i)
			onorm := floats.Norm(rest, 2)
			least := func(what string, have float32, want, slack float64) {
				t.Helper()
				if !(float64(have) >= want*(1-ulps)-slack) {
					t.Errorf("atom %d: %s is %g, the truth %g (short by %.2g)", i, what, have, want, 1-float64(have)/want)
				}
			}
			close := func(what string, have float32, want float64, rel float64) {
				t.Helper()
				if float64(have) > want*rel+1e-36 {
					t.Errorf("atom %d: %s is %g, far above %g", i, what, have, want)
				}
			}
			if norm := floats.Norm(c.testWorking(i), 2); norm < tinyNorm {
				// An atom without codes has terms that cover all of it.
				least("HeadErr", c.HeadErr[i], norm, 0)
				for k := range c.Stages {
					l := &c.Stages[k]
					if l.Coding == Int8 {
						least("Beyond", l.Beyond[i], norm, 0)
					}
					if k < whole {
						// By Cauchy-Schwarz, for every reach >= kappa.
						least("Radius", l.Radius[i], norm/c.Kappa, 0)
					}
					if l.Scale[i] != 0 || l.XNorm[i] != 0 {
						t.Errorf("atom %d: scale %g, |x~| %g of an atom of norm %g", i, l.Scale[i], l.XNorm[i], norm)
					}
				}
				for j, v := range c.Code(i) {
					if v != simd.Bias {
						t.Fatalf("atom %d: code %d is %d", i, j, v)
					}
				}
				continue
			}
			coded := make([]float64, c.R)
			for j, v := range c.Code(i)[:c.R] {
				coded[j] = float64(c.HeadScale[i]) * float64(int(v)-simd.Bias)
			}
			hn, he := floats.Norm(coded, 2), floats.Distance(head, coded, 2)
			least("HeadNorm", c.HeadNorm[i], hn, 0)
			least("HeadErr", c.HeadErr[i], he, 0)
			close("HeadNorm", c.HeadNorm[i], hn, 1.0001)
			close("HeadErr", c.HeadErr[i], he+1e-6*floats.Norm(head, 2), 1.0001)

			for k := range c.Stages {
				l := &c.Stages[k]
				at, step := fmt.Sprintf("stage %d ", l.Width), float64(c.RowScale[i])
				x, scaled := c.testDecode(i, l.Width, step), c.testDecode(i, l.Width, float64(l.Scale[i]))
				if l.Coding == Signs {
					at, step = "signs ", 1
					x, scaled = c.testSigns(i, 1), c.testSigns(i, float64(l.Scale[i]))
					for j, v := range rest {
						// The test's rotation differs from the build's in the last bits.
						if math.Abs(v) > 1e-3*onorm/math.Sqrt(float64(c.D)) && v*x[j] < 0 {
							t.Errorf("atom %d: coordinate %d is %g, its sign %g", i, j, v, x[j])
						}
					}
				} else {
					beyond := floats.Distance(rest, x, 2)
					least(at+"Beyond", l.Beyond[i], beyond, 0)
					close(at+"Beyond", l.Beyond[i], beyond+1e-6*onorm, 1.001)
				}
				least(at+"XNorm", l.XNorm[i], floats.Norm(scaled, 2), 0)
				close(at+"XNorm", l.XNorm[i], floats.Norm(scaled, 2), 1.0001)
				if k == whole {
					if l.Radius[i] != 0 {
						t.Errorf("atom %d: whole row has radius %g", i, l.Radius[i])
					}
					continue
				}
				if onorm == 0 && l.Coding == Signs {
					continue // zero for certain, and so are its terms
				}
				if floats.Norm(x, 2) == 0 {
					if l.Scale[i] != 0 && floats.Norm(scaled, 2) != 0 {
						t.Errorf("atom %d: scale %g of nothing", i, l.Scale[i])
					}
					least(at+"Radius", l.Radius[i], onorm/c.Kappa, 0)
					continue
				}
				// H = |o| |x - its projection on o|, which loses no digits.
				A, O2 := floats.Dot(x, rest), floats.Dot(rest, rest)
				across := make([]float64, c.D)
				floats.AddScaledTo(across, x, -A/O2, rest)
				H := math.Sqrt(O2) * floats.Norm(across, 2)
				a := (A + c.Kappa*H) / O2
				least(at+"Radius", l.Radius[i], H/(a*onorm), moments*floats.Norm(x, 2)/a)
				if e := math.Abs(float64(l.Scale[i])*a/step - 1); step > 1e-30 && e > 0x1p-23+moments*c.Kappa*2 {
					t.Errorf("atom %d: %sScale is %g, the truth %g: off by %g", i, at, l.Scale[i], step/a, e)
				}
			}
		}
	})
}

func TestPanelsRepeatCodesAndMaxima(t *testing.T) {
	forSets(t, []int{16, 63, 128, 300, 768}, func(t *testing.T, c *Collection) {
		width := c.R + c.PanelWidth
		for p := range c.PanelCount() {
			panel := c.Panels[p*c.PanelStride() : (p+1)*c.PanelStride()]
			for lane := range PanelAtoms {
				i := p*PanelAtoms + lane
				for j := range width {
					want := uint8(simd.Bias) // of no atom
					if i < c.N {
						want = c.Code(i)[j]
					}
					if got := panel[j/4*256+lane*4+j%4]; got != want {
						t.Fatalf("panel %d lane %d code %d is %d, want %d", p, lane, j, got, want)
					}
				}
				if i >= c.N {
					for _, s := range c.padded() {
						if s.terms[i] != 0 {
							t.Fatalf("%s of padded lane %d is %g", s.name, i, s.terms[i])
						}
					}
				}
			}
			if got, want := c.NormCaps[p], slices.Max(c.Norm[p*PanelAtoms:]); got != want {
				t.Errorf("panel %d has the cap %g, want %g", p, got, want)
			}
			if c.Metric != Euclidean {
				continue
			}
			least := math.Inf(1)
			for i := p * PanelAtoms; i < c.N; i++ {
				least = min(least, floats.Norm(c.testWorking(i), 2))
			}
			if got := float64(c.NormFloors[p]); !(got <= least*(1+1e-14)) || got < least*(1-1e-6)-1e-22 {
				t.Errorf("panel %d has the floor %g, the least norm from there on is %g", p, got, least)
			}
		}
		for i, r := range c.Codes {
			if r == 0 {
				t.Fatalf("code %d of row %d is 0, outside [1, 255]", i%(c.R+c.D), i/(c.R+c.D))
			}
		}
	})
}

type paddedTerms struct {
	name  string
	terms []float32
}

// padded returns the per-atom terms that are padded to the end of the last panel.
func (c *Collection) padded() []paddedTerms {
	p := []paddedTerms{{"HeadScale", c.HeadScale}, {"HeadNorm", c.HeadNorm}, {"HeadErr", c.HeadErr}, {"RowScale", c.RowScale}}
	if c.Offset != nil {
		p = append(p, paddedTerms{"Offset", c.Offset})
	}
	for _, l := range c.Stages {
		p = append(p, paddedTerms{fmt.Sprintf("Scale %d", l.Width), l.Scale}, paddedTerms{fmt.Sprintf("Radius %d", l.Width), l.Radius},
			paddedTerms{fmt.Sprintf("XNorm %d", l.Width), l.XNorm})
		if l.Coding == Int8 {
			p = append(p, paddedTerms{fmt.Sprintf("Beyond %d", l.Width), l.Beyond})
		}
	}
	return p
}

func TestOrderNormsAndOffsets(t *testing.T) {
	forSets(t, []int{3, 16, 300}, func(t *testing.T, c *Collection) {
		seen := make([]bool, c.N)
		for i, row := range c.Order {
			if seen[row] {
				t.Fatalf("row %d stands twice", row)
			}
			seen[row] = true
			norm := floats.Norm(c.testWorking(i), 2)
			if !(float64(c.Norm[i]) >= norm*(1-1e-15)) || float64(c.Norm[i]) > norm*(1+1e-6)+1e-44 {
				t.Errorf("atom %d: Norm %g, the truth %g", i, c.Norm[i], norm)
			}
			// No later atom is longer, or for l2 shorter, by more than a step of 2^(1/16).
			if i > 0 {
				longer, shorter := c.Norm[i-1], c.Norm[i]
				if c.Metric == Euclidean {
					longer, shorter = shorter, longer
				}
				if float64(shorter) > float64(longer)*math.Pow(2, 1./16)*(1+1e-6) {
					t.Errorf("atom %d of norm %g stands after %g", i, c.Norm[i], c.Norm[i-1])
				}
			}
			exact := floats.Norm(relative(c, c.Row(int(row))), 2)
			switch c.Metric {
			case Cosine:
				if math.Abs(c.RowNorm(int(row))-exact) > 1e-14*exact {
					t.Errorf("row %d: RowNorm %g, the truth %g", row, c.RowNorm(int(row)), exact)
				}
			case Euclidean:
				want := -exact * exact / 2
				if float64(c.Offset[i]) < want*(1+ulps)-0 || float64(c.Offset[i]) > want*(1-0x1p-22)+1e-44 {
					t.Errorf("atom %d: Offset %g, the truth %g", i, c.Offset[i], want)
				}
			}
		}
		if (c.Metric == Euclidean) != (c.Offset != nil) || (c.Metric == Cosine) != (c.RowSquares != nil) {
			t.Errorf("metric %v has %d offsets and %d row norms", c.Metric, len(c.Offset), len(c.RowSquares))
		}
	})
}

// TestOrderIsRandomWithinAStep: atoms of equal norms are not in the order of the file, and
// another seed gives another order.
func TestOrderIsRandomWithinAStep(t *testing.T) {
	rows := data("one-hot", 500, 40, 1)
	a, b := build(t, rows, 40, &Options{Metric: InnerProduct, Seed: 1}), build(t, rows, 40, &Options{Metric: InnerProduct, Seed: 2})
	same, kept := 0, 0
	for i, row := range a.Order {
		if row == b.Order[i] {
			same++
		}
		if int(row) == i {
			kept++
		}
	}
	// Each count is Poisson of mean 1: 15 or more has probability below 1e-12.
	if same >= 15 || kept >= 15 {
		t.Errorf("%d atoms stand alike under two seeds, %d as in the file", same, kept)
	}
}

// TestHeadAndRestAddUpToTheScore checks the identity of docs/guarantee.md: the head's and
// the rest's products add up to the score to within Slack |q||v|, and those of the stored
// codes to within their error terms besides.
func TestHeadAndRestAddUpToTheScore(t *testing.T) {
	race.Skip(t, "one goroutine")
	r := rand.New(rand.NewPCG(21, 22))
	forSets(t, []int{16, 63, 128, 300, 768}, func(t *testing.T, c *Collection) {
		if !(c.Slack > 0 && c.Slack < .01) || !(c.CodeSlack > 0 && c.CodeSlack < .01) {
			t.Fatalf("Slack %g, CodeSlack %g", c.Slack, c.CodeSlack)
		}
		queries := [][]float32{c.Row(int(c.Order[0])), c.Row(int(c.Order[c.N/2])), make([]float32, c.Dim)}
		for _, f := range []float64{1, 1e-30, 1e15} {
			q := make([]float32, c.Dim)
			for j := range q {
				q[j] = float32(f * r.NormFloat64())
			}
			queries = append(queries, q)
		}
		hot := make([]float32, c.Dim)
		hot[c.Dim-1] = -5
		queries = append(queries, hot)
		whole := &c.Stages[len(c.Stages)-1]
		var p Query
		for k, q := range queries {
			truth := relative(c, q)
			scale := 1.0
			if n := floats.Norm(truth, 2); c.Metric == Cosine && n > 0 {
				scale = 1 / n
			}
			c.Prepare(&p, q, scale, nil)
			floats.Scale(math.Ldexp(scale, -p.Exp), truth)
			qn := floats.Norm(truth, 2)
			qh, qr := wide(p.Head), wide(p.Rest)
			if !(p.Norm >= qn && p.Norm <= qn*(1+0x1p-22)) || p.HeadNorm < floats.Norm(qh, 2) || p.RestNorm < floats.Norm(qr, 2) {
				t.Errorf("query %d: norms %g, %g, %g are too small", k, p.Norm, p.HeadNorm, p.RestNorm)
			}
			for i := 0; i < c.N; i += 3 {
				v := c.testWorking(i)
				score := floats.Dot(truth, v)
				head, rest := c.testParts(i)
				room := c.Slack * p.Norm * float64(c.Norm[i])
				if e := math.Abs(floats.Dot(qh, head) + floats.Dot(qr, rest) - score); !(e <= room) {
					t.Errorf("query %d, atom %d: score %g, parts off by %g of %g allowed", k, i, score, e, room)
				}
				var coded float64
				for j, x := range c.Code(i)[:c.R] {
					coded += float64(c.HeadScale[i]) * float64(int(x)-simd.Bias) * qh[j]
				}
				coded += floats.Dot(c.testDecode(i, c.D, float64(c.RowScale[i])), qr)
				room += p.HeadNorm*float64(c.HeadErr[i]) + p.RestNorm*float64(whole.Beyond[i])
				if e := math.Abs(coded - score); !(e <= room) {
					t.Errorf("query %d, atom %d: score %g, codes off by %g of %g allowed", k, i, score, e, room)
				}
			}
		}
	})
}

// TestSlackInLargeDimensions: the rounding measured stays far below Slack, as it must if
// Slack is a bound at all sizes.
func TestSlackInLargeDimensions(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: large dimensions")
	}
	for _, s := range []struct{ n, dim, head int }{{1600, 4096, 32}, {20, 65536 + 32, 0}} {
		n, dim := s.n, s.dim
		c := build(t, data("powerlaw", n, dim, 3), dim, &Options{Metric: InnerProduct, Seed: 4})
		if c.R != s.head {
			t.Fatalf("dimension %d has a head of %d", dim, c.R)
		}
		q := data("gaussian", 1, dim, 5)
		var p Query
		c.Prepare(&p, q, 1, nil)
		truth := relative(c, q)
		floats.Scale(math.Ldexp(1, -p.Exp), truth)
		worst := 0.0
		for i := 0; i < n; i += max(1, n/20) {
			head, rest := c.testParts(i)
			e := math.Abs(floats.Dot(wide(p.Head), head) + floats.Dot(wide(p.Rest), rest) - floats.Dot(truth, c.testWorking(i)))
			worst = max(worst, e/(c.Slack*p.Norm*float64(c.Norm[i])))
		}
		if !(worst < .1) {
			t.Errorf("dimension %d: %.2g of the slack is used", dim, worst)
		}
	}
}

// TestStudentBoundHoldsFromStoredTerms: over rotations, a true score exceeds its Student
// bound from the stored terms with probability at most alpha. Of 4,000 pairs at alpha .02
// at most 80 are expected; the alarm is at 130 (false alarm below 1e-6 if every pair failed
// with probability alpha).
func TestStudentBoundHoldsFromStoredTerms(t *testing.T) {
	const dim, alpha = 128, .02
	rows := data("gaussian", 64, dim, 8)
	failures, pairs := 0, 0
	var p Query
	for seed := range uint64(100) {
		c := build(t, rows, dim, &Options{Metric: InnerProduct, Seed: seed, NoHead: true})
		l := &c.Stages[0]
		reach := bandit.Reach(alpha, c.Kappa, c.D)
		for k := range 40 {
			i := (k*13 + int(seed)) % c.N
			v := c.testWorking(i)
			q := data("gaussian", 1, dim, seed*1000+uint64(k))
			for j := range q { // partly towards the atom: true scores matter
				q[j] += float32(v[j] * float64(k%4) / 3)
			}
			c.Prepare(&p, q, 1, nil)
			score := floats.Dot(relative(c, q), v) * math.Ldexp(1, -p.Exp)
			x := c.testDecode(i, l.Width, float64(l.Scale[i]))
			upper := floats.Dot(x, wide(p.Rest)) + reach*float64(l.Radius[i])*p.RestNorm + c.CodeSlack*p.RestNorm*float64(max(l.XNorm[i], c.Norm[i]))
			pairs++
			if upper < score {
				failures++
			}
		}
	}
	if failures > 130 {
		t.Errorf("%d of %d scores lie above their bound at alpha %g", failures, pairs, alpha)
	}
	if failures == 0 {
		t.Errorf("no score of %d lies above its bound at alpha %g: the bound cannot be what it says", pairs, alpha)
	}
}

// TestCodesInParts: long rows, of which a goroutine holds a few at a time, have the same
// codes.
func TestCodesInParts(t *testing.T) {
	for _, dim := range []int{100, 300} {
		c := build(t, data("gaussian", 150, dim, 1), dim, &Options{Metric: Cosine})
		codes, panels, radius := slices.Clone(c.Codes), slices.Clone(c.Panels), slices.Clone(c.Stages[0].Radius)
		clear(c.Codes)
		clear(c.Panels)
		clear(c.Stages[0].Radius)
		b := &builder{c: c, rowNorms: make([]float64, c.N)}
		for i := range b.rowNorms {
			b.rowNorms[i] = c.RowNorm(i)
		}
		k := newCoder(b)
		if k.split.slots != PanelAtoms {
			t.Fatalf("%d slots", k.split.slots)
		}
		k.split.slots = 5
		for lo := 0; lo < c.N; lo += PanelAtoms {
			k.codeAtoms(lo, min(lo+PanelAtoms, c.N))
			c.fillPanel(lo, min(lo+PanelAtoms, c.N))
		}
		if !slices.Equal(codes, c.Codes) || !slices.Equal(panels, c.Panels) || !slices.Equal(radius, c.Stages[0].Radius) {
			t.Errorf("dimension %d: coded otherwise five at a time", dim)
		}
	}
}

// TestBeyondOfExactCodes: if a code is exact, |o - x| is rounding only. The image of a
// one-hot row under a fast rotation of few rounds has few distinct values, which are coded
// exactly.
func TestBeyondOfExactCodes(t *testing.T) {
	for _, dim := range []int{512, 2048, 8192} {
		for _, kind := range []string{"one-hot", "zero", "sparse"} {
			c := build(t, data(kind, 40, dim, 1), dim, &Options{Metric: Cosine, NoHead: true})
			l := &c.Stages[len(c.Stages)-1]
			for i := range c.N {
				_, rest := c.testParts(i)
				if d := floats.Distance(rest, c.testDecode(i, c.D, float64(c.RowScale[i])), 2); float64(l.Beyond[i]) < d*(1-ulps) {
					t.Errorf("dimension %d, %s, atom %d: Beyond %g, the truth %g", dim, kind, i, l.Beyond[i], d)
				}
			}
		}
	}
}

// TestNormCapLooksAhead: within a step norms are in random order, so a panel's cap covers
// the later panels.
func TestNormCapLooksAhead(t *testing.T) {
	const n, dim = 640, 20
	rows := data("gaussian", n, dim, 1)
	for i := range n {
		row := rows[i*dim : (i+1)*dim]
		f := (1.01 + .03*float64(i)/n) / floats.Norm(wide(row), 2) // one step: [1, 1.044)
		for j := range row {
			row[j] = float32(f * float64(row[j]))
		}
	}
	c := build(t, rows, dim, &Options{Metric: InnerProduct})
	ahead := 0
	for p := range c.PanelCount() {
		own, rest := slices.Max(c.Norm[p*PanelAtoms:(p+1)*PanelAtoms]), slices.Max(c.Norm[p*PanelAtoms:])
		if own < rest {
			ahead++
		}
		if c.NormCaps[p] != rest {
			t.Errorf("panel %d has the cap %g, later atoms have %g", p, c.NormCaps[p], rest)
		}
	}
	if ahead == 0 {
		t.Error("no panel is outdone by a later one: the data shows nothing")
	}
}
