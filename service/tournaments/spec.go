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

// Spec is what a client asks for. Members that are nil or "" take defaults.
type Spec struct {
	Arms []string `json:"arms"` // distinct names
	// Mode is online, with Horizon, or pac, with Epsilon and Delta.
	Mode      duel.Goal      `json:"mode"`
	Algorithm duel.Algorithm `json:"algorithm,omitempty"`
	Horizon   *float64       `json:"horizon,omitempty"` // whole
	Epsilon   *float64       `json:"epsilon,omitempty"`
	Delta     *float64       `json:"delta,omitempty"`
	Gamma     *float64       `json:"gamma,omitempty"`
	Alpha     *float64       `json:"alpha,omitempty"`
	Radius    duel.Radius    `json:"radius,omitempty"`
	Testing   duel.Testing   `json:"testing,omitempty"`
	// LeaseSeconds is how long a duel is kept for whom it was handed out to.
	LeaseSeconds *float64 `json:"lease_seconds,omitempty"`
	Seed         *uint64  `json:"seed,omitempty"`
}

const (
	defaultLease = 600        // seconds
	mostLease    = 30 * 86400 // seconds
	leastLease   = 1e-3       // seconds
	defaultSeed  = 1
	mostName     = 256     // characters of an arm's name
	mostHorizon  = 1 << 53 // exact in the JSON of any language
	mostGamma    = 1e6     // radii are finite
	mostSwept    = 256     // arms of a sweep of Double Thompson, which draws K^3 samples
)

// interval is the values that a number may have.
type interval struct {
	low, high float64
	open      bool // without low and high
	text      string
}

func (i interval) has(x float64) bool {
	if i.open {
		return i.low < x && x < i.high
	}
	return i.low <= x && x <= i.high
}

// check finds what is wrong with s, and returns the configuration that it means, with
// defaults filled in. most bounds the arms.
func (s *Spec) check(most int) (duel.Config, error) {
	c := duel.Config{Arms: s.Arms}
	for _, check := range []func() error{func() error { return s.checkArms(most) }, s.checkMode, s.checkNames, s.checkSweep, s.checkNumbers} {
		if err := check(); err != nil {
			return c, err
		}
	}
	c.Design = duel.Design{
		Algorithm: s.Algorithm, Goal: s.Mode, Horizon: int64(value(s.Horizon)), Epsilon: value(s.Epsilon), Delta: value(s.Delta),
		Gamma: value(s.Gamma), Alpha: value(s.Alpha), Radius: s.Radius, Testing: s.Testing,
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

func (s *Spec) checkArms(most int) error {
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

// checkMode finds members that the mode has not, or lacks.
func (s *Spec) checkMode() error {
	type member struct {
		name  string
		value *float64
		of    duel.Goal
	}
	if modes := []duel.Goal{duel.Online, duel.PAC}; !slices.Contains(modes, s.Mode) {
		return problem.New(problem.InvalidValue, "mode %q is none of online, pac", s.Mode).In("mode").Within(modes)
	}
	for _, m := range []member{{"horizon", s.Horizon, duel.Online}, {"epsilon", s.Epsilon, duel.PAC}, {"delta", s.Delta, duel.PAC}} {
		switch has := m.value != nil; {
		case !has && m.of == s.Mode:
			return problem.New(problem.InvalidValue, "%s is missing, which mode %s needs", m.name, s.Mode).In(m.name)
		case has && m.of != s.Mode:
			return problem.New(problem.InvalidValue, "%s belongs to mode %s, not to %s", m.name, m.of, s.Mode).In(m.name)
		}
	}
	return nil
}

func (s *Spec) checkNames() error {
	if all := duel.Algorithms(); s.Algorithm != "" && !slices.Contains(all, s.Algorithm) {
		return problem.New(problem.InvalidValue, "algorithm %q is none of %v", s.Algorithm, all).In("algorithm").Within(all)
	}
	if all := []duel.Radius{duel.Tight, duel.Wide}; s.Radius != "" && !slices.Contains(all, s.Radius) {
		return problem.New(problem.InvalidValue, "radius %q is none of %v", s.Radius, all).In("radius").Within(all)
	}
	if all := []duel.Testing{duel.Strict, duel.Sweep}; s.Testing != "" && !slices.Contains(all, s.Testing) {
		return problem.New(problem.InvalidValue, "testing %q is none of %v", s.Testing, all).In("testing").Within(all)
	}
	return nil
}

// checkSweep bounds the work of one call for duels, which draws a sweep as a whole.
func (s *Spec) checkSweep() error {
	if n := len(s.Arms); s.Algorithm == duel.DoubleThompson && s.Testing == duel.Sweep && n > mostSwept {
		return problem.New(problem.OverLimit, "%d arms; %s with testing %s has at most %d", n, s.Algorithm, s.Testing, mostSwept).In("arms").Within(mostSwept)
	}
	return nil
}

func (s *Spec) checkNumbers() error {
	for _, n := range []struct {
		name  string
		value *float64
		in    interval
	}{
		{"horizon", s.Horizon, interval{float64(len(s.Arms)), mostHorizon, false, "a whole number from one duel an arm to 2^53"}},
		{"epsilon", s.Epsilon, interval{0, .5, true, "(0, 1/2)"}},
		{"delta", s.Delta, interval{0, 1, true, "(0, 1)"}},
		{"gamma", s.Gamma, interval{1, mostGamma, false, "[1, 1e6]"}},
		{"alpha", s.Alpha, interval{.5, math.Inf(1), true, "(1/2, inf)"}},
		{"lease_seconds", s.LeaseSeconds, interval{leastLease, mostLease, false, "[0.001, 2592000]"}},
	} {
		if n.value == nil {
			continue
		}
		if x := *n.value; !n.in.has(x) || n.name == "horizon" && x != math.Trunc(x) {
			return problem.New(problem.InvalidValue, "%s is %g", n.name, x).In(n.name).Within(n.in.text)
		}
	}
	return nil
}

// blamed is the member without which there would be a tournament.
func blamed(c duel.Config) string {
	for _, m := range []struct {
		name string
		drop func(*duel.Design)
	}{
		{"alpha", func(d *duel.Design) { d.Alpha = 0 }},
		{"radius", func(d *duel.Design) { d.Radius = "" }},
		{"gamma", func(d *duel.Design) { d.Gamma = 0 }},
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

// value is *x, or 0.
func value(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}

// completed is the Spec of a configuration with its defaults filled in.
func completed(c duel.Config) Spec {
	given := func(x float64) *float64 {
		if x == 0 {
			return nil
		}
		return &x
	}
	lease := c.Lease.Seconds()
	return Spec{
		Arms: c.Arms, Mode: c.Goal, Algorithm: c.Algorithm, Horizon: given(float64(c.Horizon)), Epsilon: given(c.Epsilon),
		Delta: given(c.Delta), Gamma: given(c.Gamma), Alpha: given(c.Alpha), Radius: c.Radius, Testing: c.Testing,
		LeaseSeconds: &lease, Seed: &c.Seed,
	}
}

// fingerprint stands for all that s asks.
func (s *Spec) fingerprint() (string, error) {
	text, err := json.Marshal(s)
	return digest(text), err
}
