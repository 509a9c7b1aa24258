// Package backendtest is the conformance suite that every backend passes: data sets that
// have revealed errors before, a float64 oracle, and checks that call the contract of
// package backend directly.
//
// A backend's test is one line:
//
//	backendtest.Run(t, func() backend.Backend { return mine.New() })
//
// and another compares its lists with those of all other backends:
//
//	backendtest.Lists(t, func() backend.Backend { return mine.New() })
//
// The oracle derives its bounds independently of package looks, which decides what backends
// drop.
//
// Tests of other packages use the sets, the oracle and Countdown too.
package backendtest
