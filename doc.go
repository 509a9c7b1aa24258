// Package thresher is the module's root: tests of its architecture only. The
// library is in package batch, the program in cmd/thresher.
package thresher
