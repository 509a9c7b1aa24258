// Package race tells tests whether the race detector is on, under which they take ten times as long.
package race

import "testing"

// Skip skips a test in a short run under the race detector. Its reason is why the detector has nothing to find there, as a string
// constant: "one goroutine", or which other test of the package runs the same goroutines for less. A test at the root of the module
// fails if a reason names a test that does not exist. Without -short the test runs.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if Enabled && testing.Short() {
		t.Skip(reason)
	}
}
