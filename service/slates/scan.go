package slates

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// member reads the JSON value at b[i] and returns the index behind it. Its errors are
// problems, or say what cannot be read where.
type member func(b []byte, i int) (int, error)

// decode reads a body that is one object.
func decode(body []byte, members map[string]member) error {
	at := jsonscan.Space(body, 0)
	if at < len(body) && body[at] != '{' {
		return problem.Unreadable(jsonscan.Wanted(body, at, "an object"))
	}
	end, err := object(members)(body, at)
	if err == nil {
		if end = jsonscan.Space(body, end); end < len(body) {
			err = jsonscan.Wanted(body, end, "the end")
		}
	}
	if err != nil {
		return problem.Unreadable(err)
	}
	return nil
}

// object reads an object that has no other members than these, each once at most.
func object(members map[string]member) member {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '{' {
			return i, mistyped("", b, i, "an object")
		}
		seen := map[string]bool{}
		return jsonscan.Fields(b, i, func(key []byte, at int) (int, error) {
			name := string(key)
			read, ok := members[name]
			if !ok {
				return at, problem.New(problem.UnknownField, "there is no field %q", cut(name)).In(cut(name)).
					Within(slices.Sorted(maps.Keys(members)))
			}
			if seen[name] {
				return at, problem.New(problem.InvalidValue, "%s is given twice", name).In(name)
			}
			seen[name] = true
			next, err := read(b, at)
			return next, in(err, name)
		})
	}
}

// array reads an array of at most so many elements, or of any number for 0.
func array(name string, most int, each member) member {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '[' {
			return i, mistyped(name, b, i, "an array")
		}
		return jsonscan.Elements(b, i, func(n, at int) (int, error) {
			if most > 0 && n == most {
				return at, problem.New(problem.OverLimit, "%s has more than %d elements", name, most).In(name).Within(most)
			}
			next, err := each(b, at)
			return next, element(err, name, n)
		})
	}
}

// number reads a number that keeps to what is wanted of it.
func number(name string, dst *float64, wanted string, keeps func(float64) bool) member {
	return func(b []byte, i int) (int, error) {
		end := jsonscan.Number(b, i)
		if end < 0 {
			return i, mistyped(name, b, i, "a number")
		}
		x, err := strconv.ParseFloat(string(b[i:end]), 64)
		if err != nil || !keeps(x) {
			return i, problem.New(problem.InvalidValue, "%s is %s, a number in %s is wanted", name, cut(string(b[i:end])), wanted).In(name).Within(wanted)
		}
		*dst = x
		return end, nil
	}
}

// numbers reads an array of such numbers.
func numbers(name string, most int, dst *[]float64, wanted string, keeps func(float64) bool) member {
	all := []float64{}
	return func(b []byte, i int) (int, error) {
		next, err := array(name, most, func(b []byte, at int) (int, error) {
			var x float64
			next, err := number("", &x, wanted, keeps)(b, at)
			all = append(all, x)
			return next, err
		})(b, i)
		*dst = all
		return next, err
	}
}

// whole reads an integer in [low, high].
func whole(name string, dst *int, low, high int) member {
	return func(b []byte, i int) (int, error) {
		text, end, err := digits(name, b, i)
		if err != nil {
			return i, err
		}
		switch x, err := strconv.ParseInt(text, 10, 0); {
		case err != nil || x < int64(low):
			return i, problem.New(problem.InvalidValue, "%s is %s, a whole number from %d to %d is wanted", name, cut(text), low, high).
				In(name).Within([]int{low, high})
		case x > int64(high):
			return i, problem.New(problem.OverLimit, "%s is %d, %d is the most", name, x, high).In(name).Within(high)
		default:
			*dst = int(x)
			return end, nil
		}
	}
}

// digits finds a number that is whole, however it is written.
func digits(name string, b []byte, i int) (string, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return "", i, mistyped(name, b, i, "a whole number")
	}
	text, ok := jsonscan.Integer(b[i:end])
	if !ok {
		return "", i, problem.New(problem.InvalidValue, "%s is %s, a whole number is wanted", name, cut(string(b[i:end]))).In(name)
	}
	return text, end, nil
}

func text(name string, dst *string) member {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '"' {
			return i, mistyped(name, b, i, "a string")
		}
		s, next, err := jsonscan.String(b, i)
		*dst = string(s)
		return next, err
	}
}

// mistyped is the error of a value that is not what was wanted.
func mistyped(name string, b []byte, i int, want string) error {
	end, err := jsonscan.Value(b, i)
	if err != nil {
		for _, word := range []string{"NaN", "nan", "Infinity", "-Infinity", "Inf", "inf", "-Inf", "-inf"} {
			if jsonscan.Literal(b, i, word) {
				return problem.New(problem.InvalidValue, "%s is %s, %s is wanted", name, word, want).In(name)
			}
		}
		return err
	}
	return problem.New(problem.InvalidValue, "%s is %s, %s is wanted", name, cut(string(b[i:end])), want).In(name)
}

// in names the field of an error that names none.
func in(err error, name string) error {
	if err == nil {
		return nil
	}
	p := problem.Unreadable(err)
	if p.Field == "" {
		p.Field, p.Detail = name, name+": "+p.Detail
	}
	return p
}

// element names the element of a field that an error is about; the error may name what
// is wrong in it, or begin with what the element is.
func element(err error, name string, n int) error {
	if err == nil {
		return nil
	}
	p, glue := problem.Unreadable(err), ": "
	if p.Detail[0] == ' ' { // of a value without a name
		glue = ""
	}
	p.Detail = fmt.Sprintf("%s[%d]%s%s", name, n, glue, p.Detail)
	return p.At(name, n)
}

// cut shortens what is repeated in a message.
func cut(s string) string { return fmt.Sprintf("%.60s", s) }
