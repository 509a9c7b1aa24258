package slates

import "thresher/service/catalog"

// Version is one of a collection, in use.
type Version interface {
	Number() int64
	Len() int // rows
	Dim() int
	Row(i int64) []float32 // not to be changed, nor read when the use is over
	IDs() IDs
}

// IDs are what rows are called, as those of the catalog; they outlive the use.
type IDs interface {
	Kind() catalog.Kind
	Int(row int64) int64
	Name(row int64) string
	Rows(keys *catalog.Keys, field string) ([]int64, error)
}
