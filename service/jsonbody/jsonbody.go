// Package jsonbody reads the JSON bodies of requests directly from their bytes. A body is
// described by its members, each with a Reader of its type. A member that is unknown,
// repeated or of another type is a problem that names field, element and limit; no memory is
// allocated for what is refused.
package jsonbody

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// Reader reads the JSON value at b[i] and returns the index after it. Its errors are
// problems, or say where the JSON is malformed.
type Reader func(b []byte, i int) (next int, err error)

// Members maps the names of an object's members to their Readers.
type Members map[string]Reader

// Decode reads a body that is one object. Errors are of type *problem.Problem.
func Decode(body []byte, members Members) error {
	at := jsonscan.Space(body, 0)
	if at < len(body) && body[at] != '{' {
		return problem.Unreadable(jsonscan.Wanted(body, at, "an object"))
	}
	return decode(body, at, Object(members))
}

// DecodeList reads a body that is one array. Problems with an element name its member, if
// any, and its index.
func DecodeList(body []byte, each Reader) error {
	at := jsonscan.Space(body, 0)
	if at < len(body) && body[at] != '[' {
		return problem.Unreadable(jsonscan.Wanted(body, at, "an array"))
	}
	return decode(body, at, func(b []byte, i int) (int, error) {
		return jsonscan.Elements(b, i, func(n, at int) (int, error) {
			next, err := each(b, at)
			if err != nil {
				p := problem.Unreadable(err)
				p.Index, p.Detail = n, fmt.Sprintf("element %d: %s", n, strings.TrimPrefix(p.Detail, " "))
				err = p
			}
			return next, err
		})
	})
}

// decode reads a body that consists of one value.
func decode(body []byte, at int, value Reader) error {
	end, err := value(body, at)
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

// Object reads an object with only these members, each at most once.
func Object(members Members) Reader {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '{' {
			return i, Mistyped("", b, i, "an object")
		}
		seen := map[string]bool{}
		return jsonscan.Fields(b, i, func(key []byte, at int) (int, error) {
			name := string(key)
			read, ok := members[name]
			if !ok {
				known := slices.Sorted(maps.Keys(members))
				return at, problem.New(problem.UnknownField, "there is no field %q; there are: %s", Clip(name), strings.Join(known, ", ")).In(Clip(name)).
					Within(known)
			}
			if seen[name] {
				return at, problem.New(problem.InvalidValue, "%s is given twice, not once", name).In(name).Within(1)
			}
			seen[name] = true
			next, err := read(b, at)
			return next, In(err, name)
		})
	}
}

// Array reads an array of at most most elements; 0 means any number.
func Array(name string, most int, each Reader) Reader {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '[' {
			return i, Mistyped(name, b, i, "an array")
		}
		return jsonscan.Elements(b, i, func(n, at int) (int, error) {
			if most > 0 && n == most {
				return at, problem.New(problem.OverLimit, "%s has more than %d elements", name, most).In(name).Within(most)
			}
			next, err := each(b, at)
			return next, Element(err, name, n)
		})
	}
}

// Number reads a number that satisfies keeps; wanted describes the condition in errors.
func Number(name string, dst *float64, wanted string, keeps func(float64) bool) Reader {
	return func(b []byte, i int) (int, error) {
		end := jsonscan.Number(b, i)
		if end < 0 {
			return i, Mistyped(name, b, i, "a number")
		}
		x, err := strconv.ParseFloat(string(b[i:end]), 64)
		if err != nil || !keeps(x) {
			return i, problem.New(problem.InvalidValue, "%s is %s, a number in %s is wanted", name, Clip(string(b[i:end])), wanted).In(name).Within(wanted)
		}
		*dst = x
		return end, nil
	}
}

// Numbers reads an array of numbers that satisfy keeps.
func Numbers(name string, most int, dst *[]float64, wanted string, keeps func(float64) bool) Reader {
	all := []float64{}
	return func(b []byte, i int) (int, error) {
		next, err := Array(name, most, func(b []byte, at int) (int, error) {
			var x float64
			next, err := Number("", &x, wanted, keeps)(b, at)
			all = append(all, x)
			return next, err
		})(b, i)
		*dst = all
		return next, err
	}
}

// Int reads an integer in [low, high].
func Int(name string, dst *int, low, high int) Reader {
	return func(b []byte, i int) (int, error) {
		text, end, err := Digits(name, b, i)
		if err != nil {
			return i, err
		}
		switch x, err := strconv.ParseInt(text, 10, 0); {
		case err != nil || x < int64(low):
			return i, problem.New(problem.InvalidValue, "%s is %s, a whole number from %d to %d is wanted", name, Clip(text), low, high).
				In(name).Within([]int{low, high})
		case x > int64(high):
			return i, problem.New(problem.OverLimit, "%s is %d, at most %d is accepted", name, x, high).In(name).Within(high)
		default:
			*dst = int(x)
			return end, nil
		}
	}
}

// Integer reads an integer in the range of T.
func Integer[T int | int64 | uint64](name string, dst *T) Reader {
	return func(b []byte, i int) (int, error) {
		text, end, err := Digits(name, b, i)
		if err != nil {
			return i, err
		}
		limits := "[-2^63, 2^63)"
		switch x := any(dst).(type) {
		case *uint64:
			*x, err = strconv.ParseUint(text, 10, 64)
			limits = "[0, 2^64)"
		case *int64:
			*x, err = strconv.ParseInt(text, 10, 64)
		case *int:
			*x, err = strconv.Atoi(text)
		}
		if err != nil {
			return i, problem.New(problem.InvalidValue, "%s is %s, a whole number in %s is wanted", name, Clip(text), limits).In(name).Within(limits)
		}
		return end, nil
	}
}

// Float reads any float64.
func Float(name string, dst *float64) Reader {
	return Number(name, dst, "the range of float64", func(float64) bool { return true })
}

// Bool reads true or false.
func Bool(name string, dst *bool) Reader {
	return func(b []byte, i int) (int, error) {
		for _, word := range []string{"true", "false"} {
			if jsonscan.Literal(b, i, word) {
				*dst = word == "true"
				return i + len(word), nil
			}
		}
		return i, Mistyped(name, b, i, "true or false")
	}
}

// Map reads an object with at most most members, or any number for 0, of which each reads
// one by its name; want describes the object in errors.
func Map[T any](name, want string, most int, dst *map[string]T, each func(name string, dst *T) Reader) Reader {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '{' {
			return i, Mistyped(name, b, i, want)
		}
		all := map[string]T{}
		*dst = all
		return jsonscan.Fields(b, i, func(key []byte, at int) (int, error) {
			k := string(key)
			if _, twice := all[k]; twice {
				return at, problem.New(problem.InvalidValue, "%s has %q twice", name, Clip(k)).In(name)
			}
			if most > 0 && len(all) == most {
				return at, problem.New(problem.OverLimit, "%s has more than %d members", name, most).In(name).Within(most)
			}
			var v T
			next, err := each(name, &v)(b, at)
			all[k] = v
			return next, err
		})
	}
}

// TextMap reads an object of strings.
func TextMap(name string, dst *map[string]string) Reader {
	return Map(name, "an object of strings", 0, dst, Text)
}

// Raw returns the JSON of any value, which shares memory with the body.
func Raw(dst *json.RawMessage) Reader {
	return func(b []byte, i int) (int, error) {
		end, err := jsonscan.Value(b, i)
		if err == nil {
			*dst = b[i:end]
		}
		return end, err
	}
}

// Optional reads a value that may be null, which leaves dst unchanged.
func Optional(read Reader) Reader {
	return func(b []byte, i int) (int, error) {
		if jsonscan.Literal(b, i, "null") {
			return i + len("null"), nil
		}
		return read(b, i)
	}
}

// Pointer reads an optional value into a new variable.
func Pointer[T any](name string, dst **T, read func(name string, dst *T) Reader) Reader {
	return Optional(func(b []byte, i int) (int, error) {
		*dst = new(T)
		return read(name, *dst)(b, i)
	})
}

// Digits returns the digits of an integer, in any notation of JSON.
func Digits(name string, b []byte, i int) (string, int, error) {
	end := jsonscan.Number(b, i)
	if end < 0 {
		return "", i, Mistyped(name, b, i, "a whole number")
	}
	text, ok := jsonscan.Integer(b[i:end])
	if !ok {
		return "", i, problem.New(problem.InvalidValue, "%s is %s, a whole number is wanted", name, Clip(string(b[i:end]))).In(name)
	}
	return text, end, nil
}

// Text reads a string.
func Text(name string, dst *string) Reader {
	return func(b []byte, i int) (int, error) {
		if i < len(b) && b[i] != '"' {
			return i, Mistyped(name, b, i, "a string")
		}
		s, next, err := jsonscan.String(b, i)
		*dst = string(s)
		return next, err
	}
}

// Mistyped returns the problem of a value of the wrong type.
func Mistyped(name string, b []byte, i int, want string) error {
	end, err := jsonscan.Value(b, i)
	if err != nil {
		for _, word := range []string{"NaN", "nan", "Infinity", "-Infinity", "Inf", "inf", "-Inf", "-inf"} {
			if jsonscan.Literal(b, i, word) {
				return problem.New(problem.InvalidValue, "%s is %s, %s is wanted", name, word, want).In(name)
			}
		}
		return err
	}
	return problem.New(problem.InvalidValue, "%s is %s, %s is wanted", name, Clip(string(b[i:end])), want).In(name)
}

// In sets the field of an error that names none.
func In(err error, name string) error {
	if err == nil {
		return nil
	}
	p := problem.Unreadable(err)
	if p.Field == "" {
		p.Field, p.Detail = name, name+": "+p.Detail
	}
	return p
}

// Element adds the index of an element to an error; the error may name a member of the
// element, or begin with a space and the description of the element.
func Element(err error, name string, n int) error {
	if err == nil {
		return nil
	}
	p, glue := problem.Unreadable(err), ": "
	if p.Detail[0] == ' ' { // of an element without members
		glue = ""
	}
	p.Detail = fmt.Sprintf("%s[%d]%s%s", name, n, glue, p.Detail)
	return p.At(name, n)
}

// Clip shortens text of a body for a message.
func Clip(s string) string { return fmt.Sprintf("%.60s", s) }
