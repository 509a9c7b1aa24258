package catalog

import (
	"time"

	"thresher/service/problem"
)

// State is how far a version has come.
type State string

const (
	Building State = "building" // its rows are durable, and it is being made of them
	Loading  State = "loading"  // the process has just begun and is about to open it
	Ready    State = "ready"
	Failed   State = "failed"
)

// Info describes a version, and by it a collection.
type Info struct {
	Name      string    `json:"name"`
	Version   int64     `json:"version"`
	State     State     `json:"state"`
	Count     int64     `json:"count"` // rows; 0 while only reading them will tell
	Dimension int       `json:"dimension"`
	Metric    string    `json:"metric"`
	Basis     string    `json:"basis"`
	IDs       Kind      `json:"ids,omitempty"` // "" while only reading them will tell
	Bytes     int64     `json:"bytes"`         // of memory, mapped or not; 0 before it is ready
	Backend   string    `json:"backend,omitempty"`
	CreatedAt time.Time `json:"created_at"` // when the change was acknowledged
	// Next, if not 0, is the version that is being built while this one answers.
	Next int64 `json:"next_version,omitempty"`
	// Progress in [0, 1] is that of the version being built, this or the next.
	Progress float64 `json:"progress,omitempty"`
	// Warnings say what was not taken of the source of its newest rows: the columns that
	// nothing is kept of.
	Warnings []string `json:"warnings,omitempty"`
	// Error says why this version failed or, of a ready one, why the change after it
	// did, until another is asked for.
	Error string `json:"error,omitempty"`
	// Adopted says how the version was found, if the database did not know it: by its own
	// files, of a database that was lost or is an older one.
	Adopted string `json:"adopted,omitempty"`
	// Failure is Error as a problem.
	Failure *problem.Problem `json:"-"`
}

// Kind is what the rows of a collection are called.
type Kind string

const (
	RowNumbers Kind = "row"
	Integers   Kind = "int"
	Strings    Kind = "string"
)
