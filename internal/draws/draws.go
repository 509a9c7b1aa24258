// Package draws fixes what tests draw at random, so that a test passes or fails alike in
// every run. The tests of a package that uses rapid import it, blank if they need nothing
// of it.
//
// The environment variable THRESHER_DRAWS says otherwise: a number is the seed; "fresh"
// draws one and prints it to stderr, and setting the variable to it draws the same again.
// The flags -rapid.seed and -rapid.nofailfile, given on the command line, win; rapid's variable
// RAPID_SEED is not heeded. go test cannot see that THRESHER_DRAWS is read, for that happens before
// flags are parsed: -count=1 keeps it from answering with the results of another seed.
//
//	THRESHER_DRAWS=fresh go test -count=1 ./...
//
// THRESHER_FULL=1 asks tests for all that they can try, as `make nightly` does. Without it those that
// would take long try a part, which is the same in every run; each says what the rest finds.
//
// rapid draws a property's cases from the seed alone. They depend neither on the order of
// tests nor on -count, and on -short and -rapid.checks only in their number.
package draws

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	_ "pgregory.net/rapid" // declares the flags
)

const (
	variable     = "THRESHER_DRAWS"
	fresh        = "fresh"
	usual        = 1   // the seed if nothing else is said
	usualChecks  = 100 // rapid's own
	fullVariable = "THRESHER_FULL"
)

var seed = fix(os.Stderr)

// Seed returns the seed of this process. Tests derive from it what they draw without rapid.
func Seed() uint64 { return seed }

// Rand returns a generator that depends on the seed and a stream. Tests that use the same stream
// draw the same numbers.
func Rand(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// Usual reports whether rapid tries the cases that every run has: those of the usual seed, as many as by
// default. Only of these can a test say what is true of all of them together, for example that none of two
// kinds is missing; other draws may lack one.
func Usual() bool {
	is := func(name string, value int) bool { return flag.Lookup(name).Value.String() == strconv.Itoa(value) }
	return is("rapid.seed", usual) && is("rapid.checks", usualChecks) && !testing.Short()
}

// Full reports whether tests are to try all that they can.
func Full() bool { return os.Getenv(fullVariable) == "1" }

// fix makes the seed rapid's default, for this process and for those that it starts, and
// returns it. A seed drawn here is printed.
func fix(out io.Writer) uint64 {
	s, err := parse(os.Getenv(variable))
	if err != nil {
		panic(err) // a test binary has nobody else to tell before its flags are parsed
	}
	if s == 0 {
		s = 1 + rand.Uint64N(1<<32)
		fmt.Fprintf(out, "these tests draw from a new seed, and from the same again with %s=%d go test -count=1\n", variable, s)
	}
	number := strconv.FormatUint(s, 10)
	if err := os.Setenv(variable, number); err != nil {
		panic(err)
	}
	// A file of a failed case would be in the source tree, and be tried again before what is drawn.
	for name, value := range map[string]string{"rapid.seed": number, "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	return s
}

// parse returns the seed that a value of the variable asks for, 0 for a fresh one.
func parse(value string) (uint64, error) {
	switch value {
	case "":
		return usual, nil
	case fresh:
		return 0, nil
	}
	s, err := strconv.ParseUint(value, 10, 64)
	if err != nil || s == 0 { // rapid takes 0 as an order to draw one itself
		return 0, fmt.Errorf("%s is %q, neither a number from 1 on nor %q", variable, value, fresh)
	}
	return s, nil
}
