// Package looks decides whether an arm is dropped. It alone computes the bounds of
// docs/guarantee.md: which terms of a collection a look on codes reads, how it bounds the
// coordinates that it does not read, by which factor a query multiplies each term, and how
// much is added for rounding. Backends copy these numbers to their device and apply them;
// CUDA kernels get the constants from a header that is generated from this package
// (header_test.go).
//
// With dh and dr the integer products of an atom's and a query's codes of the head and of
// the rest, atom i has
//
//	estimate = HeadScale_i HeadStep dh + Scale_i RestStep dr + Offset_i OffsetFactor
//	radius   = Radius_i RadiusFactor
//	rounding = HeadNorm_i HN + HeadErr_i HE + XNorm_i XN + Norm_i NN + WholeErr_i WE
//	           + the rounding of float32 and of subnormal numbers (Slop, Least)
//
// and is dropped if estimate + radius + rounding is below the query's threshold. Only the
// Student radius can fail; all else is deterministic.
package looks
