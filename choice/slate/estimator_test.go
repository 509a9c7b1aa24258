package slate

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// learned returns an estimator of random rewards.
func learned(seed uint64, d, m int) *Estimator {
	r := newRand(seed, 99)
	e := must(NewEstimator(d, 0.5+r.Float64()))
	for range 3 {
		must(0, e.Update(uniform(r, m*d, 0, 1), uniform(r, m, -1, 1)))
	}
	return e
}

// The estimator is ridge regression: M, theta, deviations and ln det are those of gonum's
// solver on all observations.
func TestEstimatorIsRidgeRegression(t *testing.T) {
	r := newRand(4, 0)
	for _, d := range []int{1, 2, 5, 18} {
		lambda := 0.1 + r.Float64()
		e := must(NewEstimator(d, lambda))
		m := mat.NewSymDense(d, nil)
		for g := range d {
			m.SetSym(g, g, lambda)
		}
		b := mat.NewVecDense(d, nil)
		scratch := make([]float64, d)
		for range 20 {
			rows := 1 + r.IntN(6)
			x, y := uniform(r, rows*d, 0, 1), uniform(r, rows, -1, 1)
			for i := range x {
				if r.IntN(2) == 0 {
					x[i] = 0
				}
			}
			must(0, e.Update(x, y))
			for i := range rows {
				v := mat.NewVecDense(d, x[i*d:(i+1)*d])
				m.SymRankOne(m, 1, v)
				b.AddScaledVec(b, y[i], v)
			}
			var chol mat.Cholesky
			if !chol.Factorize(m) {
				t.Fatal("not positive definite")
			}
			var theta mat.VecDense
			must(0, chol.SolveVecTo(&theta, b))
			got := make([]float64, d)
			e.Weights(got)
			for g := range d {
				near(t, "theta", got[g], theta.AtVec(g))
			}
			near(t, "ln det", e.LogDet(), chol.LogDet()-float64(d)*math.Log(lambda))
			z := uniform(r, d, -1, 1)
			near(t, "mean", e.Mean(z), mat.Dot(&theta, mat.NewVecDense(d, z)))
			var solved mat.VecDense
			must(0, chol.SolveVecTo(&solved, mat.NewVecDense(d, z)))
			near(t, "deviation", e.Deviation(z, scratch), math.Sqrt(mat.Dot(mat.NewVecDense(d, z), &solved)))
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func TestColdEstimator(t *testing.T) {
	e := must(NewEstimator(3, 4))
	x := []float64{1, 2, 2}
	if e.Mean(x) != 0 || e.Deviation(x, make([]float64, 3)) != 1.5 || e.Bytes() != 0 || !e.Cold() || e.LogDet() != 0 {
		t.Errorf("cold: mean %v, deviation %v, %d bytes", e.Mean(x), e.Deviation(x, make([]float64, 3)), e.Bytes())
	}
	w := []float64{9, 9, 9}
	e.Weights(w)
	if w[0] != 0 || w[2] != 0 {
		t.Errorf("weights %v", w)
	}
	must(0, e.Update(nil, nil))
	if !e.Cold() {
		t.Error("warm without an observation")
	}
	must(0, e.Update([]float64{0, 0, 0}, []float64{1}))
	if e.Cold() || e.Observations() != 1 || e.LogDet() != 0 || e.Deviation(x, make([]float64, 3)) != 1.5 {
		t.Errorf("after a gain of nothing: %d observations, ln det %v", e.Observations(), e.LogDet())
	}
	if e.Bytes() != 8*(6+6) {
		t.Errorf("%d bytes", e.Bytes())
	}
}

// Figures computed by hand: M = diag(2, 1) after one gain (1, 0) at lambda = 1.
func TestBeta(t *testing.T) {
	e := must(NewEstimator(2, 1))
	must(0, e.Update([]float64{1, 0}, []float64{1}))
	four := must(NewEstimator(2, 4))
	cases := []struct {
		e    *Estimator
		c    Confidence
		want float64
	}{
		{e, Confidence{Delta: 0.01, Noise: 2, Norm: 3}, 2*math.Sqrt(math.Ln2+2*math.Log(100)) + 3},
		{four, Confidence{Delta: 0.01, Noise: 2, Norm: 3}, 2*math.Sqrt(2*math.Log(100)) + 6},
		{e, Confidence{Rule: Information, Delta: 0.01, Noise: 2, Norm: 3}, 3 + 2*math.Sqrt(math.Ln2+2+2*math.Log(100))},
		{four, Confidence{Rule: Information, Delta: 0.01, Noise: 2, Norm: 3}, 2 * (3 + 2*math.Sqrt(2+2*math.Log(100)))},
		{e, Confidence{Rule: Tuned, Delta: 0.01}, 0.1 + 0.05*math.Sqrt(2*math.Ln2+math.Log(100))},
		{e, Confidence{Rule: Tuned, Delta: 0.01, Base: 1, Scale: 2}, 1 + 2*math.Sqrt(2*math.Ln2+math.Log(100))},
		{e, Confidence{Rule: Fixed, Base: 0.3}, 0.3},
		{e, Confidence{Rule: Fixed}, 0},
		{e, Confidence{}, 0.5*math.Sqrt(math.Ln2+2*math.Log(10)) + 1},
	}
	for _, c := range cases {
		near(t, "beta", must(c.e.Beta(c.c)), c.want)
	}
	for _, c := range []struct {
		c    Confidence
		want string
	}{
		{Confidence{Rule: "wide"}, `unknown rule "wide"`},
		{Confidence{Delta: 1}, "delta 1 is not in (0, 1)"},
		{Confidence{Delta: math.NaN()}, "delta NaN"},
		{Confidence{Noise: -1}, "noise -1"},
		{Confidence{Norm: math.Inf(1)}, "norm +Inf"},
		{Confidence{Scale: -2}, "scale -2"},
	} {
		if _, err := e.Beta(c.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want one with %q", c.c, err, c.want)
		}
	}
}

func TestEstimatorRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	it := must(NewItems(must(NewCoverage(3, 2, make([]float64, 6))), Attributes{}))
	e := learned(1, 2, 4)
	before := must(e.MarshalBinary())
	other := learned(1, 3, 4)
	cases := []struct {
		err  error
		want string
	}{
		{e.Update([]float64{1, 1}, []float64{nan}), "place 0: reward NaN"},
		{e.Update([]float64{1, 1, 1, 1}, []float64{1, inf}), "place 1: reward -Inf"},
		{e.Update([]float64{1, 1, 1, nan}, []float64{1, 1}), "place 1, feature 1: NaN"},
		{e.Update([]float64{1, 1e61}, []float64{1}), "place 0, feature 1: 1e+61"},
		{e.Update([]float64{1}, []float64{1}), "1 numbers for 1 rewards of 2 features"},
		{e.Observe(it, []int{0, 1}, []float64{1, 1, 1}), "3 rewards for a list of 2 items"},
		{e.Observe(it, []int{0, 3}, []float64{1, 1}), "place 1: item 3 of 3"},
		{e.Observe(it, []int{1, 1}, []float64{1, 1}), "place 1: item 1 twice"},
		{e.Observe(it, []int{0, 1}, []float64{1, nan}), "place 1: reward NaN"},
		{e.Observe(nil, []int{0}, []float64{1}), "no items"},
		{other.Observe(it, []int{0}, []float64{1}), "estimator of 3 features, items of 2"},
	}
	for i, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("case %d: %v, want one with %q", i, c.err, c.want)
		}
	}
	if !bytes.Equal(before, must(e.MarshalBinary())) {
		t.Error("a refused update changed the estimator")
	}
	for _, c := range []struct {
		d      int
		lambda float64
	}{{0, 1}, {MaxFeatures + 1, 1}, {1, 0}, {1, -1}, {1, nan}, {1, math.Inf(1)}} {
		if _, err := NewEstimator(c.d, c.lambda); err == nil {
			t.Errorf("features %d, lambda %v: no error", c.d, c.lambda)
		}
	}
}

// Rounding makes no information gain negative, hence no width NaN.
func TestGainOfNothing(t *testing.T) {
	for d := range 40 {
		for _, lambda := range []float64{1e-9, 0.3, 3e8} {
			e := must(NewEstimator(d+1, lambda))
			must(0, e.Update(make([]float64, d+1), []float64{1}))
			if beta := must(e.Beta(Confidence{Delta: 1 - 1e-15})); e.LogDet() < 0 || !(beta > 0) {
				t.Errorf("%d features, lambda %v: ln det %v, beta %v", d+1, lambda, e.LogDet(), beta)
			}
		}
	}
}

// Counts stay exact in float64.
func TestObservationsAreBounded(t *testing.T) {
	e := must(NewEstimator(1, 1))
	must(0, e.UnmarshalJSON([]byte(`{"version":1,"features":1,"lambda":1,"observations":9007199254740991,"factor":[1],"rewards":[0]}`)))
	must(0, e.Update([]float64{1}, []float64{1}))
	before := must(e.MarshalBinary())
	if err := e.Update([]float64{1}, []float64{1}); err == nil || !strings.Contains(err.Error(), "1 rewards after 9007199254740992") {
		t.Error(err)
	}
	if !bytes.Equal(before, must(e.MarshalBinary())) {
		t.Error("a refused update changed the estimator")
	}
}

// Rewards may be given for a prefix of the list: the positions a user examined.
func TestObserveTakesAPrefix(t *testing.T) {
	r := newRand(5, 0)
	x := uniform(r, 12, 0, 1)
	it := must(NewItems(must(NewCoverage(4, 3, x)), Attributes{}))
	a, b := must(NewEstimator(3, 1)), must(NewEstimator(3, 1))
	must(0, a.Observe(it, []int{2, 0, 3}, []float64{1, 0.5}))
	gains := append([]float64(nil), x[6:9]...)
	for g := range 3 {
		gains = append(gains, x[g]*(1-x[6+g]))
	}
	must(0, b.Update(gains, []float64{1, 0.5}))
	if !bytes.Equal(must(a.MarshalBinary()), must(b.MarshalBinary())) {
		t.Error("the gains of a prefix are not those of its places")
	}
}

func TestEstimatorsAtRest(t *testing.T) {
	for _, e := range []*Estimator{must(NewEstimator(7, 2)), learned(1, 1, 1), learned(2, 18, 10), learned(3, 40, 2)} {
		data := must(e.MarshalBinary())
		text := must(json.Marshal(e))
		for _, load := range []func(*Estimator) error{
			func(x *Estimator) error { return x.UnmarshalBinary(data) },
			func(x *Estimator) error { return json.Unmarshal(text, x) },
		} {
			var back Estimator
			if err := load(&back); err != nil {
				t.Fatal(err)
			}
			// Bit for bit, including what is recomputed.
			if !bytes.Equal(data, must(back.MarshalBinary())) || back.gain != e.gain || len(back.theta) != len(e.theta) {
				t.Error("not the same after a rest")
			}
			for g := range e.theta {
				if back.theta[g] != e.theta[g] {
					t.Errorf("theta %v, was %v", back.theta, e.theta)
				}
			}
			x, y := uniform(newRand(6, 0), e.d, 0, 1), []float64{1}
			c := e.Clone()
			must(0, c.Update(x, y))
			must(0, back.Update(x, y))
			if !bytes.Equal(must(c.MarshalBinary()), must(back.MarshalBinary())) {
				t.Error("does not go on as it would have")
			}
		}
		if !bytes.Equal(data, must(e.MarshalBinary())) {
			t.Error("a clone shares something")
		}
	}
}

func TestBrokenEstimatorsAreRefused(t *testing.T) {
	e := learned(2, 3, 4)
	good := must(e.MarshalBinary())
	var x Estimator
	must(0, x.UnmarshalBinary(good))
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if x.UnmarshalBinary(bad) == nil {
			t.Errorf("byte %d changed: no error", i)
		}
		if x.UnmarshalBinary(good[:i]) == nil {
			t.Errorf("cut to %d bytes: no error", i)
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"version":2,"features":1,"lambda":1,"observations":0}`, "version 2"},
		{`{"version":1,"features":0,"lambda":1,"observations":0}`, "0 features"},
		{`{"version":1,"features":1,"lambda":0,"observations":0}`, "lambda 0"},
		{`{"version":1,"features":1,"lambda":1,"observations":0,"factor":[1],"rewards":[0]}`, "0 observations"},
		{`{"version":1,"features":1,"lambda":1,"observations":-1}`, "-1 observations"},
		{`{"version":1,"features":1,"lambda":1,"observations":9007199254740993,"factor":[1],"rewards":[0]}`, "9007199254740993 observations"},
		{`{"version":1,"features":1,"lambda":1,"observations":1}`, "0 and 0 numbers"},
		{`{"version":1,"features":1,"lambda":1,"observations":1,"factor":[0.5],"rewards":[0]}`, "feature 0: 0.5 on the diagonal"},
		{`{"version":1,"features":1,"lambda":1,"observations":1,"factor":[1e70],"rewards":[0]}`, "1e+70 in the factor"},
		{`{"version":1,"features":1,"lambda":1,"observations":1,"factor":[1],"rewards":[1e130]}`, "1e+130 for rewards"},
		{`{"version":1,"features":1,"lambda":1,"observations":1,"factor":[1],"rewards":[1],"more":1}`, "unknown field"},
	} {
		if err := x.UnmarshalJSON([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", c.text, err, c.want)
		}
	}
	if !bytes.Equal(good, must(x.MarshalBinary())) {
		t.Error("a refused load changed the estimator")
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	f.Add(must(must(NewEstimator(3, 1)).MarshalBinary()))
	f.Add(must(learned(2, 3, 4).MarshalBinary()))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Estimator
		if e.UnmarshalBinary(data) != nil {
			return
		}
		if !bytes.Equal(data, must(e.MarshalBinary())) {
			t.Error("not the same after a rest")
		}
	})
}
