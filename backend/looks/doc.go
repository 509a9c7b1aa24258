// Package looks decides whether an arm is dropped. It is the one place in which the
// bounds of docs/guarantee.md become numbers: which terms of a collection a look on
// codes reads, how it bounds what it has not read, what a query multiplies
// each term by, and how much is charged for rounding. Backends move these numbers to
// where they are needed and apply them; kernels have their constants from a header
// that is written from this package (header_test.go).
//
// With dh and dr the integer products of an atom's codes with a query's, of the head
// and of the rest, atom i has
//
//	estimate = HeadScale_i HeadStep dh + Scale_i RestStep dr + Offset_i OffsetFactor
//	radius   = Radius_i RadiusFactor
//	rounding = HeadNorm_i HN + HeadErr_i HE + XNorm_i XN + Norm_i NN + WholeErr_i WE
//	           + what float32 and numbers below the normal ones lose (Slop, Least)
//
// and is dropped when estimate + radius + rounding lies below the query's threshold.
// The radius alone can fail, and only where it is Student's.
package looks
