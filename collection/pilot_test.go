package collection

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"thresher/bandit"
	"thresher/internal/race"
	"thresher/internal/vectors"
	"thresher/simd"
)

// clustered rows have centres, a decaying spectrum and norms that vary: like
// embeddings.
func clustered(n, dim int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	weight := make([]float64, dim)
	for j := range weight {
		weight[j] = math.Pow(float64(j+1), -.6)
	}
	centres := make([]float64, 40*dim)
	for i := range centres {
		centres[i] = 1.5 * r.NormFloat64()
	}
	x := make([]float32, n*dim)
	for i := range n {
		c := r.IntN(40)
		f := math.Exp(.2 * r.NormFloat64())
		for j := range dim {
			x[i*dim+j] = float32(f * (centres[c*dim+j] + r.NormFloat64()) * weight[j])
		}
	}
	return x
}

// measured returns, for each stage, the share of atoms whose upper bound reaches the k-th
// best exact score of the other atoms, and the share whose estimate does, from their codes
// and the query coded to 8 bits.
func measured(c *Collection, k, queries int) (shares, candidates []float64) {
	reach := bandit.Reach(c.Forecast().Alpha, c.Kappa, c.D)
	shares, candidates = make([]float64, len(c.Stages)), make([]float64, len(c.Stages))
	var p Query
	scores := make([]float64, c.N)
	for m := range queries {
		self := (m*7919 + 13) % c.N
		row := c.Row(int(c.Order[self]))
		scale := 1.0
		if c.Metric == Cosine {
			scale = 1 / floats.Norm(wide(row), 2)
		}
		c.Prepare(&p, row, scale, nil)
		q := c.testWorking(self)
		floats.Scale(math.Ldexp(1, -p.Exp), q)
		offset := make([]float64, c.N)
		for i := range c.N {
			if c.Offset != nil {
				offset[i] = math.Ldexp(float64(c.Offset[i]), -p.Exp)
			}
			scores[i] = simd.Dot(c.Row(int(c.Order[i])), q)
			if c.Metric == Cosine {
				scores[i] /= c.RowNorm(int(c.Order[i]))
			}
			scores[i] += offset[i]
		}
		scores[self] = math.Inf(-1)
		slices.Sort(scores)
		theta := scores[c.N-k]
		step := float64(simd.MaxAbs(p.Rest)) / 127
		var lost float64
		for _, v := range p.Rest {
			d := float64(v) - step*math.RoundToEven(float64(v)/step)
			lost += d * d
		}
		lost = math.Sqrt(lost)
		for i := range c.N {
			code := c.Code(i)
			head, rest, from := offset[i], 0.0, 0
			for j, v := range p.Head {
				head += float64(c.HeadScale[i]) * float64(int(code[j])-simd.Bias) * float64(v)
			}
			for n := range c.Stages {
				l := &c.Stages[n]
				if l.Coding == Signs {
					signs := floats.Dot(c.testSigns(i, float64(l.Scale[i])), wide(p.Rest))
					if head+signs >= theta {
						candidates[n] += 1 / float64(queries*c.N)
					}
					if head+signs+reach*float64(l.Radius[i])*p.RestNorm+lost*float64(l.XNorm[i])+p.HeadNorm*float64(c.HeadErr[i]) >= theta {
						shares[n] += 1 / float64(queries*c.N)
					}
					continue
				}
				for ; from < l.Width; from++ {
					rest += float64(int(code[c.R+from])-simd.Bias) * float64(p.Rest[from])
				}
				radius := reach * float64(l.Radius[i]) * p.RestNorm
				if l.Width == c.D {
					radius = float64(l.Beyond[i]) * p.RestNorm
				}
				if head+float64(l.Scale[i])*rest >= theta {
					candidates[n] += 1 / float64(queries*c.N)
				}
				rounding := lost*float64(l.XNorm[i]) + p.HeadNorm*float64(c.HeadErr[i])
				if head+float64(l.Scale[i])*rest+radius+rounding >= theta {
					shares[n] += 1 / float64(queries*c.N)
				}
			}
		}
	}
	return shares, candidates
}

// TestPilotForecasts: the forecast serves the choice of a plan, so it must be within a
// factor of three of the measured share (shares below .1% count as .1%, since visits then
// no longer decide). It is made from 32 sampled queries and compared with 15 others. Both
// are seeded.
func TestPilotForecasts(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: measures shares by hand")
	}
	for _, s := range []struct {
		name   string
		rows   []float32
		dim    int
		metric Metric
		noHead bool
	}{
		{"gaussian 2000 x 128", data("gaussian", 2000, 128, 1), 128, InnerProduct, false},
		{"gaussian 3000 x 256", data("gaussian", 3000, 256, 5), 256, InnerProduct, true},
		{"clustered 3500 x 300", clustered(3500, 300, 2), 300, InnerProduct, true},
		{"clustered 3500 x 300, cosine", clustered(3500, 300, 2), 300, Cosine, true},
		{"clustered 3500 x 300, cosine, head", clustered(3500, 300, 2), 300, Cosine, false},
		{"clustered 2500 x 800, l2", clustered(2500, 800, 3), 800, Euclidean, true},
		// Ten of 20,000: among 2,048 sampled atoms about one is expected.
		{"gaussian 20000 x 128", data("gaussian", 20000, 128, 6), 128, InnerProduct, true},
		{"powerlaw 3000 x 300", data("powerlaw", 3000, 300, 4), 300, InnerProduct, true},
	} {
		c := build(t, s.rows, s.dim, &Options{Metric: s.metric, Seed: 3, NoHead: s.noHead})
		if !c.Forecast().fits(len(c.Stages)) || !slices.Equal(c.Forecast().Ks, pilotKs(c.N)) {
			t.Fatalf("%s: forecast %+v", s.name, c.Forecast())
		}
		for k := range c.Forecast().Ks {
			for j, share := range c.Forecast().Shares[k] {
				if !(share >= 0 && share <= 1) || k > 0 && share < c.Forecast().Shares[k-1][j]*(1-1e-9) {
					t.Errorf("%s: shares %v", s.name, c.Forecast().Shares)
				}
			}
		}
		for _, k := range []int{10, 1000} {
			shares, candidates := measured(c, k, 15)
			at := slices.Index(c.Forecast().Ks, k)
			for j := range c.Stages {
				for _, x := range []struct {
					what      string
					got, want float64
				}{{"kept", c.Forecast().Shares[at][j], shares[j]}, {"candidates", c.Forecast().Candidates[at][j], candidates[j]}} {
					t.Logf("%s, k = %d, stage %d+%d, %s: forecast %.4f, measured %.4f", s.name, k, c.R, c.Stages[j].Width, x.what, x.got, x.want)
					if ratio := max(x.got, .001) / max(x.want, .001); ratio > 3 || ratio < 1./3 {
						t.Errorf("%s, k = %d, stage %d+%d, %s: forecast %.4f, measured %.4f", s.name, k, c.R, c.Stages[j].Width, x.what, x.got, x.want)
					}
				}
			}
		}
	}
}

// TestPilotOfTies: of the atoms that share no word with a query, and so tie with the k-th best of the first
// atoms, few are candidates.
func TestPilotOfTies(t *testing.T) {
	const n, dim = 6000, 512
	c := build(t, vectors.Counts(vectors.Rand(1), n, dim, 3), dim, &Options{Metric: InnerProduct, Seed: 3})
	early := c.Forecast().Early
	for i, k := range early.Ks {
		for j, share := range early.Candidates[i] {
			if k == 100 && (share < .01 || share > .15) {
				t.Errorf("k = %d, stage %d: %.4f of the atoms are candidates", k, j, share)
			}
		}
	}
}

// TestPilotOfNorms: where norms differ a first look ends early, and the share of atoms that it sees
// is forecast within a factor of 1.5, from 32 queries and compared with 40 others.
func TestPilotOfNorms(t *testing.T) {
	race.Skip(t, "one goroutine after the build; TestSameAtAnyThreadCount builds")
	const n, dim, k = 6000, 64, 10
	skewed := data("gaussian", n, dim, 1)
	r := rand.New(rand.NewPCG(1, 3))
	for i := range n {
		f := float32(math.Exp(.8 * r.NormFloat64()))
		for j := range dim {
			skewed[i*dim+j] *= f
		}
	}
	for _, s := range []struct {
		name   string
		rows   []float32
		metric Metric
		all    bool
	}{
		{"skewed", skewed, InnerProduct, false},
		{"skewed, l2", skewed, Euclidean, false},
		{"skewed, cosine", skewed, Cosine, true},
		{"gaussian", data("gaussian", n, dim, 1), InnerProduct, true},
	} {
		c := build(t, s.rows, dim, &Options{Metric: s.metric, Seed: 3})
		at := slices.Index(c.Forecast().Ks, k)
		got, want := c.Forecast().Reached[at], 0.
		const queries = 40
		for m := range queries {
			self := (m*7919 + 13) % c.N
			var p Query
			scale := 1.0
			if c.Metric == Cosine {
				scale = 1 / c.RowNorm(int(c.Order[self]))
			}
			c.Prepare(&p, c.Row(int(c.Order[self])), scale, nil)
			q := c.testWorking(self)
			floats.Scale(math.Ldexp(1, -p.Exp), q)
			scores := make([]float64, c.N)
			for i := range c.N {
				scores[i] = simd.Dot(c.Row(int(c.Order[i])), q)
				if c.Metric == Cosine {
					scores[i] /= c.RowNorm(int(c.Order[i]))
				}
				if c.Offset != nil {
					scores[i] += math.Ldexp(float64(c.Offset[i]), -p.Exp)
				}
			}
			scores[self] = math.Inf(-1)
			slices.Sort(scores)
			panels := 0
			best := func(from int) float64 { // of atoms of these norms in the direction of the query
				most := math.Inf(-1)
				for _, v := range c.Norm[from:] {
					s := p.Norm * float64(v)
					if c.Offset != nil {
						s -= math.Ldexp(float64(v)*float64(v)/2, -p.Exp)
					}
					most = max(most, s)
				}
				return most
			}
			for panels < c.PanelCount() && best(panels*PanelAtoms) >= scores[c.N-k] {
				panels++
			}
			want += float64(min(c.N, panels*PanelAtoms)) / float64(c.N*queries)
		}
		t.Logf("%s: forecast %.4f, measured %.4f", s.name, got, want)
		if ratio := got / want; ratio > 1.5 || ratio < 1/1.5 || s.all != (got > .999) {
			t.Errorf("%s: forecast %.4f, measured %.4f", s.name, got, want)
		}
		if !slices.IsSorted(c.Forecast().Reached) {
			t.Errorf("%s: %v for %v", s.name, c.Forecast().Reached, c.Forecast().Ks)
		}
	}
}

func TestPilotOfLittle(t *testing.T) {
	for _, n := range []int{1, 2, 9, 11} {
		for _, kind := range []string{"gaussian", "zero", "constant", "tiny"} {
			c := build(t, data(kind, n, 40, 1), 40, &Options{Metric: InnerProduct})
			if !c.Forecast().fits(len(c.Stages)) {
				t.Errorf("%d %s atoms: forecast %+v", n, kind, c.Forecast())
			}
			for _, s := range c.Forecast().Shares {
				for _, v := range s {
					if !(v >= 0 && v <= 1) {
						t.Errorf("%d %s atoms: share %g", n, kind, v)
					}
				}
			}
		}
	}
}

// TestPilotThresholds: the thresholds are the k-th best scores of all atoms but the query
// itself, then those of the first atoms, for any number of threads, and if there are several ranges
// of columns.
func TestPilotThresholds(t *testing.T) {
	for _, s := range []struct {
		name    string
		n, dim  int
		metric  Metric
		threads int
	}{
		{"inner product", 1500, 96, InnerProduct, 1},
		{"cosine", 1500, 96, Cosine, 3},
		{"l2", 1500, 96, Euclidean, 2},
		{"sampled whole, and fewer than the greatest k", 60, 96, InnerProduct, 2},
		{"two strips of columns", 300, 5000, InnerProduct, 2},
	} {
		rows := clustered(s.n, s.dim, 9)
		c := build(t, rows, s.dim, &Options{Metric: s.metric, Seed: 3})
		b := &builder{c: c, ctx: t.Context(), threads: s.threads, rowNorms: make([]float64, s.n)}
		for i := range b.rowNorms {
			b.rowNorms[i] = floats.Norm(relative(c, c.Row(i)), 2)
		}
		arms := []uint32{5, 17, 3, 40}
		if s.n == 60 { // all
			arms = arms[:0]
			for i := range s.n {
				arms = append(arms, uint32(i))
			}
		}
		pass := b.newPilotPass(arms)
		if err := pass.run(); err != nil {
			t.Fatal(err)
		}
		queries, scores, got := pass.queries, pass.scores, pass.thetas()
		for j := range queries {
			arm := arms[j]
			self := c.Order[arm]
			q := relative(c, c.Row(int(self)))
			floats.Scale(math.Ldexp(b.workingFactor(self), -queries[j].Exp), q)
			var all, early []float64
			for at, row := range c.Order {
				i := int(row)
				score := floats.Dot(relative(c, c.Row(i)), q) * b.workingFactor(uint32(i))
				if s.metric == Euclidean {
					score -= math.Ldexp(b.rowNorms[i]*b.rowNorms[i]/2, -queries[j].Exp)
				}
				if k := slices.Index(arms, uint32(at)); k >= 0 && !(math.Abs(scores[j][k]-score) <= 1e-5*max(1, math.Abs(score))) {
					t.Errorf("%s: query %d scores arm %d with %g, want %g", s.name, j, at, scores[j][k], score)
				}
				if row == self {
					continue
				}
				if all = append(all, score); at < EarlyAtoms {
					early = append(early, score)
				}
			}
			ks := pilotKs(s.n)
			for which, want := range [][]float64{all, early} {
				if which > 0 && s.n <= EarlyAtoms {
					continue
				}
				slices.Sort(want)
				slices.Reverse(want)
				for i, k := range ks {
					got := got[j][which*len(ks)+i]
					if w := want[min(k, len(want))-1]; math.Abs(got-w) > 1e-5*max(1, math.Abs(want[0])) {
						t.Errorf("%s: query %d, k = %d, early %d: threshold %g, want %g", s.name, j, k, which, got, w)
					}
				}
			}
		}
	}
}

// TestPilotKnowsSmallTopics: there are topics of twelve atoms among 24,000. Of a query's
// ten best others a sample of 2,048 holds one or none, and its tenth best score would be of
// another topic.
func TestPilotKnowsSmallTopics(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: measures shares by hand")
	}
	const n, dim, topic = 24000, 192, 12
	r := rand.New(rand.NewPCG(8, 8))
	rows := make([]float32, n*dim)
	centre := make([]float64, dim)
	for i := range n {
		if i%topic == 0 {
			for j := range centre {
				centre[j] = r.NormFloat64()
			}
		}
		for j := range dim {
			rows[i*dim+j] = float32(centre[j] + .4*r.NormFloat64())
		}
	}
	c := build(t, rows, dim, &Options{Metric: InnerProduct, Seed: 3, NoHead: true})
	const k = 10
	shares, _ := measured(c, k, 6)
	at := slices.Index(c.Forecast().Ks, k)
	for j := range c.Stages {
		got, want := c.Forecast().Shares[at][j], shares[j]
		t.Logf("stage %d: forecast %.4f, measured %.4f", c.Stages[j].Width, got, want)
		if ratio := max(got, .001) / max(want, .001); ratio > 2 || ratio < .5 {
			t.Errorf("stage %d: forecast %.4f, measured %.4f", c.Stages[j].Width, got, want)
		}
	}
}

// relative returns x less the centre, if there is one.
func relative(c *Collection, x []float32) []float64 {
	out := wide(x)
	for j, m := range c.Centre {
		out[j] -= m
	}
	return out
}
