package catalog

import (
	"strconv"

	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/problem"
)

// Info describes a version of a collection.
type Info struct {
	api.Collection
	// Failure is Error as a problem.
	Failure *problem.Problem `json:"-"`
}

// Tag identifies what a ready version holds: its number and, if it changes by rows, the writes until now.
func (i *Info) Tag() string {
	tag := strconv.FormatInt(i.Version, 10)
	if i.Writes != nil {
		tag += "-" + strconv.FormatUint(*i.Writes, 10)
	}
	return tag
}

// State is the state of a version.
type State = api.CollectionState

const (
	Building = api.Building
	Loading  = api.Loading
	Ready    = api.Ready
	Failed   = api.Failed
)

// Kind is the kind of a collection's ids.
type Kind = api.IDKind

const (
	RowNumbers = api.RowNumbers
	Integers   = api.Integers
	Strings    = api.Strings
)

func roundingOf(c dataset.Change) *api.Rounding {
	return &api.Rounding{Values: c.Values, Largest: c.Largest}
}
