package service

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"thresher/service/problem"
)

// parameters are the query parameters of a request, those that its route has, each given once
// unless it is a list.
type parameters struct{ url.Values }

// parametersOf parses the query; other parameters than names are refused.
func parametersOf(r *http.Request, names []string) (parameters, error) {
	if r.URL.RawQuery == "" {
		return parameters{}, nil
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return parameters{}, problem.New(problem.Malformed, "the query cannot be read: %v", err).In("query")
	}
	for name := range values {
		if !slices.Contains(names, name) {
			if names == nil {
				names = []string{}
			}
			return parameters{}, problem.New(problem.UnknownField, "there is no parameter %.60q here; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none")).In(name).Within(names)
		}
	}
	return parameters{values}, nil
}

// parseText returns the value of a parameter, "" if it is absent.
func (p parameters) parseText(name string) (string, error) {
	values := p.Values[name]
	if len(values) > 1 {
		return "", problem.New(problem.InvalidValue, "%s is given %d times, not once", name, len(values)).In(name).Within(1)
	}
	if len(values) == 0 {
		return "", nil
	}
	return values[0], nil
}

// parseBool returns a boolean parameter; without a value it is true.
func (p parameters) parseBool(name string) (bool, error) {
	text, err := p.parseText(name)
	if err != nil || !p.Has(name) {
		return false, err
	}
	switch text {
	case "", "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, problem.New(problem.InvalidValue, "%s is %.60q, not true or false", name, text).In(name).Within([]string{"true", "false"})
}

// parseInt returns an integer parameter in [low, high]; otherwise if it is absent.
func (p parameters) parseInt(name string, low, high, otherwise int) (int, error) {
	text, err := p.parseText(name)
	if err != nil || !p.Has(name) {
		return otherwise, err
	}
	x, err := strconv.Atoi(text)
	if err != nil || x < low || x > high {
		return 0, problem.New(problem.InvalidValue, "%s is %.60q, not a whole number from %d to %d", name, text, low, high).In(name).Within([]int{low, high})
	}
	return x, nil
}

// page returns the parameters of a page of a list: the id after which it begins, and its
// length.
func (p parameters) page() (after string, limit int, err error) {
	if after, err = p.parseText("after"); err != nil {
		return "", 0, err
	}
	limit, err = p.parseInt("limit", 1, problem.MaxPage, problem.DefaultPage)
	return after, limit, err
}
