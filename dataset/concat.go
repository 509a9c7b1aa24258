package dataset

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"slices"
	"strings"
)

// OpenFiles opens several files of vectors as one, whose rows are those of the files in their order. The
// files have one dimension, one type of elements and, if their columns have names, the same columns;
// all are opened once before the first row is read, so that a file that differs is refused at once, by name.
// A file of Parquet or Arrow without rows is passed over, as systems write one where a part of a table is empty, unless all
// are. An id that two rows have is an error that names both files, unless ids name nothing (Options.OneRow). With
// one file it is Open.
//
// Errors are of type *Error; rows are counted in the file that they name.
func OpenFiles(files []string, opt *Options) (Reader, error) {
	if len(files) == 1 {
		return Open(files[0], opt)
	}
	if len(files) == 0 {
		return nil, fail("vectors", "no files are named")
	}
	c := &concatenated{files: files, justifies: true}
	if opt != nil {
		c.opt = *opt
	}
	own := c.opt // of the rows of all, which are centred together
	c.opt.asTheyAre, c.opt.Origin, c.opt.Centre = true, nil, false
	if err := c.survey(); err != nil {
		return nil, err
	}
	return own.narrow(c, strings.Join(files, ",")), nil
}

// concatenated reads files one after the other.
type concatenated struct {
	files []string
	opt   Options

	dim         int
	rows        int64 // of all files, -1 if only reading tells
	kind        kind  // of the elements
	wide, whole bool
	likeFirst   bool // opt.Like are the coordinates of the first file
	justifies   bool
	said        Layout

	part   Reader  // the current file, nil before it is opened
	starts []int64 // the first rows of the files that were opened
	next   int64   // row
	ids    []string
	seen   *idsSeen // nil if ids name nothing
	err    error
}

// survey opens every file and compares it with the first.
func (c *concatenated) survey() error {
	given := c.files
	c.files = nil
	var none error // of the first file without rows
	for _, file := range given {
		r, err := Open(file, &c.opt)
		if errors.Is(err, ErrNoRows) && isTyped(file) {
			none = cmp.Or(none, err)
			continue
		}
		i := len(c.files)
		c.files = append(c.files, file)
		if err != nil {
			return c.differs(i, err)
		}
		if i == 0 {
			c.take(r)
		} else if err = c.compare(r, i); err == nil {
			c.add(r)
		}
		if err := errors.Join(err, r.Close()); err != nil {
			return located(file, -1, err)
		}
	}
	if len(c.files) == 0 {
		return none
	}
	return nil
}

// isTyped reports whether a file of this name states the types of its columns, also without rows.
func isTyped(file string) bool {
	format, _ := FormatOf(file)
	return format == Parquet || format == Arrow || format == ArrowStream
}

// take notes what the first file is.
func (c *concatenated) take(r Reader) {
	c.dim, c.rows, c.said, c.kind = r.Dim(), 0, LayoutOf(r), kindOf(r)
	if w, ok := r.(wideReader); ok {
		c.wide = w.isWide()
	}
	if w, ok := r.(interface{ isWhole() bool }); ok {
		c.whole = w.isWhole()
	}
	if c.opt.Like == nil {
		c.opt.Like, c.likeFirst = c.said.Coordinates(), true
	}
	if c.said.IDs != "" && !c.opt.OneRow {
		c.seen = newIDsSeen()
	}
	c.add(r)
}

// add counts the rows of a file.
func (c *concatenated) add(r Reader) {
	proven, ok := r.(interface{ justified() bool })
	c.justifies = c.justifies && ok && proven.justified()
	if c.rows < 0 || r.Len() < 0 {
		c.rows = -1
		return
	}
	c.rows += r.Len()
}

// compare refuses a file that differs from the first.
func (c *concatenated) compare(r Reader, file int) error {
	name, first, l := c.files[file], c.files[0], LayoutOf(r)
	switch {
	case r.Dim() != c.dim:
		return fail(name, "has vectors of dimension %d, %s of dimension %d: files that are read as one have one", r.Dim(), first, c.dim)
	case kindOf(r) != c.kind:
		return fail(name, "holds %s, %s holds %s: files that are read as one have one type", kindOf(r), first, c.kind)
	case l.Header != c.said.Header:
		return fail(name, "%s, and %s %s: %s decides for all files", headerSaid(l.Header), first, headerSaid(c.said.Header), c.opt.words().Header)
	case !slices.Equal(l.Vector, c.said.Vector):
		return fail(name, "the vectors are %s, those of %s are %s: %s names those of all files", Ranges(l.Vector), first, Ranges(c.said.Vector), c.opt.words().Column)
	case l.IDs != c.said.IDs:
		return fail(name, "%s, and %s %s: %s names those of all files", idsSaid(l.IDs), first, idsSaid(c.said.IDs), c.opt.words().IDs)
	}
	return nil
}

// differs returns err, the error of opening a file, or what is different from the first file if its columns are others.
func (c *concatenated) differs(file int, err error) error {
	if !c.likeFirst {
		return err
	}
	own := c.opt
	own.Like = nil
	r, other := Open(c.files[file], &own)
	if other != nil {
		return err
	}
	defer r.Close()
	return cmp.Or(c.compare(r, file), err)
}

// headerSaid says whether a file has a header, by Layout.Header.
func headerSaid(header string) string {
	if header == HeaderYes {
		return "has a header"
	}
	return "has no header"
}

// idsSaid says which column holds the ids.
func idsSaid(column string) string {
	if column == "" {
		return "has no ids"
	}
	return "has ids in " + column
}

func (c *concatenated) Dim() int        { return c.dim }
func (c *concatenated) Len() int64      { return c.rows }
func (c *concatenated) layout() Layout  { return c.said }
func (c *concatenated) justified() bool { return c.rows >= 0 && c.justifies }
func (c *concatenated) element() kind   { return c.kind }
func (c *concatenated) isWide() bool    { return c.wide }
func (c *concatenated) isWhole() bool   { return c.whole }
func (c *concatenated) IDs() []string   { return c.ids }

func (c *concatenated) Close() error {
	c.err = errors.Join(c.err, errClosed)
	if c.part == nil {
		return nil
	}
	err := c.part.Close()
	c.part = nil
	return err
}

// errClosed is the error of reading what is closed.
var errClosed = errors.New("the files are closed")

func (c *concatenated) Read(dst []float32) (int, error) {
	return c.read(len(dst), func(part Reader) (int, error) { return part.Read(dst) })
}

func (c *concatenated) readWide(dst []float64) (int, error) {
	return c.read(len(dst), func(part Reader) (int, error) { return part.(wideReader).readWide(dst) })
}

// read reads rows of the current file by from, and goes on to the next at its end. Room is how many elements
// from has room for.
func (c *concatenated) read(room int, from func(part Reader) (int, error)) (int, error) {
	c.ids = nil
	if c.err != nil {
		return 0, c.err
	}
	if room < c.dim {
		return 0, io.ErrShortBuffer
	}
	for {
		if c.part == nil {
			if c.err = c.open(); c.err != nil {
				return 0, c.err
			}
		}
		n, err := from(c.part)
		c.ids = c.part.IDs()
		if at, twice := c.check(n); twice != nil {
			c.err = twice
			return at, c.err
		}
		c.next += int64(n)
		if err == io.EOF {
			if err = c.part.Close(); err == nil {
				c.part = nil
			}
		}
		if c.err = err; n > 0 || err != nil {
			return n, err
		}
	}
}

// open opens the next file, io.EOF after the last.
func (c *concatenated) open() error {
	at := len(c.starts)
	if at == len(c.files) {
		return io.EOF
	}
	r, err := Open(c.files[at], &c.opt)
	if err != nil {
		return err
	}
	if err := c.compare(r, at); err != nil { // it was replaced
		return errors.Join(err, r.Close())
	}
	c.part, c.starts = r, append(c.starts, c.next)
	return nil
}

// check refuses an id of the n rows read that another row has; at is the place of such a row among them.
func (c *concatenated) check(n int) (at int, err error) {
	if c.seen == nil {
		return 0, nil
	}
	for i, id := range c.ids[:min(n, len(c.ids))] {
		first, ok := c.seen.add(id)
		if ok {
			continue
		}
		file, row := c.place(c.next + int64(i))
		other, was := c.place(first)
		if file == other {
			return i, failAt(file, row, -1, "has the id %.60q, which row %d has already", id, was)
		}
		return i, failAt(file, row, -1, "has the id %.60q, which row %d of %s has already", id, was, other)
	}
	return 0, nil
}

// place returns the file of a row that was read, and the row there.
func (c *concatenated) place(row int64) (file string, at int64) {
	i, found := slices.BinarySearch(c.starts, row)
	if !found {
		i--
	}
	return c.files[i], row - c.starts[i]
}

// Placed returns err, the error of a row of r that it names by its place among all of them, as one of the file
// that holds the row, if r reads several.
func Placed(r Reader, err error) error {
	if n := narrowingOf(r); n != nil {
		r = n.reader()
	} else if t, ok := r.(*typed); ok {
		r = t.Reader
	}
	c, ok := r.(*concatenated)
	var e *Error
	if !ok || !errors.As(err, &e) || e.Row < 0 {
		return err
	}
	for _, file := range c.files {
		if e.File == file || strings.HasPrefix(e.File, file+":") {
			return err // it has its place
		}
	}
	file, row := c.place(e.Row)
	return &Error{File: file, Row: row, Column: e.Column, Err: e.Err}
}

// idsSeen tells whether ids are all different, in the order of rows.
type idsSeen struct {
	ids  []string
	rows []int // from 1 on, where their hashes say; a power of two of them, at most two thirds in use
	seed maphash.Seed
}

func newIDsSeen() *idsSeen {
	return &idsSeen{rows: make([]int, 1<<10), seed: maphash.MakeSeed()}
}

// add adds the id of the next row; ok is false if a row before has it, which is first.
func (s *idsSeen) add(id string) (first int64, ok bool) {
	at := s.find(id)
	if s.rows[at] != 0 {
		return int64(s.rows[at] - 1), false
	}
	s.ids = append(s.ids, id)
	s.rows[at] = len(s.ids)
	if 3*len(s.ids) > 2*len(s.rows) {
		s.rows = make([]int, 2*len(s.rows))
		for i, id := range s.ids {
			s.rows[s.find(id)] = i + 1
		}
	}
	return 0, true
}

// find returns the place of an id in rows, or the one where it belongs.
func (s *idsSeen) find(id string) int {
	at := int(maphash.String(s.seed, id)) & (len(s.rows) - 1)
	for s.rows[at] != 0 && s.ids[s.rows[at]-1] != id {
		at = (at + 1) & (len(s.rows) - 1)
	}
	return at
}
