package looks

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
	"thresher/internal/vectors"
)

const (
	mixedAtoms   = 1500 // not a multiple of a panel
	mixedQueries = 24
	mixedDim     = 128
)

// mixedCase is a collection, a first look at it with its mixed codes, and queries.
type mixedCase struct {
	*Mixed
	t       *testing.T
	c       *collection.Collection
	queries []collection.Query
	z       [][]float32
	codes   []int8 // of the last query coded
}

// buildMixed returns a collection and a first look at it by Student's rule.
func buildMixed(t *testing.T, metric collection.Metric, rows []float32, head, width int) (*collection.Collection, *Compiled) {
	t.Helper()
	c, err := collection.Build(t.Context(), rows, mixedDim, &collection.Options{Metric: metric, Seed: 1, Head: head})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := NewSet(c).Compile(t.Context(), backend.Look{Rep: backend.Mixed, Rule: backend.Student, To: width, Alpha: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	return c, l
}

// newMixed draws a case. spread is the number of octaves over which norms are spread.
func newMixed(t *testing.T, metric collection.Metric, spread int) *mixedCase {
	t.Helper()
	rows := vectors.PowerLaw(vectors.Rand(3), mixedAtoms+mixedQueries, mixedDim)
	for i := range mixedAtoms {
		for j := range mixedDim {
			rows[i*mixedDim+j] *= float32(math.Ldexp(1, i%(spread+1)-spread/2))
		}
	}
	return newMixedOf(t, metric, rows)
}

// newMixedOf is newMixed with given rows, those of queries last.
func newMixedOf(t *testing.T, metric collection.Metric, rows []float32) *mixedCase {
	t.Helper()
	c, l := buildMixed(t, metric, rows[:mixedAtoms*mixedDim], 32, 64)
	m, err := l.Mix(t.Context(), c, c, 0, runtime.GOMAXPROCS(0))
	if err != nil || m == nil {
		t.Fatal(m, err)
	}
	x := &mixedCase{Mixed: m, t: t, c: c, queries: make([]collection.Query, mixedQueries), codes: make([]int8, m.Width+backend.MixedTerms)}
	given, scale := rows[mixedAtoms*mixedDim:], make([]float64, mixedQueries)
	for j := range scale {
		scale[j] = metric.Factor(collection.Norm(given[j*mixedDim : (j+1)*mixedDim]))
	}
	c.PrepareBatch(x.queries, given, scale, nil)
	for j := range x.queries {
		x.z = append(x.z, make([]float32, m.Width))
		m.MixQuery(x.z[j], &x.queries[j])
	}
	return x
}

// lawful is the bound that fails with probability alpha, from codes, terms and head of atom i, in float64.
func (x *mixedCase) lawful(i int, q *collection.Query) float64 {
	head := make([]float32, x.c.R)
	x.c.AtomHeads(head, i, i+1, nil)
	b := 0.0
	for k, v := range head {
		b += float64(v) * float64(q.Head[k])
	}
	for k, v := range x.c.Code(i)[x.c.R : x.c.R+x.look.To] {
		b += float64(x.look.Scale[i]) * (float64(v) - 128) * float64(q.Rest[k])
	}
	return b + float64(x.look.Radius[i])*x.look.Reach*q.RestNorm
}

// sum is the sum of the products of the codes of atom i and of the query coded last.
func (x *mixedCase) sum(i int) (s int) {
	for k, v := range x.codes {
		s += int(v) * int(x.Codes[i*len(x.codes)+k])
	}
	return s
}

// encode codes query j for a threshold.
func (x *mixedCase) encode(j int, tau float64) float64 {
	x.t.Helper()
	step := x.EncodeQuery(x.codes, x.z[j], &x.queries[j], tau)
	if !(step > 0) || math.IsInf(step, 0) {
		x.t.Fatalf("query %d has step %g at threshold %g", j, step, tau)
	}
	return step
}

// TestMixedKeepsWhatTheLawKeeps: at a threshold equal to the bound that the law gives a pair, or barely below, the pair passes, and
// its bound is at least the law's at any threshold. Near the threshold it is above it by little more than 8-bit codes explain.
func TestMixedKeepsWhatTheLawKeeps(t *testing.T) {
	for name, x := range map[string]*mixedCase{
		"ip": newMixed(t, collection.InnerProduct, 0), "cosine": newMixed(t, collection.Cosine, 40), "ip, norms of all sizes": newMixed(t, collection.InnerProduct, 40),
	} {
		excess, sizes := 0., 0.
		for j := range x.queries {
			q := &x.queries[j]
			for i := j % 3; i < x.c.N; i += 3 {
				law := x.lawful(i, q)
				size := q.Norm * float64(x.look.Norm[i])
				step := x.encode(j, law)
				s := x.sum(i)
				if s < 0 {
					t.Fatalf("%s: atom %d, query %d is dropped at its own bound %g: %d", name, i, j, law, s)
				}
				excess, sizes = excess+step*float64(x.Step[i])*float64(s), sizes+size
				for _, tau := range []float64{law - .1*size, law - 3*size, law + .05*size, law + 10*size} {
					step := x.encode(j, tau)
					if bound := tau + step*float64(x.Step[i])*float64(x.sum(i)); bound < law {
						t.Fatalf("%s: atom %d, query %d has bound %g at threshold %g, by the law %g", name, i, j, bound, tau, law)
					}
				}
			}
		}
		if name != "ip, norms of all sizes" && excess > .025*sizes {
			t.Errorf("%s: bounds exceed the law's by %.4f of the norms", name, excess/sizes)
		}
	}
}

// query is a query whose z is about the given one.
func (x *mixedCase) query(z []float64) *collection.Query {
	p := make([]float64, x.Width)
	for j := range p {
		for i, v := range z {
			p[j] += float64(x.Matrix[j*x.Width+i]) * v
		}
	}
	q := &collection.Query{Head: make([]float32, x.c.R), Rest: make([]float32, x.c.D)}
	for j, v := range p[:x.c.R] {
		q.Head[j] = float32(v)
	}
	for j, v := range p[x.c.R : x.c.R+x.look.To] {
		q.Rest[j] = float32(v / x.Rest)
	}
	q.HeadNorm, q.RestNorm = collection.Norm(q.Head), collection.Norm(q.Rest)
	q.Norm = math.Hypot(q.HeadNorm, q.RestNorm)
	return q
}

// TestMixedRoundingIsCharged takes queries along the rounding errors of an atom's codes, and with codes whose rounding errors are along an
// atom, so that the errors of all coordinates add up: what is charged for either is enough, and little more.
func TestMixedRoundingIsCharged(t *testing.T) {
	x := newMixed(t, collection.InnerProduct, 0)
	w := (&mixing{Mixed: x.Mixed, c: x.c, whole: x.c, unit: 1, balance: 1 / x.Rest}).newMixer()
	w.mixPanel(0)
	z, zf, shares := make([]float64, x.Width), make([]float32, x.Width), [3]float64{}
	try := func(kind, i int, beyond float64) {
		q := x.query(z)
		q.RestNorm = max(q.RestNorm, beyond)
		x.MixQuery(zf, q)
		law := x.lawful(i, q)
		step := x.EncodeQuery(x.codes, zf, q, law)
		s := x.sum(i)
		if s < 0 {
			t.Fatalf("atom %d is dropped at its own bound %g: %d", i, law, s)
		}
		product := 0.
		for k, v := range x.codes[:x.Width] {
			product += float64(v) * float64(x.Codes[i*len(x.codes)+k])
		}
		scale := step * float64(x.Step[i])
		off := law - float64(x.look.Radius[i])*x.look.Reach*q.RestNorm - product*scale // what codes lose
		shares[kind] = max(shares[kind], off/(off+float64(s)*scale))
	}
	for i := range 64 {
		y, codes := w.y[i*x.Width:(i+1)*x.Width], x.Codes[i*len(x.codes):]
		for k, v := range y { // along the error of atom i
			z[k] = float64(v) - float64(codes[k])*float64(x.Step[i])
		}
		try(0, i, 0)
		step := 1. / 127
		for k, v := range y { // the error of each coordinate has the sign of the atom's
			z[k] = (float64(3*(k%20)) + math.Copysign(.45, float64(v))) * step
		}
		z[0] = 1
		try(1, i, 0)
		clear(z)
		try(2, i, 1) // the whole query is beyond the look
	}
	if shares[0] < .4 || shares[1] < .1 {
		t.Errorf("errors are at most %.2f of what is charged along an atom's error, %.2f with errors along the atom", shares[0], shares[1])
	}
}

// TestMixedTerms: the codes of terms of a query and of any atom hold at least the sum of the products of their factors, and at most twice the
// charge more; without the charge they are right in the mean.
func TestMixedTerms(t *testing.T) {
	x := newMixed(t, collection.InnerProduct, 0)
	r := vectors.Rand(8)
	const draws = 8000
	above, mean := 0., 0.
	for k := range draws {
		j := k % mixedQueries
		q := &x.queries[j]
		tau := q.Norm * (8*r.Float64() - 4)
		step := x.encode(j, tau)
		errors := 0.
		for k, code := range x.codes[:x.Width] {
			d := float64(x.z[j][k]) - float64(code)*step
			errors += d * d
		}
		f, norm := x.look.Factors(q, 0, 0), collection.Norm(x.z[j])
		lost := math.Sqrt(errors) + x.Slack*norm
		factors := [MixedProducts]float64{Least - tau, f.RadiusFactor, lost + (f.HN+f.XN+f.NN)*x.Norms, norm + lost}
		exact, coded, at, charge := 0., 0, x.Width, ChargeUnit*int(x.codes[len(x.codes)-1])
		for p, n := range MixedRepeats {
			u := MaxCode8 * r.Float64() // an atom's factor, scaled
			if k%3 == 0 {
				u = MaxCode8
			}
			exact += u * factors[p] * MaxCode8 / step / x.Limit[p] * float64(n)
			whole, left := digits(u, n)
			for range n {
				coded += int(whole) * int(x.codes[at])
				at++
			}
			coded += int(fourth(whole))*int(x.codes[at]) + int(left)*int(x.codes[at+1])
			at += 2
		}
		if over := float64(coded+charge) - exact; over < -.02 || over > 2*float64(charge) {
			t.Fatalf("query %d, threshold %g: products are %g, coded as %d, charged %d", j, tau, exact, coded, charge)
		} else {
			above, mean = max(above, over/float64(charge)), mean+(float64(coded)-exact)/draws
		}
	}
	if math.Abs(mean) > 4 {
		t.Errorf("products are coded as %.2f more in the mean", mean)
	}
	if above < 1.1 {
		t.Errorf("codes exceed the products by at most %.2f of the charge", above)
	}
}

// TestMixedFactors: the factors of an atom are at least what their products bound, for norms of any size and atoms of a few units of the last
// place, and its step is that of its codes.
func TestMixedFactors(t *testing.T) {
	for _, spread := range []int{0, 40} {
		x := newMixed(t, collection.InnerProduct, spread)
		w := (&mixing{Mixed: x.Mixed, c: x.c, whole: x.c, unit: 1, balance: 1 / x.Rest}).newMixer()
		width := len(x.codes)
		for i := range x.c.N {
			if i%collection.PanelAtoms == 0 {
				w.mixPanel(i)
			}
			y, codes := w.y[i%collection.PanelAtoms*x.Width:][:x.Width], x.Codes[i*width:(i+1)*width]
			size, lost := 0., 0.
			for k, v := range y {
				d := float64(v) - float64(codes[k])*float64(x.Step[i])
				size, lost = size+float64(v)*float64(v), lost+d*d
			}
			size, lost = math.Sqrt(size), math.Sqrt(lost)
			at := x.Width
			for p, least := range [MixedProducts]float64{1, (1 + Slop) * float64(x.look.Radius[i]), max(size, float64(x.look.Norm[i])/64), lost} {
				n := MixedRepeats[p]
				// the factor in codes, and by what they may be off: half a unit of what is left
				unit := MaxCode8 * float64(n) / x.Limit[p] * float64(x.Step[i])
				got := (float64(codes[at]) + float64(codes[at+n+1])/(4*float64(n))) * unit
				if off := got - least; math.Abs(off) > unit/(8*float64(n))*(1+1e-6)+1e-6*least+1e-9 {
					t.Fatalf("atom %d: factor %d is %g, by its codes %g", i, p, least, got)
				}
				at += n + 2
			}
			if side := x.look.Side(i); float64(side.Size) > x.Norms*max(size, float64(x.look.Norm[i])/64)*(1+1e-6) {
				t.Fatalf("atom %d: norms up to %g, covered up to %g", i, side.Size, x.Norms*size)
			}
		}
		if want := 4 * bandit.AccumulateError(x.Width+4) * math.Sqrt(float64(x.Width)); x.Slack != want {
			t.Errorf("slack %g, want %g", x.Slack, want)
		}
	}
}

// TestMixedGiant: an atom, or a few, much longer than all others do not make the codes of the others coarse.
func TestMixedGiant(t *testing.T) {
	mean := func(giants int) float64 {
		rows := vectors.PowerLaw(vectors.Rand(3), mixedAtoms+mixedQueries, mixedDim)
		for i := range giants * mixedDim {
			rows[i] *= 1000
		}
		x := newMixedOf(t, collection.InnerProduct, rows)
		excess := 0.
		for j := range x.queries {
			for i := mixedAtoms / 2; i < mixedAtoms; i++ { // in the order of norms
				law := x.lawful(i, &x.queries[j])
				excess += x.encode(j, law) * float64(x.Step[i]) * float64(x.sum(i)) / (x.queries[j].Norm * float64(x.look.Norm[i]))
			}
		}
		return excess / float64(mixedAtoms/2*mixedQueries)
	}
	none := mean(0)
	for _, giants := range []int{1, 20} {
		if with := mean(giants); with > 1.3*none {
			t.Errorf("with %d giants bounds exceed the law's by %.4f of the norms, without by %.4f", giants, with, none)
		}
	}
}

// TestNoMixedCodes: what has none, and a context that ends.
func TestNoMixedCodes(t *testing.T) {
	rows := vectors.PowerLaw(vectors.Rand(3), 600, mixedDim)
	none := func(what string, c *collection.Collection, l *Compiled) {
		t.Helper()
		if m, err := l.Mix(t.Context(), c, c, 0, runtime.GOMAXPROCS(0)); m != nil || err != nil {
			t.Errorf("%s: %v, %v", what, m, err)
		}
	}
	c, l := buildMixed(t, collection.Euclidean, rows, 32, 64)
	none("offsets", c, l)
	c, l = buildMixed(t, collection.InnerProduct, make([]float32, len(rows)), 32, 64)
	none("zeros", c, l)
	c, l = buildMixed(t, collection.InnerProduct, rows, 32, 64)
	whole, err := NewSet(c).Compile(t.Context(), backend.Look{Rep: backend.Mixed, Rule: backend.Student, To: c.D, Alpha: 1e-3})
	if err != nil {
		t.Fatal(err)
	}
	none("whole rows", c, whole)
	wide := *l
	wide.To = 160
	none("too many codes", c, &wide)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := l.Mix(ctx, c, c, 0, runtime.GOMAXPROCS(0)); m != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v, %v", m, err)
	}
	for i := range rows {
		rows[i] *= 0x1p100
	}
	c, l = buildMixed(t, collection.InnerProduct, rows, 32, 64)
	none("norms far from 1", c, l)
	m := newMixed(t, collection.InnerProduct, 0)
	for _, tau := range []float64{math.Inf(1), math.Inf(-1)} {
		if step := m.EncodeQuery(m.codes, m.z[0], &m.queries[0], tau); step != 0 {
			t.Errorf("a step of %g at threshold %g", step, tau)
		}
	}
	var zero collection.Query
	zero.Head, zero.Rest = make([]float32, m.c.R), make([]float32, m.c.D)
	z := make([]float32, m.Width)
	m.MixQuery(z, &zero)
	if step := m.EncodeQuery(m.codes, z, &zero, 0); !(step > 0) || m.sum(0) < 0 {
		t.Errorf("a zero query has step %g and sum %d at its own bound", step, m.sum(0))
	}
}

// BenchmarkMix reports how many atoms of 768 coordinates get mixed codes in a second, on all cores.
func BenchmarkMix(b *testing.B) {
	const n, dim = 8192, 768
	c, err := collection.Build(b.Context(), vectors.PowerLaw(vectors.Rand(3), n, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	l, err := NewSet(c).Compile(b.Context(), backend.Look{Rep: backend.Mixed, Rule: backend.Student, To: 96, Alpha: 1e-3})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if m, err := l.Mix(b.Context(), c, c, 0, runtime.GOMAXPROCS(0)); m == nil || err != nil {
			b.Fatal(m, err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "atoms/s")
}
