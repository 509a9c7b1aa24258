package store

// Verdict is the result of checking an Item.
type Verdict string

const (
	Intact  Verdict = "whole"   // it exists, as it was written
	Broken  Verdict = "damaged" // it exists and differs from what was written
	Missing Verdict = "missing" // the database names it, and it does not exist
	Unknown Verdict = "unknown" // it exists, and the database does not know it
)

// Item is one database, collection, file or other record of the service, and the result of
// checking it.
type Item struct {
	Kind    string  `json:"kind"` // database, collection, file, batch, tournament, slates, leftover
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"`
}
