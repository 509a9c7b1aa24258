package catalog

import (
	"thresher/service/api"
	"thresher/service/problem"
)

// Info describes a version of a collection.
type Info struct {
	api.Collection
	// Failure is Error as a problem.
	Failure *problem.Problem `json:"-"`
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
