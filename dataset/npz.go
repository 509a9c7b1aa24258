package dataset

import (
	"archive/zip"
	"bufio"
	"io"
	"slices"
	"sort"
	"strings"
)

// idsName is the default name of ids: a column, field or array of this name is never chosen
// as the vectors automatically.
const idsName = "ids"

// npzEntry is one array of an npz, a zip of npy files.
type npzEntry struct {
	name   string // without .npy
	file   *zip.File
	header *npyHeader
}

// listNPZ reads the headers of all arrays, in zip order.
func listNPZ(src *source) ([]npzEntry, error) {
	z, err := src.zip()
	if err != nil {
		return nil, err
	}
	var entries []npzEntry
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, fail(src.name+":"+name, "%w", err)
		}
		h, err := readNPYHeader(r)
		r.Close()
		if err != nil {
			return nil, fail(src.name+":"+name, "%w", err)
		}
		entries = append(entries, npzEntry{name: name, file: f, header: h})
	}
	if len(entries) == 0 {
		return nil, fail(src.name, "npz holds no arrays")
	}
	return entries, nil
}

func openNPZ(src *source, opt Options) (Reader, error) {
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	given := opt
	given.asTheyAre = true // until the ids are there
	if isSparse(entries) && opt.Column == "" {
		r, err := openSparse(src, entries, given)
		if err != nil {
			return nil, err
		}
		if r, err = withIDs(src, entries, r, Layout{Vector: sparseArrays(), Sparse: true}, opt); err != nil {
			return nil, err
		}
		return opt.narrow(r, src.name+":data"), nil
	}
	e, err := chooseNPZ(src.name, entries, opt)
	if err != nil {
		return nil, err
	}
	r, err := e.open(src, given)
	if err != nil {
		return nil, err
	}
	if r, err = withIDs(src, entries, r, Layout{Vector: []string{e.name}}, opt); err != nil {
		return nil, err
	}
	return opt.narrow(r, src.name+":"+e.name), nil
}

// withIDs adds the ids of the rows of r, which is made of the arrays l.Vector.
func withIDs(src *source, entries []npzEntry, r Reader, l Layout, opt Options) (Reader, error) {
	var ids *npzEntry
	for i := range entries {
		e := &entries[i]
		found := opt.IDs == "" && opt.FindIDs && e.name == idsName && len(e.header.shape) == 1 && !slices.Contains(l.Vector, idsName)
		switch {
		case opt.IDs == e.name || found:
			ids = e
		case !slices.Contains(l.Vector, e.name) && !(l.Sparse && e.name == sparseMark):
			l.Dropped = append(l.Dropped, e.name)
		}
	}
	switch {
	case ids == nil && opt.IDs != "":
		r.Close()
		return nil, fail(src.name, "no array %q for the ids; the file holds %s", opt.IDs, listed(entryNames(entries)))
	case ids == nil:
		return npzVectors{r, l}, nil
	}
	named, err := ids.named(src, npzVectors{r, l})
	if err != nil {
		r.Close()
	}
	return named, err
}

// npzVectors is a matrix of an npz that may have other arrays too.
type npzVectors struct {
	Reader
	said Layout
}

func (v npzVectors) layout() Layout { return v.said }

func (v npzVectors) justified() bool {
	p, ok := v.Reader.(interface{ justified() bool })
	return ok && p.justified()
}

func (v npzVectors) element() kind { return kindOf(v.Reader) }

func (v npzVectors) isWide() bool {
	w, ok := v.Reader.(wideReader)
	return ok && w.isWide()
}

func (v npzVectors) isWhole() bool {
	w, ok := v.Reader.(interface{ isWhole() bool })
	return ok && w.isWhole()
}

func (v npzVectors) readWide(dst []float64) (int, error) { return v.Reader.(wideReader).readWide(dst) }

// open passes the array and src to the npy reader. A stored array is read from the file; a
// deflated one is a stream of unproven length. Rows in C order are read through zip's
// reader, which verifies the checksum at the end.
func (e *npzEntry) open(src *source, opt Options) (Reader, error) {
	name := src.name + ":" + e.name
	r, err := e.file.Open()
	if err != nil {
		return nil, fail(name, "%w", err)
	}
	src.shut = append([]io.Closer{r}, src.shut...)
	a := npyArray{name: name, r: bufio.NewReaderSize(r, streamBuffer), size: -1, summed: true, shut: src, budget: src.budget, opt: opt}
	if e.file.Method == zip.Store {
		offset, err := e.file.DataOffset()
		if err != nil {
			return nil, fail(name, "%w", err)
		}
		size := int64(e.file.UncompressedSize64)
		if size < 0 || size > src.size-offset {
			return nil, fail(name, "array of %d bytes does not fit the file: %w", e.file.UncompressedSize64, cutShort(io.EOF))
		}
		a.at, a.size = io.NewSectionReader(src.at, offset, size), size
	}
	return a.open()
}

// chooseNPZ returns the named array, or the only matrix of floats or bytes, or without a
// matrix the only such row, or else the only matrix of wider integers.
func chooseNPZ(file string, entries []npzEntry, opt Options) (*npzEntry, error) {
	name := opt.Column
	var all []string
	const wideArrays = 3 // index of arrays of wide integers
	var byDims [2 * wideArrays][]int
	for i := range entries {
		e := &entries[i]
		if e.name == name && name != "" {
			return e, nil
		}
		all = append(all, e.name)
		if e.name == idsName || slices.Contains(opt.Except, e.name) {
			continue // not vectors, unless named
		}
		if _, err := e.header.kind(); err == nil && len(e.header.shape) <= 2 {
			at := len(e.header.shape)
			if e.header.wide() {
				at += wideArrays
			}
			byDims[at] = append(byDims[at], i)
		}
	}
	if name != "" {
		return nil, fail(file, "no array %q; the file holds %s", name, listed(all))
	}
	found := byDims[2]
	for _, less := range []int{1, wideArrays + 2} {
		if len(found) == 0 {
			found = byDims[less]
		}
	}
	switch len(found) {
	case 1:
		e := &entries[found[0]]
		return e, located(file, -1, refuseFound(e.name, e.name, matrices(entries), opt.words().Column))
	case 0:
		return nil, fail(file, "no array is a matrix of a supported dtype; the file holds %s", listed(all))
	}
	var names []string
	for _, i := range found {
		names = append(names, entries[i].name)
	}
	return nil, located(file, -1, severalFound("arrays", names, opt.words().Column))
}

// matrices returns the names of the arrays of two dimensions.
func matrices(entries []npzEntry) (names []string) {
	for i := range entries {
		if len(entries[i].header.shape) == 2 {
			names = append(names, entries[i].name)
		}
	}
	return names
}

// listed joins names for an error message, sorted and truncated.
func listed(names []string) string {
	const most = 20
	sort.Strings(names)
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// chooseArray returns the array with the first name, or else the only one with another of the
// names, or nil.
func chooseArray(file string, entries []npzEntry, names []string) (*npzEntry, error) {
	var found []*npzEntry
	var called []string
	for i := range entries {
		e := &entries[i]
		if e.name == names[0] {
			return e, nil
		}
		if slices.Contains(names, e.name) {
			found, called = append(found, e), append(called, e.name)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, severalArrays(file, names[0], called)
}

// severalArrays is the error of several arrays that may be what one of the first name is.
func severalArrays(file, name string, called []string) error {
	return fail(file, "several arrays could be the %s: %s; call one of them %s", name, listed(called), name)
}

func entryNames(entries []npzEntry) (names []string) {
	for i := range entries {
		names = append(names, entries[i].name)
	}
	return names
}
