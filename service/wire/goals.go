package wire

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
	"thresher/tasks"
)

const fieldGoals = "goals"

// QueryGoal is what one query of a Search asks for, in addition to what the search asks for all.
type QueryGoal struct {
	// K is the number of atoms that the query wants, by the goal, the search or its defaults;
	// CutK is Search.CutK for this query.
	K    int
	CutK bool
	// MinScore and MaxScore, if not nil, replace those of the search.
	MinScore, MaxScore *float64
	// Filter, if not nil, lists the only ids that may be returned, in place of that of the search; equal ones of a
	// body are one.
	Filter *IDList
	// Exclude lists ids that may not be returned, Candidates those to score first; nil if
	// the goal has none.
	Exclude, Candidates *IDList
}

// listed returns the number of ids that the goal lists.
func (g *QueryGoal) listed() int {
	n := 0
	for _, l := range []*IDList{g.Filter, g.Exclude, g.Candidates} {
		if l != nil {
			n += l.Len()
		}
	}
	return n
}

// SetK sets the number of atoms wanted.
func (g *QueryGoal) SetK(k int64, l Limits) (err error) {
	g.K, err = l.CheckK(k)
	return err
}

// goalField is a member of a goal.
type goalField struct {
	name string
	kind kind
	set  func(*QueryGoal, value, Limits) error
}

func goalFields() [8]goalField {
	return [8]goalField{
		{"k", integerKind, func(g *QueryGoal, v value, l Limits) error { return g.SetK(v.integer, l) }},
		{"min_score", numberKind, func(g *QueryGoal, v value, _ Limits) error { g.MinScore = &v.number; return nil }},
		{"max_score", numberKind, func(g *QueryGoal, v value, _ Limits) error { g.MaxScore = &v.number; return nil }},
		{"max_distance", numberKind, func(g *QueryGoal, v value, _ Limits) error { g.MinScore = &v.number; return nil }},
		{"min_distance", numberKind, func(g *QueryGoal, v value, _ Limits) error { g.MaxScore = &v.number; return nil }},
		{"filter", filterKind, func(g *QueryGoal, v value, _ Limits) error { g.Filter = v.ids; return nil }},
		{"exclude", listKind, func(g *QueryGoal, v value, _ Limits) error { g.Exclude = v.ids; return nil }},
		{"candidates", idsKind, func(g *QueryGoal, v value, _ Limits) error { g.Candidates = v.ids; return nil }},
	}
}

// readGoals reads an array of goals at b[i].
func (d *Draft) readGoals(b []byte, i int) (next int, err error) {
	if err := d.beginGoals(fieldGoals); err != nil {
		return i, err
	}
	if !starts(b, i, '[') {
		return i, mistyped(fieldGoals, b, i, "an array of objects, one a query,")
	}
	fields, filters := goalFields(), map[[sha256.Size]byte]*IDList{}
	d.s.Goals = []QueryGoal{} // an empty list differs from no list
	next, err = jsonscan.Elements(b, i, func(n, at int) (int, error) {
		if most := d.limits.Queries; most > 0 && n == most {
			return at, problem.New(problem.OverLimit, "more than %d goals; a search may have at most so many queries", most).In(fieldGoals).Within(most)
		}
		if !starts(b, at, '{') {
			return at, element(mistyped(fieldGoals, b, at, "an object"), fieldGoals, n)
		}
		var g QueryGoal
		next, err := g.read(b, at, &fields, filters, d.limits, func(name string) { d.limited(name, memberName(fieldGoals, n, name)) })
		if err != nil {
			return next, inGoal(err, n)
		}
		d.s.Goals = append(d.s.Goals, g)
		return next, d.count(fieldGoals, g.listed(), n)
	})
	return next, inField(err, fieldGoals)
}

// read reads the goal at b[i], and passes the names of its members to note. filters are those of the goals before, by
// the digests of their texts.
func (g *QueryGoal) read(b []byte, i int, fields *[8]goalField, filters map[[sha256.Size]byte]*IDList, l Limits, note func(name string)) (int, error) {
	var seen [len(fields)]bool
	return jsonscan.Fields(b, i, func(key []byte, at int) (int, error) {
		for f := range fields {
			field := &fields[f]
			if string(key) != field.name {
				continue
			}
			if seen[f] {
				return at, problem.New(problem.InvalidValue, "%s is given twice", field.name).In(field.name)
			}
			seen[f] = true
			note(field.name)
			v, next, err := field.kind.read(field.name, b, at, l.Listed)
			if err != nil {
				return next, inField(err, field.name)
			}
			if field.kind == filterKind {
				text := sha256.Sum256(b[at:next])
				if before := filters[text]; before != nil {
					v.ids = before
				}
				filters[text] = v.ids
			}
			return next, field.set(g, v, l)
		}
		var names []string
		for f := range fields {
			names = append(names, fields[f].name)
		}
		name := cut(string(key))
		return at, problem.New(problem.UnknownField, "there is no field %q", name).In(name).Within(names)
	})
}

// count adds n ids, which entry j of a field lists, to those of the search.
func (d *Draft) count(field string, n, j int) error {
	d.listed += n
	if most := d.limits.Listed; most > 0 && d.listed > most {
		return problem.New(problem.OverLimit, "%s[%d]: the goals up to this one list %d ids, those of a search at most %d", field, j, d.listed, most).
			At(field, j).Within(most)
	}
	return nil
}

// beginGoals records that a field has goals.
func (d *Draft) beginGoals(field string) error {
	if err := d.markGoals(field); err != nil {
		return err
	}
	if d.goals != "" && (field == fieldGoals || d.goals == fieldGoals) {
		return problem.New(problem.InvalidValue, "%s and %s are both given: goals come as one or the other", d.goals, field).In(field)
	}
	if d.goals == "" {
		d.goals = field
	}
	return nil
}

// PerQuery sets a member of the goals of m queries, which the named field has: set is called
// with the goal of each query. Calls for several fields set several members.
func (d *Draft) PerQuery(field string, m int, set func(j int, g *QueryGoal) error) error {
	if err := d.beginGoals(field); err != nil {
		return err
	}
	if most := d.limits.Queries; most > 0 && m > most {
		return problem.New(problem.OverLimit, "%s has %d entries; a search may have at most %d queries", field, m, most).In(field).Within(most)
	}
	if d.s.Goals == nil {
		d.s.Goals = make([]QueryGoal, m)
	}
	if have := len(d.s.Goals); have != m {
		return problem.New(problem.InvalidValue, "%s has %d entries, %s has %d; both have one a query", field, m, d.goals, have).In(field).Within(have)
	}
	for j := range d.s.Goals {
		g := &d.s.Goals[j]
		before := g.listed()
		if err := set(j, g); err != nil {
			return err
		}
		if err := d.count(field, g.listed()-before, j); err != nil {
			return err
		}
	}
	return nil
}

// inGoal adds the number of the query to an error of its goal.
func inGoal(err error, j int) error { return inElement(err, fieldGoals, j) }

// inElement adds the position to an error in element j, an object, of an array.
func inElement(err error, list string, j int) error {
	p := problem.Unreadable(err)
	p.Detail = fmt.Sprintf("%s[%d]: %s", list, j, p.Detail)
	if p.Field == "" {
		return p.At(list, j)
	}
	p.Field = memberName(list, j, p.Field)
	return p
}

// memberName is the name, in problems, of a member of element j of an array.
func memberName(list string, j int, field string) string {
	return fmt.Sprintf("%s[%d].%s", list, j, field)
}

// CheckK checks a k that a body or a query asks for.
func (l Limits) CheckK(k int64) (int, error) {
	got, err := l.ks().Check(k)
	return got, refusedK(err)
}

// ks are the limits of k.
func (l Limits) ks() tasks.KLimits { return tasks.KLimits{Max: l.K} }

// refusedK is the problem of a k that is not accepted.
func refusedK(err error) error {
	var e *tasks.KError
	switch {
	case !errors.As(err, &e):
		return err
	case e.TooSmall:
		return problem.New(problem.InvalidValue, "%v", e).In("k").Within(e.Bound)
	case e.Vectors:
		return problem.New(problem.OverLimit, "k is %d and the collection has %d vectors; cut_k reduces k to that", e.K, e.Bound).In("k").Within(e.Bound)
	}
	return problem.New(problem.OverLimit, "%v", e).In("k").Within(e.Bound)
}

// completeGoals checks that there is a goal for each query, and gives each its k.
func (d *Draft) completeGoals(s *Search) error {
	if s.Goals == nil {
		return nil
	}
	if len(s.Goals) != s.M {
		return problem.New(problem.InvalidValue, "%s has %d entries for %d queries; one a query is wanted", d.goals, len(s.Goals), s.M).In(d.goals).Within(s.M)
	}
	for j := range s.Goals {
		g := &s.Goals[j]
		g.K, g.CutK = d.limits.ks().Of(g.K, s.K, g.MinScore != nil || s.MinScore != nil)
		g.CutK = g.CutK || s.CutK
	}
	return nil
}

// GoalK returns the k of a goal of a query over n atoms, which is 0 if it names none: its own, which is checked, or else all,
// that of all queries, or else the default. A greater one than n is refused unless cut or it is not the query's own.
func (l Limits) GoalK(g *batch.QueryGoal, all, n int, cut bool) (int, error) {
	own := g.K > 0
	if own {
		if _, err := l.CheckK(int64(g.K)); err != nil {
			return 0, err
		}
	}
	k, _ := l.ks().Of(g.K, all, g.MinScore != nil)
	k, err := tasks.FitK(k, n, cut || !own)
	return k, refusedK(err)
}

// KOf returns the k of query j, and whether it is reduced where there are fewer atoms.
func (s *Search) KOf(j int) (k int, cut bool) {
	if s.Goals == nil {
		return s.K, s.CutK
	}
	return s.Goals[j].K, s.Goals[j].CutK
}

// CheckK refuses a k above the number of atoms, n, unless it may be reduced, and otherwise
// returns the number of results that the search can have.
func (s *Search) CheckK(n int) (results int, err error) {
	for j := range s.M {
		k, cut := s.KOf(j)
		k, err := tasks.FitK(k, n, cut)
		if err != nil && s.Goals != nil {
			return 0, inGoal(refusedK(err), j)
		}
		if err != nil {
			return 0, refusedK(err)
		}
		results += k
	}
	return results, nil
}

// Listed returns the number of ids that the goals list.
func (s *Search) Listed() int {
	n := 0
	for j := range s.Goals {
		n += s.Goals[j].listed()
	}
	return n
}

// Evaluated is how many different filters of goals are expressions, which list rows when they are evaluated.
func (s *Search) Evaluated() int {
	seen := map[*IDList]bool{}
	for j := range s.Goals {
		if l := s.Goals[j].Filter; l != nil && l.Where != nil {
			seen[l] = true
		}
	}
	return len(seen)
}

// QueryGoals returns the goals for an engine over vectors of a metric, checked by tasks; nil if the
// search has none. Limits of all queries by names of other metrics are refused, too. rows returns the row numbers of the ids of a list, nil for a nil list; its error is
// a *problem.Problem that names the field and the index of the id.
func (s *Search) QueryGoals(m collection.Metric, rows func(l *IDList, field string) ([]int64, error)) ([]batch.QueryGoal, error) {
	if err := s.CheckLimits(m); err != nil {
		return nil, err
	}
	if s.Goals == nil {
		return nil, nil
	}
	goals, err := s.goalColumns(rows)
	if err != nil {
		return nil, err
	}
	all := s.Request()
	if err := goals.Check(&all, m); err != nil {
		return nil, s.InGoal(err)
	}
	return goals.Queries(0, s.M), nil
}

// goalColumns returns the goals as columns, with row numbers for ids.
func (s *Search) goalColumns(rows func(l *IDList, field string) ([]int64, error)) (*tasks.Goals, error) {
	g := &tasks.Goals{K: make([]int64, s.M)}
	filters := map[*IDList][]int64{}
	for j := range s.Goals {
		from := &s.Goals[j]
		g.K[j] = int64(from.K)
		tasks.SetLimit(&g.MinScore, from.MinScore, j, s.M)
		tasks.SetLimit(&g.MaxScore, from.MaxScore, j, s.M)
		if from.Filter != nil {
			if filters[from.Filter] == nil {
				list, err := rows(from.Filter, "filter")
				if err != nil {
					return nil, inGoal(err, j)
				}
				filters[from.Filter] = list
			}
			if g.Filter == nil {
				g.Filter = make([][]int64, s.M)
			}
			g.Filter[j] = filters[from.Filter]
		}
		for _, l := range []struct {
			name string
			from *IDList
			to   **tasks.Lists
		}{{"exclude", from.Exclude, &g.Exclude}, {"candidates", from.Candidates, &g.Candidates}} {
			list, err := rows(l.from, l.name)
			if err != nil {
				return nil, inGoal(err, j)
			}
			tasks.AddList(l.to, list, j, s.M)
		}
	}
	return g, nil
}

// InGoal names the member of the goal in an error of an engine that concerns one query's.
func (s *Search) InGoal(err error) error {
	var e *batch.RequestError
	if !errors.As(err, &e) || s.Goals == nil || e.Query < 0 || e.Query >= len(s.Goals) || e.Field == fieldQueries {
		return err
	}
	field, text := e.Field, e.Err.Error()
	if s.DistanceLimit != "" { // by the names of the body
		words := strings.NewReplacer("min_score", "max_distance", "max_score", "min_distance")
		field, text = words.Replace(field), words.Replace(text)
	}
	return problem.New(problem.InvalidValue, "goals[%d]: %s: %s", e.Query, field, text).In(memberName(fieldGoals, e.Query, field)).Because(e)
}

// goalsText reads goals from a query parameter, where they are written as in JSON.
func (d *Draft) goalsText(values []string) error {
	if len(values) != 1 {
		return problem.New(problem.InvalidValue, "goals is given %d times", len(values)).In(fieldGoals)
	}
	b := []byte(values[0])
	end, err := d.readGoals(b, jsonscan.Space(b, 0))
	if err == nil {
		err = nothingBehind(b, end)
	}
	return inField(err, fieldGoals)
}
