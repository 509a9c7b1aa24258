//go:build cuda && cgo

package gpu

import "thresher/backend/looks"

// The structures of kernels/types.cuh, field by field. layout.cu reports how the device lays them
// out, and a test compares.

// Flags of a query, as in types.cuh.
const (
	flagDone     = 1 << iota // answered; kernels skip the query
	flagDense                // to be answered by the dense path, or answered by it
	flagScanned              // all atoms have been seen by a look, or are ruled out by their norms
	flagRandom               // an arm was dropped by a bound that can fail
	flagOverflow             // the list had no room: arms are missing from it
	flagWaiting              // the query's chunk of a scan has not ended yet
	flagMixed                // it has mixed codes, made for its threshold
)

// query is the state of one query under elimination, with scores in units of 2^-exp. types.cuh
// describes the fields.
type query struct {
	tau, epsilon                                   float64
	floor, ceiling                                 float64
	lead, give                                     float64
	norm, headNorm, restNorm                       float64
	square, unit                                   float64
	headStep8, restStep8, headErr8, restErr8       float64
	headStep, restStep, headErr, restErr           float64
	highErr, highSum, mixedStep                    float64
	radiusFactor, hn, he, xn, nn, we, offsetFactor float64
	filter, excluded, given                        uint64 // device addresses, or 0
	excludes, givens, from                         uint32
	exp                                            int32
	k, flags, allowed                              uint32
	best, listed                                   uint32
	seen, kept, rows, expectedRows                 uint32
	origin                                         uint32
	pulls, bytes                                   uint64
	open                                           float64
	listedBefore                                   uint32
	_                                              [12]byte // to a multiple of 16
}

// strip holds the greatest of each term over looks.StripAtoms atoms.
type strip struct {
	headNorm, headErr, xnorm, norm, radius, offset, wholeErr, meanRadius float32
}

// terms are device addresses of arrays, 0 for none.
type terms struct {
	headScale, headNorm, headErr, norm, offset uint64
	scale, radius, xnorm, wholeErr             uint64
	strips, side                               uint64
}

// lists are the device addresses of a batch's lists, and the room of each list in entries.
type lists struct {
	atom, bound, estimate uint64
	room                  uint32
	_                     [4]byte
}

// mixing is what the mixed codes of queries are computed from. types.cuh describes the fields.
type mixing struct {
	limit                         [looks.MixedProducts]float64
	norms, slack, codeSlack, rest float64
	r, to, width                  int32
	_                             [4]byte
}

// report is the number of atoms that a look saw and kept for a query.
type report struct{ seen, kept uint32 }
