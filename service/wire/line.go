package wire

import (
	"encoding/json"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// Line is one request of a batch's input. Body shares the memory of the decoded line.
type Line struct {
	CustomID string
	Method   string // POST
	URL      string
	Body     json.RawMessage // a JSON object
}

// DecodeLine reads one line of a batch's JSONL. Errors are of type *problem.Problem; the Line
// returned with them contains CustomID if it could be read.
func DecodeLine(b []byte) (Line, error) {
	var l Line
	seen := map[string]bool{}
	end, err := jsonscan.Fields(b, jsonscan.Space(b, 0), func(key []byte, at int) (int, error) {
		name := string(key)
		if seen[name] {
			return at, problem.New(problem.InvalidValue, "%s is given twice", cut(name)).In(cut(name))
		}
		seen[name] = true
		next, err := l.field(name, b, at)
		return next, inField(err, name)
	})
	if err == nil {
		err = nothingBehind(b, end)
	}
	if err != nil {
		return l, problem.Unreadable(err)
	}
	return l, l.check()
}

func (l *Line) field(name string, b []byte, at int) (next int, err error) {
	switch name {
	case "custom_id":
		return lineText(&l.CustomID, name, b, at)
	case "method":
		return lineText(&l.Method, name, b, at)
	case "url":
		return lineText(&l.URL, name, b, at)
	case "body":
		if !starts(b, at, '{') {
			return at, mistyped(name, b, at, "an object")
		}
		next, err = jsonscan.Value(b, at)
		l.Body = b[at:next:next]
		return next, err
	}
	return at, problem.New(problem.UnknownField, "there is no field %q", cut(name)).In(cut(name)).Within(lineFields())
}

func lineFields() []string { return []string{"custom_id", "method", "url", "body"} }

func lineText(dst *string, name string, b []byte, at int) (next int, err error) {
	if !starts(b, at, '"') {
		return at, mistyped(name, b, at, "a string")
	}
	*dst, next, err = text(b, at)
	return next, err
}

// check refuses a line with missing members.
func (l *Line) check() error {
	for _, x := range []struct {
		field   string
		missing bool
	}{
		{"custom_id", l.CustomID == ""}, {"method", l.Method == ""}, {"url", l.URL == ""}, {"body", l.Body == nil},
	} {
		if x.missing {
			return problem.New(problem.InvalidValue, "%s is missing or empty", x.field).In(x.field)
		}
	}
	if l.Method != "POST" {
		return problem.New(problem.InvalidValue, "method is %q, POST is wanted", cut(l.Method)).In("method").Within("POST")
	}
	return nil
}
