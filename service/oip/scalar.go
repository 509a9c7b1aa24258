package oip

import (
	"strconv"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// These errors name the field in words only; the caller adds its position.

// text reads the string at b[at].
func text(field string, b []byte, at int) (string, int, error) {
	if at < len(b) && b[at] != '"' {
		return "", at, mistyped(field, b, at, "a string")
	}
	s, next, err := jsonscan.String(b, at)
	return string(s), next, err
}

// flag reads true or false at b[at].
func flag(field string, b []byte, at int) (bool, int, error) {
	switch {
	case jsonscan.Literal(b, at, "true"):
		return true, at + len("true"), nil
	case jsonscan.Literal(b, at, "false"):
		return false, at + len("false"), nil
	}
	return false, at, mistyped(field, b, at, "true or false")
}

// parseInt reads the integer at b[at].
func parseInt(field string, b []byte, at int) (int64, int, error) {
	end := jsonscan.Number(b, at)
	if end < 0 {
		return 0, at, mistyped(field, b, at, "a whole number")
	}
	digits, ok := jsonscan.Integer(b[at:end])
	if !ok {
		return 0, at, mistyped(field, b, at, "a whole number")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, at, problem.New(problem.InvalidValue, "%s is %s, beyond the integers of 64 bits", field, cut(b[at:end]))
	}
	return n, end, nil
}

// mistyped is the error of a value of the wrong type.
func mistyped(field string, b []byte, at int, want string) error {
	end, err := jsonscan.Value(b, at)
	if err != nil {
		return err
	}
	return problem.New(problem.InvalidValue, "%s is %s, %s is wanted", field, cut(b[at:end]), want)
}
