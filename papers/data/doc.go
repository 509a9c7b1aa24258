// Package data makes the data sets of the papers' experiments: generators that compute a coordinate when it is read, so
// that a dimension may exceed memory, and stand-ins for data that is not at hand, each named as what it is.
//
// Everything is a function of a seed. Coordinate j of an atom is the same at every dimension, unless a generator says
// otherwise. Atoms may be read by several goroutines at once.
package data
