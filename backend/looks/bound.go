package looks

import (
	"math"

	"thresher/collection"
)

// Steps describe a query's integer codes of head and rest. Step is the factor from codes to
// coordinates, and Err the norm of the vector of rounding errors, rounded upward.
// docs/guarantee.md, int8 codes.
type Steps struct {
	HeadStep, RestStep float64
	HeadErr, RestErr   float64
}

// Factors are the factors by which a query multiplies the terms of each atom. The comments
// name the term, and the error that the product bounds.
type Factors struct {
	RadiusFactor float64 // of Radius: the coordinates that the look does not read
	HN           float64 // of HeadNorm: rounding of the query's head, and float32
	HE           float64 // of HeadErr: rounding of the atom's head
	XN           float64 // of XNorm: rounding of the query's rest, float32, and CodeSlack
	NN           float64 // of Norm: Slack and CodeSlack
	WE           float64 // of WholeErr: rounding of the atom's prefix
	OffsetFactor float64 // of Offset: no error, the factor from offsets to scores
}

// Factors returns the factors of a query whose codes have the rounding errors headErr and
// restErr (Steps). Bounds with these factors are of scores times 2^-q.Exp, as q is scaled.
// docs/guarantee.md has the radius in the section of the look's Kind, HN, HE and XN in "int8
// codes", and Slop, Slack and CodeSlack in "float32 arithmetic".
func (t *Compiled) Factors(q *collection.Query, headErr, restErr float64) Factors {
	f := Factors{OffsetFactor: math.Ldexp(1, -q.Exp)}
	switch t.Kind {
	case Whole:
		f.RadiusFactor = q.RestNorm
	case Student:
		f.RadiusFactor = t.Reach * q.RestNorm
	case Cauchy:
		f.RadiusFactor = collection.Norm(q.Rest[t.Look.To:]) * collection.Up
		f.WE = collection.Norm(q.Rest[:t.Look.To]) * collection.Up
	}
	f.HN = headErr + Slop*(q.HeadNorm+headErr)
	f.HE = q.HeadNorm
	f.XN = restErr + Slop*(q.RestNorm+restErr) + t.CodeSlack*q.RestNorm
	f.NN = t.Slack*q.Norm + t.CodeSlack*q.RestNorm
	return f
}

// Bound computes the bounds of a look for one query.
type Bound struct {
	*Compiled
	Steps Steps
	Factors
	radius float64 // RadiusFactor with its rounding, for Side.Radius
	size   float64 // HN + XN + NN, for Side.Size
}

// Bound returns the bounds of look t for query q, whose codes have the given steps.
func (t *Compiled) Bound(q *collection.Query, steps Steps) Bound {
	return NewBound(t, steps, t.Factors(q, steps.HeadErr, steps.RestErr))
}

// NewBound returns the bounds of look t for a query with the given steps and factors.
func NewBound(t *Compiled, steps Steps, f Factors) Bound {
	return Bound{Compiled: t, Steps: steps, Factors: f, radius: (1 + Slop) * f.RadiusFactor, size: f.HN + f.XN + f.NN}
}

// Of returns the estimate of the score of atom i and its upper bound, both times 2^-Exp of the
// query. dh and dr are the inner products of the integer codes of the atom and of the query, of
// the head and of the rest.
func (b *Bound) Of(i int, dh, dr float64) (estimate, upper float64) {
	estimate = float64(b.HeadScale[i])*b.Steps.HeadStep*dh + float64(b.Scale[i])*b.Steps.RestStep*dr
	if b.Offset != nil {
		estimate += float64(b.Offset[i]) * b.OffsetFactor
	}
	return estimate, estimate + float64(b.Radius[i])*b.RadiusFactor + b.rounding(i)
}

// rounding returns what Of adds to the bound of atom i for all rounding errors.
func (b *Bound) rounding(i int) float64 {
	e := Least + b.HN*float64(b.HeadNorm[i]) + b.HE*float64(b.HeadErr[i]) + b.XN*float64(b.XNorm[i]) + b.NN*float64(b.Norm[i]) +
		Slop*b.RadiusFactor*float64(b.Radius[i])
	if b.WE > 0 {
		e += b.WE * float64(b.WholeErr[i])
	}
	if b.Offset != nil {
		e -= Slop * b.OffsetFactor * float64(b.Offset[i])
	}
	return e
}

// StripRounding is at least rounding(i) for every atom i of strip t.
func (b *Bound) StripRounding(t *Strip) float64 {
	return Least + b.HN*t.HeadNorm + b.HE*t.HeadErr + b.XN*t.XNorm + b.NN*t.Norm +
		Slop*(b.RadiusFactor*t.Radius+b.OffsetFactor*t.Offset) + b.WE*t.WholeErr
}

// OfSide is Of for the atom whose terms are p. Its upper bound is at least that of Of, because
// Side.Size replaces three terms by the greatest. Each product is converted to float64, which
// prevents fused multiply-adds, so that all devices compute the same bounds, bit for bit.
func (b *Bound) OfSide(p *Side, dh, dr float64) (estimate, upper float64) {
	estimate = float64(float64(p.HeadScale)*b.Steps.HeadStep*dh) + float64(float64(p.Scale)*b.Steps.RestStep*dr) + float64(float64(p.Offset)*b.OffsetFactor)
	return estimate, estimate + float64(float64(p.Radius)*b.radius) + float64(float64(p.HeadErr)*b.HE) + float64(float64(p.Size)*b.size) +
		float64(float64(p.WholeErr)*b.WE) - float64(Slop*b.OffsetFactor*float64(p.Offset)) + Least
}
