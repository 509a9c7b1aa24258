package collection

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/simd"
)

// measuredCertain returns, for each stage, the share of atoms whose deterministic upper
// bound, computed from their codes and the query without coding it, reaches the k-th best
// exact score of the other atoms.
func measuredCertain(c *Collection, k, queries int) []float64 {
	shares := make([]float64, len(c.Stages))
	whole := &c.Stages[len(c.Stages)-1]
	var signs SignTerms
	if c.StageOf(Signs) >= 0 {
		signs = c.SignTerms()
	}
	var p Query
	scores := make([]float64, c.N)
	for m := range queries {
		self := (m*7919 + 13) % c.N
		c.Prepare(&p, c.Row(int(c.Order[self])), 1, nil)
		offset := func(i int) float64 {
			if c.Offset == nil {
				return 0
			}
			return math.Ldexp(float64(c.Offset[i]), -p.Exp)
		}
		q := c.testWorking(self)
		floats.Scale(math.Ldexp(1, -p.Exp), q)
		for i := range c.N {
			scores[i] = simd.Dot(c.Row(int(c.Order[i])), q) + offset(i)
		}
		scores[self] = math.Inf(-1)
		slices.Sort(scores)
		theta := scores[c.N-k]
		for i := range c.N {
			code := c.Code(i)
			bound, from := p.HeadNorm*float64(c.HeadErr[i])+offset(i), 0
			for j, v := range p.Head {
				bound += float64(c.HeadScale[i]) * float64(int(code[j])-simd.Bias) * float64(v)
			}
			heads := bound
			for n := range c.Stages {
				l := &c.Stages[n]
				if l.Coding != Int8 {
					bySigns := heads + float64(signs.Scale[i])*floats.Dot(c.testSigns(i, 1), wide(p.Rest)) + float64(signs.Radius[i])*p.RestNorm
					if bySigns >= theta {
						shares[n] += 1 / float64(queries*c.N)
					}
					continue
				}
				for ; from < l.Width; from++ {
					bound += float64(c.RowScale[i]) * float64(int(code[c.R+from])-simd.Bias) * float64(p.Rest[from])
				}
				seen, beyond := norm(p.Rest[:l.Width]), norm(p.Rest[l.Width:])
				if l.Width == c.D {
					seen, beyond = 0, p.RestNorm // Beyond is the code's error
				}
				if bound+float64(l.Beyond[i])*beyond+float64(whole.Beyond[i])*seen >= theta {
					shares[n] += 1 / float64(queries*c.N)
				}
			}
		}
	}
	return shares
}

func norm(x []float32) float64 { return math.Sqrt(simd.SumSquares(x)) }

// TestCertainForecasts: the forecast serves the choice of a plan, so it must be within a factor of two of the
// measured share (shares below .1% count as .1%). It is made from 12 sampled queries and
// compared with 15 others. Both are seeded.
func TestCertainForecasts(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: measures shares by hand")
	}
	for _, s := range []struct {
		name   string
		rows   []float32
		dim    int
		noHead bool
		metric Metric
	}{
		{"gaussian 3000 x 256", data("gaussian", 3000, 256, 5), 256, false, InnerProduct},
		{"clustered 3500 x 300", clustered(3500, 300, 2), 300, true, InnerProduct},
		{"clustered 3500 x 300, head", clustered(3500, 300, 2), 300, false, InnerProduct},
		{"clustered 3500 x 300, l2", clustered(3500, 300, 2), 300, false, Euclidean},
		{"powerlaw 2500 x 800", data("powerlaw", 2500, 800, 4), 800, false, InnerProduct},
		{"powerlaw 2500 x 800, no head", data("powerlaw", 2500, 800, 4), 800, true, InnerProduct},
	} {
		c := build(t, s.rows, s.dim, &Options{Seed: 3, NoHead: s.noHead, Metric: s.metric})
		const k = 10
		for j, want := range measuredCertain(c, k, 15) {
			got := c.Forecast().Certain[slices.Index(c.Forecast().Ks, k)][j]
			t.Logf("%s, stage %d+%d: forecast %.4f, measured %.4f", s.name, c.R, c.Stages[j].Width, got, want)
			if ratio := max(got, .001) / max(want, .001); ratio > 2 || ratio < .5 {
				t.Errorf("%s, stage %d+%d: forecast %.4f, measured %.4f", s.name, c.R, c.Stages[j].Width, got, want)
			}
		}
		for i := range c.Forecast().Ks {
			for j, share := range c.Forecast().Certain[i] {
				if !(share >= 0 && share <= 1) || i > 0 && share < c.Forecast().Certain[i-1][j]*(1-1e-9) {
					t.Errorf("%s: shares %v", s.name, c.Forecast().Certain)
				}
			}
		}
	}
}

// TestPilotsWithoutCertain: files without this forecast, which older versions wrote, are
// read.
func TestPilotsWithoutCertain(t *testing.T) {
	old := Pilot{Ks: []int{1, 10}, Alpha: .001, Shares: [][]float64{{.1, .2}, {.3, .4}}}
	some, short, all := old, old, old
	some.Certain = old.Shares[:1]
	short.Certain = [][]float64{{.1, .2}, {.3}}
	all.Certain = old.Shares
	lame, cold := all, all
	far, near := all, all
	far.Reached, near.Reached = []float64{.1}, []float64{.1, .2}
	if far.fits(2) || !near.fits(2) {
		t.Errorf("atoms reached for some ks %v, for all %v", far.fits(2), near.fits(2))
	}
	begun, nested := all, all
	begun.Early, nested.Early = &Pilot{Ks: []int{1, 10}, Shares: old.Shares}, &Pilot{Ks: []int{1}, Shares: old.Shares[:1]}
	if !begun.fits(2) || nested.fits(2) {
		t.Errorf("early thresholds for all ks %v, for some %v", begun.fits(2), nested.fits(2))
	}
	lame.Candidates, cold.Candidates = old.Shares[:1], [][]float64{{.1}, {.3}}
	if lame.fits(2) || cold.fits(2) {
		t.Errorf("candidates for some ks %v, for some stages %v", lame.fits(2), cold.fits(2))
	}
	if !old.fits(2) || !all.fits(2) || some.fits(2) || short.fits(2) {
		t.Errorf("without %v, with %v, for some ks %v, for some stages %v", old.fits(2), all.fits(2), some.fits(2), short.fits(2))
	}
}
