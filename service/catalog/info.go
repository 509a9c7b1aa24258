package catalog

import (
	"thresher/service/api"
	"thresher/service/problem"
)

// Info describes a version, and by it a collection.
type Info struct {
	api.Collection
	// Failure is Error as a problem.
	Failure *problem.Problem `json:"-"`
}

// State is how far a version has come.
type State = api.CollectionState

const (
	Building = api.Building
	Loading  = api.Loading
	Ready    = api.Ready
	Failed   = api.Failed
)

// Kind is what the rows of a collection are called.
type Kind = api.IDKind

const (
	RowNumbers = api.RowNumbers
	Integers   = api.Integers
	Strings    = api.Strings
)
