package db

// Verdict is what a check has found of one thing.
type Verdict string

const (
	Whole   Verdict = "whole"   // it is there, every byte of it
	Broken  Verdict = "damaged" // it is there, and not as it was written
	Missing Verdict = "missing" // the database names it, and it is not there
	Unknown Verdict = "unknown" // it is there, and the database does not know it
)

// Item is one thing that was checked.
type Item struct {
	Kind    string  `json:"kind"` // database, collection, file, batch, tournament, slates, leftover
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"`
}
