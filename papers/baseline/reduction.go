package baseline

import "math"

// reduced are the atoms with a coordinate more, by which all have the length of the longest:
//
//	v' = (v, sqrt(L^2 - |v|^2)),   L = max |v|
//
// A query's is 0, so that scores stay as they were, and the nearest v', by angle or by Euclidean distance, has the largest
// inner product: Bachrach and others, "Speeding up the Xbox recommender system using a Euclidean transformation for
// inner-product spaces" (RecSys 2014), theorem 1.
type reduced struct {
	*Vectors
	tails []float32 // the coordinate more, of each atom
}

// reduce computes the norms of all atoms: n d multiplications.
func (v *Vectors) reduce() reduced {
	squares := make([]float64, v.n)
	longest := 0.0
	for i := range squares {
		squares[i] = v.products.dot(v.row(i), v.row(i))
		longest = max(longest, squares[i])
	}
	out := reduced{v, make([]float32, v.n)}
	for i, s := range squares {
		out.tails[i] = float32(math.Sqrt(longest - s))
	}
	return out
}

// dot is the product of a reduced atom and a vector of d+1: d+1 multiplications.
func (r *reduced) dot(i int, to []float32) float64 {
	return r.products.dot(r.row(i), to[:r.d]) + r.products.times(r.tails[i], to[r.d])
}
