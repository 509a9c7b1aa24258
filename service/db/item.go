package db

// Verdict is the result of checking one thing.
type Verdict string

const (
	Whole   Verdict = "whole"   // it exists and is intact
	Broken  Verdict = "damaged" // it exists and differs from what was written
	Missing Verdict = "missing" // the database names it, and it does not exist
	Unknown Verdict = "unknown" // it exists, and the database does not know it
)

// Item is one thing that was checked.
type Item struct {
	Kind    string  `json:"kind"` // database, collection, file, batch, tournament, slates, leftover
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"`
}
