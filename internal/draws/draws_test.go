package draws

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		value string
		want  uint64
		wrong bool
	}{
		{"", usual, false},
		{"fresh", 0, false},
		{"1", 1, false},
		{"18446744073709551615", 1<<64 - 1, false},
		{"0", 0, true}, // rapid would draw a seed that nobody is told
		{"-1", 0, true},
		{"new", 0, true},
		{"18446744073709551616", 0, true},
	} {
		got, err := parse(c.value)
		if got != c.want || (err != nil) != c.wrong {
			t.Errorf("%q: %d, %v; want %d, an error: %v", c.value, got, err, c.want, c.wrong)
		}
		if err != nil && !strings.Contains(err.Error(), variable) {
			t.Errorf("%q: the error does not name the variable: %v", c.value, err)
		}
	}
}

func TestUsual(t *testing.T) {
	keepFlags(t)
	for _, c := range []struct {
		seed, checks string
		want         bool
	}{{"1", "100", !testing.Short()}, {"2", "100", false}, {"0", "100", false}, {"1", "20", false}} {
		for name, value := range map[string]string{"rapid.seed": c.seed, "rapid.checks": c.checks} {
			if err := flag.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
		if Usual() != c.want {
			t.Errorf("seed %s, %s checks: usual %v, want %v", c.seed, c.checks, !c.want, c.want)
		}
	}
}

func TestFull(t *testing.T) {
	for value, want := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv(fullVariable, value)
		if Full() != want {
			t.Errorf("%s=%q: %v", fullVariable, value, !want)
		}
	}
}

// keepFlags restores what fix changes.
func keepFlags(t *testing.T) {
	t.Helper()
	for _, name := range []string{"rapid.seed", "rapid.checks", "rapid.nofailfile"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		t.Cleanup(func() {
			if err := f.Value.Set(before); err != nil {
				t.Error(err)
			}
		})
	}
	t.Setenv(variable, os.Getenv(variable)) // is set again at the end of the test
}

// TestFix: the seed becomes rapid's and that of child processes; only a fresh one is printed, in a
// way that draws it again.
func TestFix(t *testing.T) {
	keepFlags(t)
	fixed := func(value string) (seed uint64, said string) {
		t.Helper()
		t.Setenv(variable, value)
		var out strings.Builder
		seed = fix(&out)
		number := fmt.Sprint(seed)
		if got := flag.Lookup("rapid.seed").Value.String(); got != number || os.Getenv(variable) != number {
			t.Errorf("%s=%q: seed %s, rapid's %s, that of children %s", variable, value, number, got, os.Getenv(variable))
		}
		return seed, out.String()
	}
	if seed, said := fixed(""); seed != usual || said != "" {
		t.Errorf("by default the seed is %d, and %q is printed", seed, said)
	}
	if seed, said := fixed("77"); seed != 77 || said != "" {
		t.Errorf("77 gives the seed %d and prints %q", seed, said)
	}
	one, said := fixed(fresh)
	if !strings.Contains(said, fmt.Sprintf("%s=%d ", variable, one)) {
		t.Errorf("the fresh seed %d is not in %q", one, said)
	}
	if two, _ := fixed(fresh); one == two {
		t.Errorf("two fresh seeds are both %d", one)
	}
}

// drawn returns the cases of a property that uses what rapid has: biased integers, floats,
// strings, actions.
func drawn(t *testing.T) (all []string) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		s := fmt.Sprint(rapid.Int().Draw(t, "i"), rapid.Float64().Draw(t, "f"),
			rapid.StringMatching(`[a-z]{2,9}`).Draw(t, "s"), rapid.SliceOfDistinct(rapid.Byte(), rapid.ID).Draw(t, "b"))
		t.Repeat(map[string]func(*rapid.T){
			"one": func(*rapid.T) { s += "1" },
			"two": func(*rapid.T) { s += "2" },
			"six": func(*rapid.T) { s += "6" },
		})
		all = append(all, s)
	})
	return all
}

// TestSeedDecides: cases do not depend on what was drawn before them, but on the seed.
func TestSeedDecides(t *testing.T) {
	keepFlags(t)
	fix(nil) // whatever flags the command line has
	first := drawn(t)
	rapid.Check(t, func(t *rapid.T) { rapid.Uint64().Draw(t, "other") })
	if diff := cmp.Diff(first, drawn(t)); diff != "" {
		t.Errorf("one seed draws two series:\n%s", diff)
	}
	t.Setenv(variable, fmt.Sprint(Seed()+1))
	fix(nil)
	if cmp.Equal(first, drawn(t)) {
		t.Error("two seeds draw the same")
	}
	if Rand(1).Uint64() != Rand(1).Uint64() || Rand(1).Uint64() == Rand(2).Uint64() {
		t.Error("a stream is not what decides the draws of Rand")
	}
}
