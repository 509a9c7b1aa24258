package tournaments

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"thresher/choice/duel"
	"thresher/service/problem"
)

const (
	defaultLease = 600        // seconds
	maxLease     = 30 * 86400 // seconds
	minLease     = 1e-3       // seconds
	defaultSeed  = 1
	maxHorizon   = 1 << 53 // exact in the JSON of all languages
	maxGamma     = 1e6     // keeps radii finite
	minAny       = 1e-100  // a delta that every algorithm takes
	maxSwept     = 256     // arms of a sweep of Double Thompson, which draws K^3 samples
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

// The ranges of numbers, as problems state them.
var (
	epsilons = interval{0, .5, true, "(0, 1/2)"}
	deltas   = interval{0, 1, true, "(0, 1)"}
	gammas   = interval{1, maxGamma, false, "[1, 1e6]"}
	alphas   = interval{.5, math.Inf(1), true, "(1/2, inf)"}
	leases   = interval{minLease, maxLease, false, "[0.001, 2592000]"}
)

// checkSpec checks s and returns its configuration with defaults filled in. most bounds the
// arms.
func checkSpec(s *Spec, most int) (duel.Config, error) {
	c := duel.Config{Arms: s.Arms, Order: duel.RandomOrder}
	for _, check := range []func(*Spec, int) error{checkArms, checkNames, checkMode, checkSweep, checkNumbers} {
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
		why, field := strings.TrimPrefix(err.Error(), "duel: "), blamed(c)
		if !strings.Contains(why, field) {
			why = field + ": " + why
		}
		return c, problem.New(problem.InvalidValue, "%s", why).In(field).Because(err)
	}
	return t.Config(), nil
}

// algorithms lists those that a tournament may have.
func algorithms() []duel.Algorithm { return append(duel.Algorithms(), duel.Rank, duel.Copeland) }

func checkNames(s *Spec, _ int) error {
	return cmp.Or(
		checkName("algorithm", s.Algorithm, true, algorithms()),
		checkName("mode", s.Mode, false, []duel.Goal{duel.Online, duel.PAC}),
		checkName("radius", s.Radius, true, []duel.Radius{duel.Tight, duel.Wide}),
		checkName("testing", s.Testing, true, []duel.Testing{duel.Strict, duel.Sweep}),
	)
}

// checkName checks that the value of a member is one of all or, if it is optional, "".
func checkName[T ~string](field, value string, optional bool, all []T) error {
	if slices.Contains(all, T(value)) || optional && value == "" {
		return nil
	}
	list := strings.Trim(fmt.Sprint(all), "[]")
	return problem.New(problem.InvalidValue, "%s %.60q is none of %s", field, value, strings.ReplaceAll(list, " ", ", ")).In(field).Within(all)
}

// checkMode checks that the members of the mode are there, and no others.
func checkMode(s *Spec, _ int) error {
	algorithm := duel.Algorithm(s.Algorithm)
	if (algorithm == duel.Rank || algorithm == duel.Copeland) && s.Mode != string(duel.PAC) {
		return problem.New(problem.InvalidValue, "algorithm %s belongs to mode %s, not to %s", algorithm, duel.PAC, s.Mode).In("mode").Within([]duel.Goal{duel.PAC})
	}
	bets := slices.Contains([]duel.Algorithm{"", duel.Anytime, duel.Rank, duel.Copeland}, algorithm)
	for _, m := range []struct {
		name     string
		has      bool
		of       duel.Goal
		in       string
		optional bool // where it belongs
		also     bool // in the other mode it is optional too
	}{
		{"horizon", s.Horizon != nil, duel.Online, horizons(s), false, bets},
		{"epsilon", s.Epsilon != nil, duel.PAC, epsilons.text, bets, false},
		{"delta", s.Delta != nil, duel.PAC, deltas.text, false, false},
	} {
		switch here := m.of == duel.Goal(s.Mode); {
		case !m.has && here && !m.optional:
			return problem.New(problem.InvalidValue, "%s is missing, which %s needs: a number in %s", m.name, needing(s), m.in).In(m.name).Within(m.in)
		case m.has && !here && !m.also:
			return problem.New(problem.InvalidValue, "%s belongs to mode %s, not to %s", m.name, m.of, s.Mode).In(m.name)
		}
	}
	return nil
}

// needing names the mode and, unless it is the default, the algorithm of s.
func needing(s *Spec) string {
	if s.Algorithm == "" {
		return "mode " + s.Mode
	}
	return fmt.Sprintf("mode %s by %s", s.Mode, s.Algorithm)
}

// checkSweep bounds the work of one call for duels, which draws a complete sweep.
func checkSweep(s *Spec, _ int) error {
	if n := len(s.Arms); duel.Algorithm(s.Algorithm) == duel.DoubleThompson && duel.Testing(s.Testing) == duel.Sweep && n > maxSwept {
		return problem.New(problem.OverLimit, "the length of arms is %d; %s with testing %s takes at most %d", n, s.Algorithm, s.Testing, maxSwept).In("arms").Within(maxSwept)
	}
	return nil
}

func checkNumbers(s *Spec, _ int) error {
	if s.Top != nil && duel.Algorithm(s.Algorithm) != duel.Rank {
		return problem.New(problem.InvalidValue, "top belongs to algorithm %s, not to %s", duel.Rank, cmp.Or(duel.Algorithm(s.Algorithm), duel.Anytime)).In("top")
	}
	if n := len(s.Arms); s.Top != nil && (*s.Top < 1 || *s.Top >= n) {
		return problem.New(problem.InvalidValue, "top is %d, not in [1, %d]: fewer than the arms", *s.Top, n-1).In("top").Within([]int{1, n - 1})
	}
	if h := s.Horizon; h != nil && (*h < int64(len(s.Arms)) || *h > maxHorizon) {
		return problem.New(problem.InvalidValue, "horizon is %d, not in %s", *h, horizons(s)).In("horizon").Within(horizons(s))
	}
	for _, n := range []struct {
		name  string
		value *float64
		in    interval
	}{
		{"epsilon", s.Epsilon, epsilons},
		{"delta", s.Delta, deltas},
		{"gamma", s.Gamma, gammas},
		{"alpha", s.Alpha, alphas},
		{"lease_seconds", s.LeaseSeconds, leases},
	} {
		if n.value != nil && !n.in.has(*n.value) {
			return problem.New(problem.InvalidValue, "%s is %g, not in %s", n.name, *n.value, n.in.text).In(n.name).Within(n.in.text)
		}
	}
	return nil
}

// horizons is the range of a horizon: one duel an arm at least.
func horizons(s *Spec) string { return fmt.Sprintf("[%d, 2^53]", len(s.Arms)) }

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
		{"delta", func(d *duel.Design) { d.Delta = max(d.Delta, minAny) }},
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
