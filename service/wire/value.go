package wire

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"thresher/columns"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// kind is the type of an option's value.
type kind int

const (
	integerKind kind = iota
	numberKind
	flagKind
	textKind
	textsKind
	idsKind
	listKind // ids, or a mask
	objectKind
	filterKind // ids, a mask, an expression over columns, or a filter in Qdrant's form
)

func (k kind) String() string {
	return [...]string{"a whole number", "a number", "true or false", "a string", "an array of strings", "an array of ids", "an array of ids or of true and false", "an object", "an array of ids or of true and false, an expression over columns, or an object of conditions"}[k]
}

// value is an option's value, in the field of its kind.
type value struct {
	integer int64
	number  float64
	flag    bool
	text    string
	texts   []string
	ids     *IDList
	object  []byte // JSON, of the body's memory
}

// read reads the JSON value at b[i] and returns the index after it. A list has at most most ids, 0 for any number.
func (k kind) read(name string, b []byte, i, most int) (v value, next int, err error) {
	switch {
	case k == integerKind && startsNumber(b, i):
		v.integer, next, err = parseInt(name, b, i)
	case k == numberKind && startsNumber(b, i):
		v.number, next, err = number(name, b, i)
	case k == flagKind && jsonscan.Literal(b, i, "true"):
		v.flag, next = true, i+len("true")
	case k == flagKind && jsonscan.Literal(b, i, "false"):
		v.flag, next = false, i+len("false")
	case k == textKind && starts(b, i, '"'):
		v.text, next, err = text(b, i)
	case k == textsKind && starts(b, i, '['):
		v.texts, next, err = texts(name, b, i)
	case k == filterKind && (starts(b, i, '"') || starts(b, i, '{')):
		v.ids, next, err = where(name, b, i)
	case (k == listKind || k == filterKind) && startsMask(b, i):
		v.ids, next, err = mask(name, b, i)
	case (k == idsKind || k == listKind || k == filterKind) && starts(b, i, '['):
		v.ids, next, err = ids(name, b, i, most)
	case k == objectKind && starts(b, i, '{'):
		if next, err = jsonscan.Value(b, i); err == nil {
			v.object = b[i:next]
		}
	default:
		return v, i, mistyped(name, b, i, k.String())
	}
	return v, next, err
}

// where reads an expression over columns, or a filter in Qdrant's form.
func where(name string, b []byte, i int) (l *IDList, next int, err error) {
	l = &IDList{}
	if b[i] == '"' {
		var expression string
		if expression, next, err = text(b, i); err != nil {
			return nil, next, err
		}
		l.Where, err = columns.Parse(expression)
	} else {
		if next, err = jsonscan.Value(b, i); err != nil {
			return nil, next, err
		}
		l.Where, err = columns.ParseJSON(b[i:next])
	}
	if err != nil {
		return nil, i, problem.OfFilter(err, name)
	}
	return l, next, nil
}

func starts(b []byte, i int, c byte) bool { return i < len(b) && b[i] == c }

func startsNumber(b []byte, i int) bool { return i < len(b) && (b[i] == '-' || b[i]-'0' <= 9) }

// mistyped is the error of a value of the wrong type.
func mistyped(name string, b []byte, i int, want string) error {
	if _, err := jsonscan.Value(b, i); err != nil {
		return err
	}
	return problem.New(problem.InvalidValue, "%s is %s, %s is wanted", name, what(b, i), want).In(name)
}

// what names the type of the valid JSON value at b[i].
func what(b []byte, i int) string {
	switch b[i] {
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	}
	return "a number"
}

// parseInt reads an integer, in any notation of JSON.
func parseInt(name string, b []byte, i int) (int64, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, jsonscan.Wanted(b, i, "a number")
	}
	digits := b[i:end]
	if !bytes.ContainsAny(digits, ".eE") {
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return 0, i, problem.New(problem.InvalidValue, "%s is %s, beyond the integers of 64 bits", name, cut(string(digits))).In(name)
		}
		return n, end, nil
	}
	x, err := strconv.ParseFloat(string(digits), 64)
	const exact = 1 << 53
	if err != nil || x != math.Trunc(x) || math.Abs(x) > exact {
		return 0, i, problem.New(problem.InvalidValue, "%s is %s, a whole number is wanted", name, cut(string(digits))).In(name)
	}
	return int64(x), end, nil
}

func number(name string, b []byte, i int) (float64, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return 0, i, jsonscan.Wanted(b, i, "a number")
	}
	x, err := strconv.ParseFloat(string(b[i:end]), 64)
	if err != nil {
		return 0, i, problem.New(problem.InvalidValue, "%s is %s, beyond the range of float64", name, cut(string(b[i:end]))).In(name)
	}
	digits := string(b[i:end])
	// Programs print float64 beyond 2^53 by digits that determine them, which need not be exact.
	if whole, err := strconv.ParseInt(digits, 10, 64); err == nil && (x >= 1<<63 || int64(x) != whole) && strconv.FormatFloat(x, 'f', -1, 64) != digits {
		return 0, i, problem.New(problem.InvalidValue, "%s is %d, beyond 2^53 and no float64; write it with a point", name, whole).In(name)
	}
	return x, end, nil
}

func text(b []byte, i int) (string, int, error) {
	s, next, err := jsonscan.String(b, i)
	return string(s), next, err
}

func texts(name string, b []byte, i int) ([]string, int, error) {
	var all []string
	next, err := jsonscan.Elements(b, i, func(n, at int) (int, error) {
		if !starts(b, at, '"') {
			return at, element(mistyped(name, b, at, "a string"), name, n)
		}
		s, next, err := text(b, at)
		all = append(all, s)
		return next, element(err, name, n)
	})
	return all, next, err
}

// startsMask reports whether an array of true and false begins at b[i].
func startsMask(b []byte, i int) bool {
	if !starts(b, i, '[') {
		return false
	}
	at := jsonscan.Space(b, i+1)
	return jsonscan.Literal(b, at, "true") || jsonscan.Literal(b, at, "false")
}

// mask reads an array of true and false.
func mask(name string, b []byte, i int) (*IDList, int, error) {
	l := &IDList{Mask: []bool{}}
	next, err := jsonscan.Elements(b, i, func(n, at int) (int, error) {
		v, next, err := flagKind.read(name, b, at, 0)
		l.Mask = append(l.Mask, v.flag)
		return next, element(err, name, n)
	})
	return l, next, err
}

// ids reads an array of at most most integers or strings, 0 for any number: more would be kept before they are refused.
func ids(name string, b []byte, i, most int) (*IDList, int, error) {
	l := &IDList{}
	numbers := false
	next, err := jsonscan.Elements(b, i, func(n, at int) (next int, err error) {
		switch {
		case most > 0 && n == most:
			return at, problem.New(problem.OverLimit, "%s lists more than %d ids, the most that are accepted here", name, most).In(name).Within(most)
		case startsNumber(b, at) && (l.Names == nil || numbers):
			numbers = true
			next, err = l.AddNumber(name, b, at)
		case starts(b, at, '"') && !numbers:
			var id []byte
			id, next, err = jsonscan.Name(b, at)
			l.Names = append(l.Names, string(id))
		case n == 0:
			next, err = at, mistyped(name, b, at, "an id, a whole number or a string,")
		case numbers:
			next, err = at, mistyped(name, b, at, "a whole number like the ids before")
		default:
			next, err = at, mistyped(name, b, at, "a string like the ids before")
		}
		return next, element(err, name, n)
	})
	return l, next, err
}

// AddNumber adds the JSON number at b[at], an id, to a list of numbers, and returns the index after it.
// From one of 2^63 or more on they are Names. Floats are refused. name is the list's in errors.
func (l *IDList) AddNumber(name string, b []byte, at int) (int, error) {
	end := jsonscan.Number(b, at)
	if end < 0 {
		return at, jsonscan.Wanted(b, at, "a number")
	}
	digits := string(b[at:end])
	if strings.ContainsAny(digits, ".eE") {
		return at, problem.New(problem.InvalidValue, "%s is %s, a float, which can be a number, or an id that a float64 rounds from 2^53 on; ids are whole numbers, without a point, or strings", name, cut(digits)).In(name)
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && l.Names == nil {
		l.Ints = append(l.Ints, id)
		return end, nil
	}
	if _, wide := strconv.ParseUint(digits, 10, 64); err != nil && wide != nil {
		return at, problem.New(problem.InvalidValue, "%s is %s, beyond the integers of 64 bits", name, cut(digits)).In(name)
	}
	for _, id := range l.Ints {
		l.Names = append(l.Names, strconv.FormatInt(id, 10))
	}
	l.Ints, l.Names = nil, append(l.Names, digits)
	return end, nil
}

// element adds the index of an element to an error of the field.
func element(err error, name string, n int) error {
	if err == nil {
		return nil
	}
	p, what := problem.Unreadable(err), ""
	if rest, ok := strings.CutPrefix(p.Detail, name); ok {
		what = rest
	} else {
		what = ": " + p.Detail
	}
	p.Detail = name + "[" + strconv.Itoa(n) + "]" + what
	return p.At(name, n)
}

// parse reads the values of a query parameter.
func (k kind) parse(name string, values []string) (v value, err error) {
	switch k {
	case textsKind:
		v.texts = list(values)
		return v, nil
	case idsKind, listKind, filterKind:
		v.ids = ListOf(list(values))
		return v, nil
	}
	if len(values) != 1 {
		return v, problem.New(problem.InvalidValue, "%s is given %d times", name, len(values)).In(name)
	}
	s := values[0]
	if k == textKind {
		v.text = s
		return v, nil
	}
	// Other values are written as in JSON.
	if end, err := jsonscan.Value([]byte(s), 0); err != nil || end != len(s) || s[0] == '"' {
		return v, problem.New(problem.InvalidValue, "%s is %q, %s is wanted", name, cut(s), k).In(name)
	}
	v, _, err = k.read(name, []byte(s), 0, 0)
	return v, err
}

// list splits values at commas. A parameter without a value is an empty list.
func list(values []string) []string {
	var all []string
	for _, s := range values {
		if s != "" {
			all = append(all, strings.Split(s, ",")...)
		}
	}
	return all
}

// ListOf returns the IDList of texts, which has numbers too if all are integers in their only form:
// 01 is the text, and not the number 1.
func ListOf(names []string) *IDList {
	l := &IDList{Names: names}
	for _, name := range names {
		id, err := strconv.ParseInt(name, 10, 64)
		if err != nil || strconv.FormatInt(id, 10) != name {
			l.Ints = nil
			break
		}
		l.Ints = append(l.Ints, id)
	}
	return l
}
