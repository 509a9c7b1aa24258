package arms

import (
	"math"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu/topk"
	"thresher/simd"
)

// prepareQueries prepares queries lo to hi-1 of a batch, but for what only looks read.
func (x *Batch) prepareQueries(q backend.Queries, goals []backend.Goal, lo, hi int) {
	c := x.C
	for j := lo; j < hi; j++ {
		squares := x.Kernels.SumSquares(q.Row(j))
		norm := math.Sqrt(squares)
		if c.Centre != nil {
			norm = c.WorkingNorm(q.Row(j))
		}
		scale := c.Metric.Factor(norm)
		prep := collection.Query{Exp: c.Metric.Exponent(norm * scale)}
		prep.Norm = math.Ldexp(norm*scale, -prep.Exp) * collection.Up
		s := &x.Queries[j]
		s.prepareQuery(x, q.Row(j), &goals[j], prep, squares, scale, norm, x.scaled[j*c.Dim:(j+1)*c.Dim])
		if q.Given != nil {
			s.takeGiven(q.Given[j*c.Dim:(j+1)*c.Dim:(j+1)*c.Dim], math.Sqrt(squares))
		}
	}
}

// prepareQuery resets s for query q of the given squared and working norms. It writes q in float64,
// times a power of two, to scaled, which s retains. scale is 1/|q| for cosine, else 1.
func (s *Query) prepareQuery(x *Batch, q []float32, g *backend.Goal, prep collection.Query, squares, scale, norm float64, scaled []float64) {
	exp := prep.Exp
	// Slices of an earlier batch are reused.
	best, lower, list, finalists, merged, given, bestGiven := s.Best, s.Lower, s.List, s.Finalists, s.merged, s.Given, s.BestGiven
	*s = Query{}
	s.Team, s.C, s.Kern, s.Goal, s.Exp, s.Q, s.Scale, s.Prep = &x.Team, x.C, x.Kernels, *g, exp, scaled, scale, prep
	s.PerUnit = math.Ldexp(1, -exp)
	s.Best, s.Lower = best, lower
	s.List, s.Finalists = topk.Entries{IDs: list.IDs[:0], Bounds: list.Bounds[:0]}, finalists[:0]
	s.merged, s.Given, s.BestGiven, s.NextPanel = merged[:0], given, bestGiven[:0], g.From/PanelAtoms
	s.orderGiven()
	s.hideAtoms()
	s.Best.Reset(g.K)
	s.Lower.Reset(g.K)
	s.Squares = squares
	power := 0 // squared differences are taken from the query as given
	if !s.C.Metric.Differences() {
		_, power = math.Frexp(math.Sqrt(s.Squares))
	}
	s.Unit, s.ToScore = math.Ldexp(scale, power-exp), math.Ldexp(1, power-exp)
	if s.C.Metric.Normalises() { // such scores do not depend on power
		s.ToScore = math.Ldexp(1, -exp)
	}
	f := math.Ldexp(1, -power)
	s.Squares *= f * f
	s.Kern.Widen(scaled, q, f)
	s.scored, s.scoredSquares = scaled, s.Squares
	s.Conversion = looks.NewConversion(s.C, norm, s.Exp)
	s.epsilon = math.Ldexp(g.Epsilon, -exp)
	s.Floor, s.Ceiling = math.Ldexp(g.Floor, -exp), math.Ldexp(g.Ceiling, -exp)
	if math.Ldexp(s.Ceiling, exp) > g.Ceiling { // a subnormal number was rounded up
		s.Ceiling = math.Nextafter(s.Ceiling, math.Inf(-1))
	}
	s.Tau, s.Expected = s.Conversion.Threshold(s.Floor), math.Inf(-1)
}

// takeGiven makes s score rows of float64 for the query as it was given, which s retains; length is that of the query
// rounded to float32.
func (s *Query) takeGiven(given []float64, length float64) {
	s.scored, s.scoredSquares = given, simd.SumSquares64(given)
	s.ToScore = math.Ldexp(1, -s.Exp)
	s.Conversion = s.Conversion.Rounded(s.C, length, s.Exp)
	s.Tau = s.Conversion.Threshold(s.Floor)
}
