package wire

import (
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/batch"
	"thresher/service/problem"
)

// option is a field of a search other than its queries.
type option struct {
	name string
	kind kind
	set  func(*Draft, value) error
}

// options lists the options by the names that JSON bodies, query parameters and parameters of
// the Open Inference Protocol have in common.
func options() []option {
	return []option{
		{"k", integerKind, (*Draft).setK},
		{"cut_k", flagKind, func(d *Draft, v value) error { d.s.CutK = v.flag; return nil }},
		{"delta", numberKind, (*Draft).setDelta},
		{"epsilon", numberKind, (*Draft).setEpsilon},
		{"relative", flagKind, func(d *Draft, v value) error { d.s.Relative = v.flag; return nil }},
		{"method", textKind, (*Draft).setMethod},
		{"plan", textKind, func(d *Draft, v value) error { d.s.Plan = v.text; return nil }},
		{"min_score", numberKind, (*Draft).setMinScore},
		{"max_score", numberKind, (*Draft).setMaxScore},
		{"timeout_ms", numberKind, (*Draft).setTimeout},
		{"allow", listKind, func(d *Draft, v value) error { d.s.Allow = v.ids; return nil }},
		{"deny", listKind, func(d *Draft, v value) error { d.s.Deny = v.ids; return nil }},
		{"include", textsKind, (*Draft).setInclude},
	}
}

// optionNames returns the names of all options.
func optionNames() []string {
	var names []string
	for _, o := range options() {
		names = append(names, o.name)
	}
	return names
}

func find(name string) (*option, error) {
	all := options()
	for i := range all {
		if all[i].name == name {
			return &all[i], nil
		}
	}
	name = cut(name)
	return nil, problem.New(problem.UnknownField, "there is no field %q", name).In(name).Within(append([]string{fieldQueries, fieldGoals}, optionNames()...))
}

// cut shortens text of a body for a message.
func cut(s string) string { return fmt.Sprintf("%.60s", s) }

func (d *Draft) setK(v value) (err error) {
	d.s.K, err = d.limits.CheckK(v.integer)
	return err
}

func (d *Draft) setDelta(v value) error {
	if !(v.number > 0 && v.number < 1) {
		return problem.New(problem.InvalidValue, "delta is %v, a probability inside (0, 1) is wanted", v.number).In("delta").Within("(0, 1)")
	}
	d.s.Delta = v.number
	return nil
}

func (d *Draft) setEpsilon(v value) error {
	if !(v.number >= 0 && v.number <= math.MaxFloat64) {
		return problem.New(problem.InvalidValue, "epsilon is %v, a finite number from 0 on is wanted", v.number).In("epsilon").Within("[0, inf)")
	}
	d.s.Epsilon = v.number
	return nil
}

func (d *Draft) setMethod(v value) error {
	m := batch.Method(v.text)
	if !slices.Contains(batch.Methods(), m) {
		return problem.New(problem.UnknownMethod, "method %q is none of %v", cut(v.text), batch.Methods()).In("method").Within(batch.Methods())
	}
	d.s.Method = m
	return nil
}

func (d *Draft) setMinScore(v value) error {
	if v.number-v.number != 0 {
		return problem.New(problem.InvalidValue, "min_score is %v, a finite number is wanted", v.number).In("min_score")
	}
	d.s.MinScore = &v.number
	return nil
}

func (d *Draft) setMaxScore(v value) error {
	if v.number-v.number != 0 {
		return problem.New(problem.InvalidValue, "max_score is %v, a finite number is wanted", v.number).In("max_score")
	}
	d.s.MaxScore = &v.number
	return nil
}

// Timeouts in milliseconds, from a microsecond, below which no search could begin, to a day.
const leastTimeout, mostTimeout = 1e-3, 86_400_000

func (d *Draft) setTimeout(v value) error {
	if !(v.number >= leastTimeout && v.number <= mostTimeout) {
		return problem.New(problem.InvalidValue, "timeout_ms is %v, at least %v and at most a day's %d is wanted", v.number, leastTimeout, mostTimeout).
			In("timeout_ms").Within([]float64{leastTimeout, mostTimeout})
	}
	d.s.Timeout = time.Duration(v.number * float64(time.Millisecond))
	return nil
}

func (d *Draft) setInclude(v value) error {
	members := []struct {
		name string
		set  *bool
	}{{"certificate", &d.s.Certificate}, {"rounds", &d.s.Rounds}, {"rows", &d.s.Rows}, {"scores64", &d.s.Scores64}}
	var names []string
	for _, m := range members {
		names = append(names, m.name)
	}
	for i, name := range v.texts {
		at := slices.Index(names, name)
		if at < 0 {
			return problem.New(problem.InvalidValue, "include: %q is none of %v", cut(name), names).At("include", i).Within(names)
		}
		*members[at].set = true
	}
	return nil
}
