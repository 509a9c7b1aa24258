package tasks

import (
	"fmt"
	"slices"
	"strings"

	"thresher/batch"
)

// verbOfMethod is a verb whose searches have a method.
type verbOfMethod struct {
	name string
	// why it takes no published method; "" if it takes them and their options.
	why string
}

// verbsOfMethods is the table of all verbs that have a method: the only place that knows which take the published ones.
func verbsOfMethods() []verbOfMethod {
	return []verbOfMethod{
		{"search", ""},
		{"recall", ""},
		{"graph", ""},
		{"pursuit", ""},
		{"certify", "the answers to certify are candidates, which published methods do not take"},
		{"pairs", "published methods find the k best only, not all above a score"},
		{"truth", "published methods can be wrong; certain and exact cannot"},
	}
}

// PublishedIn lists, in words, the verbs that take published methods and their options.
func PublishedIn() string {
	var names []string
	for _, v := range verbsOfMethods() {
		if v.why == "" {
			names = append(names, v.name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// CheckPublished refuses options that method m does not have and, of a verb that takes no published methods, these and their
// options. The error is a *batch.RequestError for the method or the option.
func CheckPublished(verb string, m batch.Method, p *batch.Published) error {
	all := verbsOfMethods()
	i := slices.IndexFunc(all, func(v verbOfMethod) bool { return v.name == verb })
	if i < 0 || all[i].why == "" {
		return p.Check(m)
	}
	refuse := func(field, what string) error {
		return &batch.RequestError{Field: field, Query: -1, Err: fmt.Errorf("%s takes no %s: %s; %s do", verb, what, all[i].why, PublishedIn())}
	}
	if slices.Contains(batch.PublishedMethods(), m) {
		return refuse("method", string(m))
	}
	for _, name := range batch.PublishedNames() {
		if p.Shown(name) != "" {
			return refuse("published."+name, name)
		}
	}
	return nil
}
