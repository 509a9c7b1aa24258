package catalog

import (
	"io"

	"thresher/dataset"
)

// Source says where rows come from; exactly one of Body, Path, File and Rows is
// set.
type Source struct {
	// Body is an upload, read to its end before Create or Append return. Errors
	// of reading it are returned as they are, wrapped.
	Body io.Reader
	// Path names a file under one of the roots: relative to a root, or absolute and
	// inside one. A name that ends in .thresher is a prepared collection.
	Path string
	// File is the id of a file in the store.
	File string
	// Rows are given in memory, row-major, of dimension Dim. Read only, owned by
	// the caller. IDs, if not nil, names them.
	Rows []float32
	Dim  int
	IDs  *Keys

	// Format of Body or File; dataset.Unknown has the content tell, or the name.
	Format dataset.Format
	// Column and IDColumn are dataset.Options' Column and IDs. Rows and prepared
	// collections have no columns.
	Column, IDColumn string
}

// Keys names atoms: Ints by integers or row numbers, Names by strings. Where the
// sender could not tell the two apart both are set, and say the same.
type Keys struct {
	Ints  []int64
	Names []string
}

// Len is the number of keys.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return max(len(k.Ints), len(k.Names))
}

// CreateOptions choose what Create makes; the zero value means defaults.
type CreateOptions struct {
	Metric string // one of collection.Metrics; "" is ip
	Basis  string // auto, rotated or raw; "" is auto
	// Seed is that of the rotation. Drawn has one drawn in its place, for this version and
	// for each after it, that nobody is told.
	Seed  uint64
	Drawn bool
	// IDs is the kind of the id column: Integers, Strings, or "", which takes integers
	// where every id is one in its shortest form. RowNumbers excludes an id column.
	IDs Kind
	// Replace has a new version take the place of a collection that exists.
	Replace bool
}
