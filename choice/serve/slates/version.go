package slates

import "thresher/service/catalog"

// Version is a version of a collection, in use.
type Version interface {
	Number() int64
	Writes() uint64 // of rows that it has seen, 0 if it does not change by them
	Len() int       // rows
	Dim() int
	Row(i int64) []float32 // read-only, and invalid after the use
	IDs() IDs
}

// IDs are the ids of rows, as those of the catalog; they remain valid after the use.
type IDs interface {
	Kind() catalog.Kind
	Int(row int64) int64
	Name(row int64) string
	Rows(keys *catalog.Keys, field string) ([]int64, error)
}
