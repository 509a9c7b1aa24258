package dataset

import (
	"io"
)

// Options choose what is read; nil means defaults.
type Options struct {
	// Column is the vector column (Parquet, Arrow, JSONL objects, CSV with arrays) or
	// the array name (npz, safetensors). "" takes the only candidate and is an error
	// that lists them when there are several; of CSV it takes all columns of numbers.
	// Formats without names refuse it.
	Column string
	// IDs names a column of ids, strings or integers (Parquet, Arrow, JSONL objects,
	// CSV), or an array of them (npz). "" reads none.
	IDs string
	// FindIDs has "" read ids from a column called id, where there is one that can be
	// ids, and of npz from an array called ids.
	FindIDs bool
}

// Reader streams a matrix of float32 rows. It is not safe for concurrent use.
type Reader interface {
	// Dim is the number of columns, at least 1.
	Dim() int
	// Len is the number of rows, or -1 when only reading tells. It is what the
	// file claims; Read reports an error when the rows turn out fewer or more.
	Len() int64
	// Read fills up to len(dst)/Dim() whole rows and returns how many; it is
	// io.ErrShortBuffer when dst cannot hold one row. After the last row it
	// returns 0 and io.EOF. With any other error the rows before the fault are
	// valid and counted, and the reader is finished.
	Read(dst []float32) (rows int, err error)
	// IDs are the ids of the rows of the last Read when Options.IDs was set,
	// else nil. The slice is valid until the next Read; the strings stay.
	IDs() []string
	// Close releases the file. Closing twice is allowed.
	Close() error
}

// Open opens a file of vectors. The format is told by the extension and checked
// against the content; a .gz suffix is accepted where the format streams. "-" is
// standard input, whose format (npy, JSONL, Arrow, safetensors) is recognised by
// its first bytes.
//
// Errors are of type *Error.
func Open(path string, opt *Options) (Reader, error) {
	ext, gzipped := FormatOf(path)
	src, err := openSource(path, gzipped)
	if err != nil {
		return nil, err
	}
	return openFormat(src, ext, opt)
}

// NewReader reads a stream of vectors in a format that can stream: every one but
// NPZ, Parquet, and npy in Fortran order unless r is a *bytes.Reader at its start.
// Unknown recognises the content. name stands for the file in
// errors. Close leaves r open.
func NewReader(r io.Reader, format Format, name string, opt *Options) (Reader, error) {
	return openFormat(newSource(r, name), format, opt)
}

// openFormat hands src, which it owns, to the reader of its format.
func openFormat(src *source, ext Format, opt *Options) (Reader, error) {
	var o Options
	if opt != nil {
		o = *opt
	}
	r, err := openAs(src, ext, o)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openAs(src *source, ext Format, opt Options) (Reader, error) {
	head, err := src.head()
	if err != nil {
		return nil, err
	}
	format, err := reconcile(src.name, ext, Sniff(head))
	if err != nil {
		return nil, err
	}
	if err := checkOptions(src.name, format, opt); err != nil {
		return nil, err
	}
	if err := src.canSeek(format); err != nil {
		return nil, err
	}
	switch format {
	case NPY:
		return openNPY(src)
	case NPZ:
		return openNPZ(src, opt)
	case FVecs, BVecs, IVecs:
		return openVecs(src, format)
	case FBin, IBin, U8Bin, I8Bin:
		return openBin(src, format)
	case JSONL:
		return openJSONL(src, opt)
	case CSV:
		return openCSV(src, opt)
	case Parquet:
		return openParquet(src, opt)
	case Arrow, ArrowStream:
		return openArrow(src, opt)
	case SafeTensors:
		return openSafeTensors(src, opt)
	}
	return nil, fail(src.name, "unknown format %q", string(format))
}

// checkOptions refuses names that the format cannot have, rather than reading
// something the caller did not ask for.
func checkOptions(name string, f Format, opt Options) error {
	columns := f == Parquet || f == Arrow || f == ArrowStream || f == JSONL || f == CSV
	if opt.IDs != "" && !columns && f != NPZ {
		return fail(name, "ids column %q: format %s has no columns", opt.IDs, f)
	}
	if opt.Column != "" && !columns && f != NPZ && f != SafeTensors {
		return fail(name, "column %q: format %s has no named columns or arrays", opt.Column, f)
	}
	return nil
}
