package dataset

import (
	"cmp"
	"io"
)

// Options choose what is read; nil is the defaults.
type Options struct {
	// Column is the vector column (Parquet, Arrow, JSONL objects, CSV with arrays) or the array
	// name (npz, safetensors); for CSV, Parquet and Arrow also a list of columns with a number each,
	// separated by commas, or patterns of path.Match such as d*. "" chooses the only candidate, or
	// the columns of numbers if they are one family of numbered names, or if no name has a
	// number or is one that rows have; several candidates are an error that lists them. It is
	// an error for formats without names.
	Column string
	// Header is HeaderYes or HeaderNo for CSV: whether the first line names the columns. "" is
	// yes for a line of texts and for one of at least three numbers that counts from 0 or 1; a
	// shorter one that counts is an error.
	Header string
	// Like are the names of the coordinates of vectors with which these are compared
	// (Layout.Coordinates). Columns of these names make the vector, in this order; other names
	// are an error unless Column lists the columns.
	Like []string
	// OneRow accepts an array of one dimension as one row, such as a query; otherwise it is an
	// error, as it may as well be many rows of one number.
	OneRow bool
	// DenseLimit is the greatest size, in bytes of float32, to which a sparse matrix is written
	// out; 0 is DefaultDenseLimit.
	DenseLimit int64
	// Budget limits the memory that reading takes; nil is the default.
	Budget *Budget
	// Words are what errors call these options.
	Words Words
	// IDs names a column of ids, strings or integers (Parquet, Arrow, JSONL objects, CSV), or
	// an array of them (npz). "" reads none.
	IDs string
	// FindIDs makes an empty IDs read ids from a column called id, or, for npz, from an array
	// called ids. One that cannot be ids is an error, but in queries (OneRow), whose ids name nothing.
	FindIDs bool
	// IgnoreIDs makes FindIDs read no ids: a column called id only is no coordinate, whatever it holds.
	IgnoreIDs bool
	// Except names columns or arrays of other use, which are not chosen as the vectors.
	Except []string
	// Origin, if not nil, is subtracted from every row, in float64, before it is rounded to
	// float32: what a collection's rows are relative to.
	Origin []float64
	// Centre makes a file of numbers that float32 does not hold (float64, wide integers, text) be
	// read relative to an origin of its own, OriginOf, if its rows lie far from zero. It is for
	// metrics that depend on differences only.
	Centre bool
	// asTheyAre leaves numbers that float32 does not hold to readWide: the rows are those of one of
	// several files, which are rounded together.
	asTheyAre bool
}

// DefaultDenseLimit is the size to which a sparse matrix is written out unless Options say more.
const DefaultDenseLimit = 1 << 30

// Words are the words by which a user decides what has two readings, as errors name them: flags,
// parameters or arguments. "" is the name of the option.
type Words struct{ Column, Header, DenseLimit, IDs string }

func (o *Options) words() Words {
	return Words{
		Column:     cmp.Or(o.Words.Column, "Options.Column"),
		Header:     cmp.Or(o.Words.Header, "Options.Header"),
		DenseLimit: cmp.Or(o.Words.DenseLimit, "Options.DenseLimit"),
		IDs:        cmp.Or(o.Words.IDs, "Options.IDs"),
	}
}

// Reader streams a matrix of float32 rows. It is not safe for concurrent use.
type Reader interface {
	// Dim returns the number of columns, at least 1.
	Dim() int
	// Len returns the number of rows the file claims, -1 if only reading tells. Read returns an
	// error if there are fewer or more.
	Len() int64
	// Read fills up to len(dst)/Dim() whole rows and returns how many; io.ErrShortBuffer if dst
	// cannot hold one row. After the last row it returns 0 and io.EOF. With any other error the
	// rows before the fault are valid and counted, and the reader is finished. Numbers that float32
	// does not hold are rounded, which ChangeOf counts; integers are then refused.
	Read(dst []float32) (rows int, err error)
	// IDs returns the ids of the rows of the last Read if ids are read, else nil. The slice is
	// valid until the next Read; the strings stay valid.
	IDs() []string
	// Close releases the file. It may be called twice.
	Close() error
}

// Open opens a file of vectors. The extension determines the format, which is checked
// against the content; a format that streams may have a further .gz. "-" is standard input,
// whose format (npy, JSONL, Arrow, safetensors) is recognised by its first bytes.
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

// NewReader reads a stream of vectors in a format that can stream: every one but NPZ,
// Parquet, and npy in Fortran order unless r is a *bytes.Reader at its start. Unknown
// recognises the content. Errors use name as the file. Close leaves r open.
func NewReader(r io.Reader, format Format, name string, opt *Options) (Reader, error) {
	return openFormat(newSource(r, name), format, opt)
}

// openFormat passes src, which it owns, to the reader of its format.
func openFormat(src *source, ext Format, opt *Options) (Reader, error) {
	var o Options
	if opt != nil {
		o = *opt
	}
	src.limit(o.Budget)
	r, err := openAs(src, ext, o)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openAs(src *source, ext Format, opt Options) (Reader, error) {
	format, err := src.format(ext)
	if err != nil {
		return nil, err
	}
	if err := checkOptions(src.name, format, opt); err != nil {
		return nil, err
	}
	if opt.IgnoreIDs && !codecOf(format).header { // elsewhere a coordinate is no column
		opt.FindIDs = false
	}
	open := codecOf(format).vectors
	if open == nil && codecOf(format).answersOnly {
		return nil, fail(src.name, "format %s holds answers, and no vectors", format)
	}
	if open == nil {
		return nil, fail(src.name, "unknown format %q", string(format))
	}
	return open(src, format, opt)
}

// checkOptions rejects names that the format cannot have.
func checkOptions(name string, f Format, opt Options) error {
	c := codecOf(f)
	if opt.Header != "" && !c.header {
		return fail(name, "%s %s: format %s has no lines; only CSV has a header", opt.words().Header, opt.Header, f)
	}
	if opt.IDs != "" && c.names < namedArrays {
		return fail(name, "ids column %q: format %s has no columns", opt.IDs, f)
	}
	if opt.Column != "" && c.names == unnamed {
		return fail(name, "column %q: format %s has no named columns or arrays", opt.Column, f)
	}
	return nil
}
