package dataset

import "cmp"

// List is the ids of one query: IDs, or Names in their place if the file has texts.
type List struct {
	IDs   []int64
	Names []string
}

// ListReader streams lists of ids, one a query, of any lengths. It is not safe for concurrent
// use.
type ListReader interface {
	// Next returns the ids of the next query, in a slice that is valid until the following call;
	// io.EOF after the last. Other errors are of type *Error, and final.
	Next() (List, error)
	// Len returns the number of lists, -1 if only reading tells.
	Len() int64
	// Limit returns a number that every id is below, if the file announces one, else -1: the
	// number of columns of a sparse matrix.
	Limit() int64
	// Close releases the file.
	Close() error
}

// What ListOptions.Zeros says of the zeros that a sparse matrix stores.
const (
	ZerosKeep = "keep" // an element that is stored is an id, whatever its value
	ZerosDrop = "drop" // a stored zero is none, as in the dense matrix
)

// ListOptions choose how lists are read; nil is the defaults.
type ListOptions struct {
	// Zeros is ZerosKeep or ZerosDrop for sparse matrices. "" makes a stored zero an error.
	Zeros string
	// ZerosWord is what errors call Zeros.
	ZerosWord string
	// Budget limits the memory that reading takes; nil is the default.
	Budget *Budget
}

// OpenLists opens lists of ids: .npz with a sparse matrix as scipy.sparse.save_npz writes it
// (indptr, indices; row i has the ids indices[indptr[i]:indptr[i+1]]) or with indptr and ids;
// .jsonl with an array of ids, or an object {"query":..,"ids":[..]}, a line; .ivecs, whose rows
// may differ in length and may end with the padding -1. Objects are in the order of their
// queries; a query without one has no ids. Ids are any integers of int64 or, in .jsonl, the
// texts of a whole list.
func OpenLists(path string, opt *ListOptions) (ListReader, error) {
	var o ListOptions
	if opt != nil {
		o = *opt
	}
	o.ZerosWord = cmp.Or(o.ZerosWord, "ListOptions.Zeros")
	if o.Zeros != "" && o.Zeros != ZerosKeep && o.Zeros != ZerosDrop {
		return nil, fail(path, "%s is %q, neither %s nor %s", o.ZerosWord, o.Zeros, ZerosKeep, ZerosDrop)
	}
	format, gzipped := FormatOf(path)
	src, err := openSource(path, gzipped)
	if err != nil {
		return nil, err
	}
	src.limit(o.Budget)
	r, err := openListsAs(src, format, o)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openListsAs(src *source, ext Format, opt ListOptions) (ListReader, error) {
	format, err := src.format(ext)
	if err != nil {
		return nil, err
	}
	c := codecOf(format)
	if c.lists == nil {
		return nil, fail(src.name, "format %s does not hold lists of ids; formats that do: %s", format, formatsThat(ListsRead.has))
	}
	return c.lists(src, opt)
}
