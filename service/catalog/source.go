package catalog

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"thresher/columns"
	"thresher/dataset"
	"thresher/service/problem"
)

// Source says where rows come from; exactly one of Body, Path, File and Rows is set.
type Source struct {
	// Body is an upload, read completely before Create or Append return. Errors of reading it
	// are returned wrapped.
	Body io.Reader
	// Path names a file under one of the roots, relative to it or absolute. A name that ends
	// in .thresher is a prepared collection.
	Path string
	// File is the id of a file in the store.
	File string
	// Rows are rows in memory, row-major, of dimension Dim; the caller owns them, and they
	// are only read. IDs, if not nil, are their ids.
	Rows []float32
	// Rows64, if not nil, are rows in float64, in place of Rows.
	Rows64 []float64
	Dim    int
	IDs    *Keys

	// Called is what messages call Path; "" is Path.
	Called string
	// Format of Body or File; for dataset.Unknown it is inferred from the content or the
	// name.
	Format dataset.Format
	// Column and IDColumn are dataset.Options' Column and IDs. Rows and prepared
	// collections have no columns.
	Column, IDColumn string
	// Columns are the columns of a file or a prepared collection to keep for filters; columns.All alone stands for all.
	// nil is none, of a prepared collection all, and of rows to append those that the collection has.
	Columns []string
	// Values are the columns of Rows.
	Values *columns.Columns
	// Header is dataset.Options' Header, for CSV.
	Header string
}

// columns identifies how the columns of a source are read, for fingerprints of requests.
func (s *Source) columns() string {
	text := s.Column
	if s.Header != "" {
		text += " header " + s.Header
	}
	if s.Columns != nil {
		text += fmt.Sprintf(" keeps %q", s.Columns)
	}
	return text
}

// value returns value i of the rows in memory.
func (s *Source) value(i int) float64 {
	if s.Rows64 != nil {
		return s.Rows64[i]
	}
	return float64(s.Rows[i])
}

// Keys is a list of ids: Ints are integers or row numbers, Names are strings. If the sender
// could not distinguish the two, both are set and have the same meaning.
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

// beyond returns the index of the first key that is a whole number beyond int64, which a list of numbers has as text; -1 if there is none.
func (k *Keys) beyond() int {
	return slices.IndexFunc(k.Names, func(name string) bool {
		_, err := strconv.ParseInt(name, 10, 64)
		return errors.Is(err, strconv.ErrRange)
	})
}

// refuseBeyond refuses a key that no collection has whose ids are integers, as beyond finds it; nil if there is none. field is the list's.
func (k *Keys) refuseBeyond(kind problem.Kind, field string) error {
	i := k.beyond()
	if i < 0 {
		return nil
	}
	return problem.New(kind, "%s[%d] is %s, and the ids of the collection are integers below 2^63", field, i, clip(k.Names[i])).At(field, i).Within(Integers)
}

// refuseMask refuses integers that can be a mask of n rows: as many, and all of them 0 or 1. Ids of a parameter, once each, are none.
func (k *Keys) refuseMask(n int) error {
	if n < 2 || len(k.Ints) != n || slices.ContainsFunc(k.Ints, func(id int64) bool { return id != 0 && id != 1 }) {
		return nil
	}
	if n == 2 && k.Ints[0] != k.Ints[1] {
		if len(k.Names) == n {
			return nil
		}
		return problem.New(problem.InvalidValue, "ids is %d and %d, which can be a mask of the 2 rows, or their ids; the parameter ids=0,1 is the ids, and so is the filter {\"must\": [{\"has_id\": [0, 1]}]}", k.Ints[0], k.Ints[1]).In("ids")
	}
	return problem.New(problem.InvalidValue, "ids has %d integers that are all 0 or 1, which can be a mask of the %d rows, or the ids 0 and 1, repeated; ids are listed once each", n, n).In("ids")
}

// CreateOptions choose what Create makes; the zero value means defaults.
type CreateOptions struct {
	Metric string // as collection.ParseMetric; "" for a prepared collection or a replaced one, which has a metric
	Basis  string // auto, rotated or raw; "" is auto
	// Seed is that of the rotation. If Drawn, this version and each after it draw a secret
	// seed instead.
	Seed  uint64
	Drawn bool
	// DType is how values given in float64 are kept: float64, as they are, or float32, rounded, which "" is, too. A prepared
	// collection has its own.
	DType string `json:",omitempty"` // fingerprints of requests without it are those of before
	// IDs is the kind of the id column: Integers, Strings, or "", which means integers if
	// every id is one in its shortest form. RowNumbers excludes an id column.
	IDs Kind
	// Replace makes a new version of a collection that exists.
	Replace bool
	// Least is the least number of the version: it is that, unless the name has used it or a greater one.
	Least int64 `json:"-"`
}
