// Package backendtest is the suite every compute backend passes: data sets
// that have broken searches before, a float64 oracle, and checks that drive the
// contract of package backend directly.
//
// A backend's own test is one line:
//
//	backendtest.Run(t, func() backend.Backend { return mine.New() })
//
// and one more holds it to the lists of every other backend:
//
//	backendtest.Lists(t, func() backend.Backend { return mine.New() })
//
// The oracle derives bounds for itself and does not use package looks, which decides
// what backends drop.
//
// The sets, the oracle and Countdown serve the tests of other packages too.
package backendtest
