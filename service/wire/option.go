package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/batch"
	"thresher/service/problem"
)

// option is a field of a search other than its queries.
type option struct {
	name   string
	former string // which it had before, and which is still taken; "" for none
	kind   kind
	set    func(*Draft, value) error
}

// options lists the options, by the names that JSON bodies, query parameters and parameters of
// the Open Inference Protocol have in common.
func options() []option {
	return []option{
		{"k", "", integerKind, (*Draft).setK},
		{"cut_k", "", flagKind, func(d *Draft, v value) error { d.s.CutK = v.flag; return nil }},
		{"delta", "", numberKind, (*Draft).setDelta},
		{"epsilon", "", numberKind, (*Draft).setEpsilon},
		{"relative", "", flagKind, func(d *Draft, v value) error { d.s.Relative = v.flag; return nil }},
		{"method", "", textKind, (*Draft).setMethod},
		{"published", "", objectKind, (*Draft).setPublished},
		{"plan", "", textKind, func(d *Draft, v value) error { d.s.Plan = v.text; return nil }},
		{"min_score", "", numberKind, func(d *Draft, v value) error { return setLimitTo(&d.s.MinScore, "min_score", v) }},
		{"max_score", "", numberKind, func(d *Draft, v value) error { return setLimitTo(&d.s.MaxScore, "max_score", v) }},
		{"max_distance", "", numberKind, func(d *Draft, v value) error { return setLimitTo(&d.s.MinScore, "max_distance", v) }},
		{"min_distance", "", numberKind, func(d *Draft, v value) error { return setLimitTo(&d.s.MaxScore, "min_distance", v) }},
		{"deadline_ms", "timeout_ms", numberKind, (*Draft).setDeadline},
		{"filter", "allow", filterKind, func(d *Draft, v value) error { d.s.Filter = v.ids; return nil }},
		{"exclude", "deny", listKind, func(d *Draft, v value) error { d.s.Exclude = v.ids; return nil }},
		{"include", "", textsKind, (*Draft).setInclude},
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

// isOption reports whether an option has or had a name.
func isOption(name string) bool {
	_, err := find(name)
	return err == nil
}

func find(name string) (*option, error) {
	all := options()
	for i := range all {
		if all[i].name == name || all[i].former == name && name != "" {
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

func (d *Draft) setPublished(v value) error {
	if err := json.Unmarshal(v.object, &d.s.Published); err != nil {
		return problem.Of(err)
	}
	return nil
}

func setLimitTo(limit **float64, name string, v value) error {
	if v.number-v.number != 0 {
		return problem.New(problem.InvalidValue, "%s is %v, a finite number is wanted", name, v.number).In(name)
	}
	*limit = &v.number
	return nil
}

// Deadlines in milliseconds, from a microsecond, below which no search could begin, to a day.
const minDeadline, maxDeadline = 1e-3, 86_400_000

func (d *Draft) setDeadline(v value) error {
	if !(v.number >= minDeadline && v.number <= maxDeadline) {
		name := d.s.Called("deadline_ms")
		return problem.New(problem.InvalidValue, "%s is %v, at least %v and at most a day's %d is wanted", name, v.number, minDeadline, maxDeadline).
			In(name).Within([]float64{minDeadline, maxDeadline})
	}
	d.s.Deadline = time.Duration(v.number * float64(time.Millisecond))
	return nil
}

func (d *Draft) setInclude(v value) error {
	members := []struct {
		name string
		set  *bool
	}{{"certificate", &d.s.Certificate}, {"rounds", &d.s.Rounds}, {"rows", &d.s.Rows}, {"scores64", &d.s.Scores64}, {"covers", &d.covers}}
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
