package wire

import (
	"cmp"
	"fmt"
	"strings"

	"thresher/collection"
	"thresher/service/problem"
	"thresher/tasks"
)

// Former is a field that was given by a name which it had before.
type Former struct {
	Given, Name string
}

// Note says what the field is called now.
func (f Former) Note() string {
	return fmt.Sprintf("%s is called %s now; the former name is still taken", f.Given, f.Name)
}

// Notes are the notes of all fields that the search has by former names.
func (s *Search) Notes() []string {
	var notes []string
	for _, f := range s.Former {
		notes = append(notes, f.Note())
	}
	return notes
}

// Called returns by which name the field was given: its own or a former one.
func (s *Search) Called(name string) string {
	for _, f := range s.Former {
		if f.Name == name {
			return f.Given
		}
	}
	return name
}

// present records that an option was given by a name, at most once and by one of its names.
func (d *Draft) present(o *option, given string) error {
	if d.seen[o.name] && d.s.Called(o.name) != given {
		return problem.New(problem.InvalidValue, "%s and %s are one field, whose name is %s", d.s.Called(o.name), given, o.name).In(given)
	}
	if d.seen[o.name] {
		return d.markSeen(given)
	}
	d.seen[o.name], d.seen[given] = true, true
	if given != o.name {
		d.s.Former = append(d.s.Former, Former{given, o.name})
	}
	d.limited(o.name, o.name)
	return nil
}

// limited records that a field of the body is a limit of scores, if it is, by the name that it has in an object.
func (d *Draft) limited(name, field string) {
	switch name {
	case "min_score", "max_score":
		d.s.ScoreLimit = cmp.Or(d.s.ScoreLimit, field)
	case "max_distance", "min_distance":
		d.s.DistanceLimit = cmp.Or(d.s.DistanceLimit, field)
	}
}

// CheckLimits refuses limits of scores by the names that they have by other metrics than m.
func (s *Search) CheckLimits(m collection.Metric) error {
	for _, field := range []string{s.ScoreLimit, s.DistanceLimit} {
		if field == "" {
			continue
		}
		if err := tasks.CheckLimitName(field[strings.LastIndexByte(field, '.')+1:], m); err != nil {
			return problem.New(problem.InvalidValue, "%s: %v", field, err).In(field)
		}
	}
	return nil
}
