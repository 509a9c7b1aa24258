package tournaments

import (
	"encoding/json"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"thresher/duel"
	"thresher/service/problem"
)

const (
	defaultLease = 600        // seconds
	mostLease    = 30 * 86400 // seconds
	leastLease   = 1e-3       // seconds
	defaultSeed  = 1
	mostName     = 256     // characters of an arm's name
	mostHorizon  = 1 << 53 // exact in the JSON of all languages
	mostGamma    = 1e6     // keeps radii finite
	leastAny     = 1e-100  // a delta that every algorithm takes
	mostSwept    = 256     // arms of a sweep of Double Thompson, which draws K^3 samples
)

// interval is a range of numbers.
type interval struct {
	low, high float64
	open      bool // excludes low and high
	text      string
}

func (i interval) has(x float64) bool {
	if i.open {
		return i.low < x && x < i.high
	}
	return i.low <= x && x <= i.high
}

// checkSpec checks s and returns its configuration with defaults filled in. most bounds the
// arms.
func checkSpec(s *Spec, most int) (duel.Config, error) {
	c := duel.Config{Arms: s.Arms, Order: duel.RandomOrder}
	for _, check := range []func(*Spec, int) error{checkArms, checkMode, checkNames, checkSweep, checkNumbers} {
		if err := check(s, most); err != nil {
			return c, err
		}
	}
	c.Design = duel.Design{
		Algorithm: duel.Algorithm(s.Algorithm), Goal: duel.Goal(s.Mode), Horizon: value(s.Horizon), Epsilon: value(s.Epsilon), Delta: value(s.Delta),
		Top: value(s.Top), Gamma: value(s.Gamma), Alpha: value(s.Alpha), Radius: duel.Radius(s.Radius), Testing: duel.Testing(s.Testing),
	}
	seed, lease := uint64(defaultSeed), float64(defaultLease)
	if s.Seed != nil {
		seed = *s.Seed
	}
	if s.LeaseSeconds != nil {
		lease = *s.LeaseSeconds
	}
	c.Seed, c.Lease = seed, time.Duration(lease*float64(time.Second))
	t, err := duel.New(c, nil)
	if err != nil {
		return c, problem.New(problem.InvalidValue, "%v", err).In(blamed(c)).Because(err)
	}
	return t.Config(), nil
}

func checkArms(s *Spec, most int) error {
	if n := len(s.Arms); n < 2 {
		return problem.New(problem.InvalidValue, "%d arms; a tournament has at least 2", n).In("arms").Within([]int{2, most})
	} else if n > most {
		return problem.New(problem.OverLimit, "%d arms; at most %d may be in one tournament", n, most).In("arms").Within(most)
	}
	seen := make(map[string]int, len(s.Arms))
	for i, name := range s.Arms {
		if n := utf8.RuneCountInString(name); n == 0 || n > mostName {
			return problem.New(problem.InvalidValue, "the name of arm %d has %d characters, not 1 to %d", i, n, mostName).At("arms", i).Within([]int{1, mostName})
		}
		if j, ok := seen[name]; ok {
			return problem.New(problem.InvalidValue, "arms %d and %d are both %q", j, i, name).At("arms", i)
		}
		seen[name] = i
	}
	return nil
}

// checkMode checks that the members of the mode are there, and no others.
func checkMode(s *Spec, _ int) error {
	algorithm := duel.Algorithm(s.Algorithm)
	if modes := []duel.Goal{duel.Online, duel.PAC}; !slices.Contains(modes, duel.Goal(s.Mode)) {
		return problem.New(problem.InvalidValue, "mode %q is none of online, pac", s.Mode).In("mode").Within(modes)
	}
	if (algorithm == duel.Rank || algorithm == duel.Copeland) && s.Mode != string(duel.PAC) {
		return problem.New(problem.InvalidValue, "algorithm %s belongs to mode %s, not to %s", algorithm, duel.PAC, s.Mode).In("mode").Within([]duel.Goal{duel.PAC})
	}
	bets := slices.Contains([]duel.Algorithm{"", duel.Anytime, duel.Rank, duel.Copeland}, algorithm)
	for _, m := range []struct {
		name     string
		has      bool
		of       duel.Goal
		optional bool // where it belongs
		also     bool // in the other mode it is optional too
	}{
		{"horizon", s.Horizon != nil, duel.Online, false, bets},
		{"epsilon", s.Epsilon != nil, duel.PAC, bets, false},
		{"delta", s.Delta != nil, duel.PAC, false, false},
	} {
		switch here := m.of == duel.Goal(s.Mode); {
		case !m.has && here && !m.optional:
			return problem.New(problem.InvalidValue, "%s is missing, which mode %s needs", m.name, s.Mode).In(m.name)
		case m.has && !here && !m.also:
			return problem.New(problem.InvalidValue, "%s belongs to mode %s, not to %s", m.name, m.of, s.Mode).In(m.name)
		}
	}
	return nil
}

// algorithms lists those that a tournament may have.
func algorithms() []duel.Algorithm { return append(duel.Algorithms(), duel.Rank, duel.Copeland) }

func checkNames(s *Spec, _ int) error {
	if all := algorithms(); s.Algorithm != "" && !slices.Contains(all, duel.Algorithm(s.Algorithm)) {
		return problem.New(problem.InvalidValue, "algorithm %q is none of %v", s.Algorithm, all).In("algorithm").Within(all)
	}
	if all := []duel.Radius{duel.Tight, duel.Wide}; s.Radius != "" && !slices.Contains(all, duel.Radius(s.Radius)) {
		return problem.New(problem.InvalidValue, "radius %q is none of %v", s.Radius, all).In("radius").Within(all)
	}
	if all := []duel.Testing{duel.Strict, duel.Sweep}; s.Testing != "" && !slices.Contains(all, duel.Testing(s.Testing)) {
		return problem.New(problem.InvalidValue, "testing %q is none of %v", s.Testing, all).In("testing").Within(all)
	}
	return nil
}

// checkSweep bounds the work of one call for duels, which draws a complete sweep.
func checkSweep(s *Spec, _ int) error {
	if n := len(s.Arms); duel.Algorithm(s.Algorithm) == duel.DoubleThompson && duel.Testing(s.Testing) == duel.Sweep && n > mostSwept {
		return problem.New(problem.OverLimit, "%d arms; %s with testing %s has at most %d", n, s.Algorithm, s.Testing, mostSwept).In("arms").Within(mostSwept)
	}
	return nil
}

func checkNumbers(s *Spec, _ int) error {
	if s.Top != nil && duel.Algorithm(s.Algorithm) != duel.Rank {
		return problem.New(problem.InvalidValue, "top belongs to algorithm %s", duel.Rank).In("top")
	}
	if n := len(s.Arms); s.Top != nil && (*s.Top < 1 || *s.Top >= n) {
		return problem.New(problem.InvalidValue, "top is %d", *s.Top).In("top").Within([]int{1, n - 1})
	}
	if h := s.Horizon; h != nil && (*h < int64(len(s.Arms)) || *h > mostHorizon) {
		return problem.New(problem.InvalidValue, "horizon is %d", *h).In("horizon").Within(horizonRange)
	}
	for _, n := range []struct {
		name  string
		value *float64
		in    interval
	}{
		{"epsilon", s.Epsilon, interval{0, .5, true, "(0, 1/2)"}},
		{"delta", s.Delta, interval{0, 1, true, "(0, 1)"}},
		{"gamma", s.Gamma, interval{1, mostGamma, false, "[1, 1e6]"}},
		{"alpha", s.Alpha, interval{.5, math.Inf(1), true, "(1/2, inf)"}},
		{"lease_seconds", s.LeaseSeconds, interval{leastLease, mostLease, false, "[0.001, 2592000]"}},
	} {
		if n.value == nil {
			continue
		}
		if x := *n.value; !n.in.has(x) {
			return problem.New(problem.InvalidValue, "%s is %g", n.name, x).In(n.name).Within(n.in.text)
		}
	}
	return nil
}

// blamed returns the member whose omission, or greater value, would make the configuration
// valid.
func blamed(c duel.Config) string {
	for _, m := range []struct {
		name string
		drop func(*duel.Design)
	}{
		{"alpha", func(d *duel.Design) { d.Alpha = 0 }},
		{"radius", func(d *duel.Design) { d.Radius = "" }},
		{"gamma", func(d *duel.Design) { d.Gamma = 0 }},
		{"delta", func(d *duel.Design) { d.Delta = max(d.Delta, leastAny) }},
	} {
		without := c
		if m.drop(&without.Design); without.Design == c.Design {
			continue
		}
		if _, err := duel.New(without, nil); err == nil {
			return m.name
		}
	}
	return "algorithm"
}

// horizonRange describes the values of a horizon.
const horizonRange = "a whole number from one duel an arm to 2^53"

// value returns *x, or 0.
func value[T int | int64 | float64](x *T) (v T) {
	if x != nil {
		v = *x
	}
	return v
}

// orNil returns &x, or nil for 0.
func orNil[T int | int64 | float64](x T) *T {
	if x == 0 {
		return nil
	}
	return &x
}

// completed returns the Spec of a configuration with its defaults filled in.
func completed(c duel.Config) Spec {
	lease := c.Lease.Seconds()
	return Spec{
		Arms: c.Arms, Mode: string(c.Goal), Algorithm: string(c.Algorithm), Horizon: orNil(c.Horizon), Epsilon: orNil(c.Epsilon),
		Delta: orNil(c.Delta), Top: orNil(c.Top), Gamma: orNil(c.Gamma), Alpha: orNil(c.Alpha), Radius: string(c.Radius), Testing: string(c.Testing),
		LeaseSeconds: &lease, Seed: &c.Seed,
	}
}

// fingerprintOf identifies the contents of s.
func fingerprintOf(s *Spec) (string, error) {
	text, err := json.Marshal(s)
	return digest(text), err
}
