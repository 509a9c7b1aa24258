package collection

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"thresher/dataset"
	"thresher/internal/atomicfile"
)

// A collection file is a header of headerBytes and sections, each at a multiple of
// sectionAlign. Sections smaller than packedBelow are contiguous; the others start at a page
// each, since they are written through a mapping.
//
//	0   8  magic "THRESHER"
//	8   4  format version, little endian as all numbers
//	12  4  length of the JSON header
//	16  4  CRC-32C of the JSON header
//	20  .. JSON header: shape, options, forecast, sections with their CRC-32C
const (
	magic       = "THRESHER"
	fileVersion = 7
	// typedVersion is that of files whose rows are not ElemFloat32.
	typedVersion = 10
	// wideVersion is that of files whose rows are ElemFloat64.
	wideVersion   = 11
	newestVersion = wideVersion
	// originVersion is that of files with an Origin and atoms in the order before nearVersion.
	originVersion = 8
	// oldestVersion has additional sections, which are ignored. Files before roundsVersion
	// differ only in dimensions that were rotated by fewer rounds (outdated).
	oldestVersion = 3
	roundsVersion = 5
	// nearVersion is that of files for Euclidean distance, with an Origin or without, whose atoms are
	// ordered by ascending distance from the centre: programs that do not know of it would take the norm
	// of the first atom for the greatest. Older files keep their order.
	nearVersion = 9
	// centreVersion is the first with atoms relative to a centre for Euclidean distance; in older
	// files the centre is zero.
	centreVersion = 7
	headerBytes   = 1 << 14    // 1<<16 in older files
	maxHeader     = 1<<16 - 20 // most bytes of JSON, in files of any version
	packedBelow   = 1 << 16
	sectionAlign  = 64
)

// pageBytes is the granularity of mappings; the rows start at firstSection.
func pageBytes() int64    { return int64(os.Getpagesize()) }
func firstSection() int64 { return max(headerBytes, pageBytes()) }

// fileOverhead returns the most bytes that a file has besides sections of so many bytes in
// all: its header and the gaps between sections.
func fileOverhead(sections int64) int64 {
	page := pageBytes()
	return firstSection() + maxSections*sectionAlign + min(maxSections*page, sections/packedBelow*page)
}

// maxSections is the most sections a collection has.
const maxSections = 64

// Errors of collection files, wrapped with the file's name and the figures.
var (
	ErrForeign   = errors.New("not a collection file")
	ErrVersion   = errors.New("unknown version of collection file")
	ErrTruncated = errors.New("collection file is truncated")
	ErrCorrupt   = errors.New("collection file is damaged")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type header struct {
	Version  int   `json:"-"` // stored before the JSON header
	length   int64 // in the file, JSON and what is before it
	N, Dim   int
	Metric   string
	Basis    string
	Seed     uint64
	D, R     int
	Slack    float64
	Codes    float64 // CodeSlack
	Kappa    float64
	Defect   float64
	Longest  float64         `json:",omitempty"`
	Change   *dataset.Change `json:",omitempty"` // nil: no value was changed
	Pilot    Pilot
	Names    []nameRun `json:",omitempty"` // of the coordinates
	Elem     string    `json:",omitempty"` // of the rows; "": float32
	Sections []section
	Bytes    int64
}

// hasOrigin reports whether the file's collection has an Origin.
func (h *header) hasOrigin() bool {
	return h.Version == originVersion || slices.ContainsFunc(h.Sections, func(s section) bool { return s.Name == originSection })
}

// elem returns the type of the file's rows.
func (h *header) elem() (dataset.Elem, error) {
	if h.Elem == "" {
		return dataset.ElemFloat32, nil
	}
	elem, err := dataset.ParseElem(h.Elem)
	if err == nil && (h.Version < typedVersion || h.Version < wideVersion && elem == dataset.ElemFloat64) {
		err = fmt.Errorf("rows of %v in a file of version %d", elem, h.Version)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	return elem, nil
}

// file is memory in the mapped sections of a file being written.
type file struct {
	f        *os.File
	end      int64
	sections []section
	maps     [][]byte
	inMemory []bool         // by section: held in memory, not mapped, until closeSections
	segment  int64          // bytes that a build works on at a time, see paging.go; 0: all
	held     int64          // bytes of codes that such a build holds in memory until they are in order
	atoms    int            // in all
	squares  []float64      // sums of squares of each row; nil if they were not summed as they were written
	sums     map[int]uint32 // checksums of sections that were summed as they were written
}

func aligned(at, to int64) int64 { return (at + to - 1) / to * to }

func (w *file) bytes(name string, n int64) ([]byte, error) {
	if n < packedBelow && len(w.sections) > 0 { // the first section is already in the file
		b, err := heap{}.bytes(name, n)
		w.addSection(section{Name: name, Bytes: n}, b, true)
		return b, err
	}
	off := aligned(w.end, pageBytes())
	if err := w.f.Truncate(off + n); err != nil {
		return nil, err
	}
	if err := allocate(w.f, off, n); err != nil {
		return nil, err
	}
	b, err := mapFile(w.f, off, n, true)
	if err != nil {
		return nil, err
	}
	w.end = off + n
	w.addSection(section{Name: name, Offset: off, Bytes: n}, b, false)
	return b, nil
}

func (w *file) addSection(s section, b []byte, inMemory bool) {
	w.sections, w.maps, w.inMemory = append(w.sections, s), append(w.maps, b), append(w.inMemory, inMemory)
}

// writeSection appends a section that was in memory to the file.
func (w *file) writeSection(s *section, b []byte) error {
	s.Offset = aligned(w.end, sectionAlign)
	w.end = s.Offset + s.Bytes
	_, err := w.f.WriteAt(b, s.Offset)
	return err
}

// closeSections ends the mapping of every section. If ok, it first computes the checksums and
// writes the sections held in memory.
func (w *file) closeSections(ok bool) error {
	var first error
	for i, b := range w.maps {
		if ok {
			w.sections[i].CRC = w.checksum(i)
		}
		var err error
		switch {
		case !w.inMemory[i]:
			err = unmapFile(w.f, w.sections[i].Offset, b, ok)
		case ok:
			err = w.writeSection(&w.sections[i], b)
		}
		if err != nil && first == nil {
			first = err
		}
	}
	w.maps = nil
	return first
}

// Create streams src into a collection file at path, which appears complete and durable or
// not at all; an existing file is replaced only if force is set. Memory stays bounded: rows
// and codes are written through the file's mapping. It returns the file, opened.
func Create(ctx context.Context, path string, src Source, force bool, o *Options) (*Collection, error) {
	if _, err := os.Lstat(path); err == nil && !force {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	if err := o.check(); err != nil { // before rows are read
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := atomicfile.Create(path, cmp.Or(o.Mode, 0o644))
	if err != nil {
		return nil, err
	}
	defer f.Discard()
	if err = writeFile(ctx, f.File, src, o); err == nil {
		err = f.Commit(force)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return OpenUnverified(path)
}

// CreateIn streams src into f, an empty file that may have no name, as Create does, and returns it, opened. It
// does not flush f to the disk. The caller may close f, which the collection does not need.
func CreateIn(ctx context.Context, f *os.File, src Source, o *Options) (*Collection, error) {
	if err := writeFile(ctx, f, src, o); err != nil {
		return nil, err
	}
	return openFile(f, checkNothing)
}

func writeFile(ctx context.Context, f *os.File, src Source, o *Options) (err error) {
	w := &file{f: f, end: firstSection(), sums: map[int]uint32{}}
	if _, err := f.Seek(w.end, io.SeekStart); err != nil {
		return err
	}
	rows := &rowFile{f: f, at: w.end, from: w.end, segment: segmentOf(o.memory()), late: o.lateFor(src)}
	rows.sumSquares(src, o)
	elem, n, err := writeRows(ctx, rows, src, o)
	rows.drops.wait()
	if err != nil {
		return err
	}
	w.atoms, w.sums[0], w.squares = n, rows.crc, rows.squares
	c, err := newCollection(n, src.Dim(), o.from(src))
	if err != nil {
		return err
	}
	if w.segment, err = o.segmentFor(c, elem); err != nil {
		return err
	}
	w.held = o.heldFor(c, elem)
	ok := false
	defer func() {
		if !ok {
			w.closeSections(false)
		}
	}()
	if err = c.layoutRows(w, elem); err != nil {
		return err
	}
	if c.Metric.Differences() && c.Origin == nil {
		c.Origin = originOf(c.Vectors)
	}
	if err := c.build(ctx, w, o); err != nil {
		return err
	}
	h := header{N: c.N, Dim: c.Dim, Metric: c.Metric.String(), Basis: c.Basis.String(), Seed: c.Seed, D: c.D, R: c.R,
		Slack: c.Slack, Codes: c.CodeSlack, Kappa: c.Kappa, Longest: c.Longest, Pilot: *c.Forecast()}
	if elem != dataset.ElemFloat32 {
		h.Elem = elem.String()
	}
	if c.Change.Values > 0 {
		h.Change = &c.Change
	}
	if c.transform != nil {
		h.Defect = c.transform.defect
	}
	if o != nil && len(o.Coordinates) == c.Dim {
		h.Names = nameRuns(o.Coordinates)
	}
	ok = true
	if err := w.closeSections(true); err != nil {
		return err
	}
	h.Sections, h.Bytes = w.sections, w.end
	if w.segment > 0 { // what was gathered lay behind a gap
		if err := f.Truncate(w.end); err != nil {
			return err
		}
	}
	js, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(js) > headerBytes-20 {
		return fmt.Errorf("header of %d bytes, at most %d", len(js), headerBytes-20)
	}
	b := append([]byte(magic), make([]byte, 12)...)
	version := uint32(fileVersion)
	if c.Metric.NearFirst() {
		version = nearVersion
	}
	switch c.Elem() {
	case dataset.ElemFloat32:
	case dataset.ElemFloat64:
		version = wideVersion
	default:
		version = typedVersion
	}
	binary.LittleEndian.PutUint32(b[8:], version)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(js)))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(js, castagnoli))
	_, err = f.WriteAt(append(b, js...), 0)
	return err
}

// hasFewerRounds reports whether files before roundsVersion rotated D dimensions by fewer rounds.
func hasFewerRounds(D int) bool {
	before := 3
	if D <= 16384 && D%256 == 0 {
		before = 2
	}
	return rotationRounds(D) > before
}

// readHeader reads and validates the header of f.
func readHeader(f *os.File) (*header, error) {
	b := make([]byte, 20)
	if n, err := io.ReadFull(io.NewSectionReader(f, 0, 20), b); err != nil {
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, err
		}
		if !bytes.HasPrefix([]byte(magic), b[:min(n, 8)]) || n < 8 {
			return nil, ErrForeign
		}
		return nil, fmt.Errorf("%w: %d bytes", ErrTruncated, n)
	}
	if string(b[:8]) != magic {
		return nil, fmt.Errorf("%w: it begins %q", ErrForeign, b[:8])
	}
	version := binary.LittleEndian.Uint32(b[8:])
	if version < oldestVersion || version > newestVersion {
		return nil, fmt.Errorf("%w: %d, this program reads %d to %d", ErrVersion, version, oldestVersion, newestVersion)
	}
	n := binary.LittleEndian.Uint32(b[12:])
	if n > maxHeader {
		return nil, fmt.Errorf("%w: header of %d bytes", ErrCorrupt, n)
	}
	js := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(f, 20, int64(n)), js); err != nil {
		return nil, fmt.Errorf("%w: in its header", ErrTruncated)
	}
	if crc32.Checksum(js, castagnoli) != binary.LittleEndian.Uint32(b[16:]) {
		return nil, fmt.Errorf("%w: the header's checksum differs", ErrCorrupt)
	}
	h := header{Version: int(version), length: 20 + int64(n)}
	if err := json.Unmarshal(js, &h); err != nil {
		return nil, fmt.Errorf("%w: header: %v", ErrCorrupt, err)
	}
	if version < roundsVersion && hasFewerRounds(h.D) {
		return nil, fmt.Errorf("%w: %d, whose rotation mixes %d dimensions too little: build it again", ErrVersion, version, h.D)
	}
	if h.Bytes < headerBytes {
		return nil, fmt.Errorf("%w: sections end at byte %d", ErrCorrupt, h.Bytes)
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < h.Bytes {
		return nil, fmt.Errorf("%w: %d of %d bytes", ErrTruncated, st.Size(), h.Bytes)
	}
	if h.N < 1 || h.N > MaxAtoms || h.Dim < 1 || h.Dim > MaxDim || h.R < 0 || h.R > h.Dim || h.R%16 != 0 || (h.D != 0 && h.D != rotatedDim(h.Dim)) {
		return nil, fmt.Errorf("%w: %d vectors of dimension %d, head %d, rotation %d", ErrCorrupt, h.N, h.Dim, h.R, h.D)
	}
	return &h, nil
}

// mapped is memory in the sections of an opened file.
type mapped struct {
	all            []byte
	sections       map[string]section
	squaresMissing bool      // the file has no RowSquares
	checks         checks    // what is compared with its checksum
	later          []section // sections that are still to be compared
}

func (m *mapped) bytes(name string, n int64) ([]byte, error) {
	s, ok := m.sections[name]
	if _, before := m.sections[rowNorms]; !ok && name == rowSquares && before {
		m.squaresMissing = true
		return heap{}.bytes(name, n)
	}
	if !ok || s.Bytes != n || s.Offset < headerBytes || s.Offset%sectionAlign != 0 || s.Offset > math.MaxInt64-n || s.Offset+n > int64(len(m.all)) {
		return nil, fmt.Errorf("%w: section missing or not of %d bytes", ErrCorrupt, n)
	}
	b := m.all[s.Offset : s.Offset+n : s.Offset+n]
	if m.checks.leaves(name, n) {
		m.later = append(m.later, s)
	} else if m.checks != checkNothing && crc32.Checksum(b, castagnoli) != s.CRC {
		return nil, errChecksum
	}
	return b, nil
}

// Open maps a collection file. It first verifies the checksums of all bytes in use; the
// error for a truncated, foreign or altered file names it.
func Open(path string) (*Collection, error) { return open(path, checkAll) }

// OpenVerifying is Open that returns before the bytes of codes and rows, of which any make a collection, are verified. That goes on in
// the order in which searches read them, which so find them in memory; what was found of them is known once Verified has returned.
func OpenVerifying(path string) (*Collection, error) { return open(path, checkLater) }

// OpenUnverified is Open without reading what is mapped: it verifies the header and that all sections are there, and
// takes their bytes on trust. It is for files whose bytes were verified before.
func OpenUnverified(path string) (*Collection, error) { return open(path, checkNothing) }

func open(path string, what checks) (*Collection, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := openFile(f, what)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func openFile(f *os.File, what checks) (*Collection, error) {
	h, err := readHeader(f)
	if err != nil {
		return nil, err
	}
	metric, err := StoredMetric(h.Metric)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	basis, err := ParseBasis(h.Basis)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	elem, err := h.elem()
	if err != nil {
		return nil, err
	}
	all, err := mapFile(f, 0, h.Bytes, false)
	if err != nil {
		return nil, fmt.Errorf("mapping %d bytes: %w", h.Bytes, err)
	}
	c := &Collection{N: h.N, Dim: h.Dim, Metric: metric, Basis: basis, Seed: h.Seed, D: h.D, R: h.R,
		Slack: h.Slack, CodeSlack: h.Codes, Kappa: h.Kappa, Longest: h.Longest, ahead: new(atomic.Bool)}
	c.setForecast(&h.Pilot)
	m := &mapped{all: all, sections: map[string]section{}, checks: what}
	c.unusedBytes = h.Bytes
	for _, s := range h.Sections {
		m.sections[s.Name] = s
		c.unusedBytes -= s.Bytes
	}
	if h.Change != nil {
		c.Change = *h.Change
	}
	if h.hasOrigin() {
		c.Origin = make([]float64, c.Dim)
	}
	if c.D > 0 {
		c.transform = newTransform(c.Dim, c.Seed)
		c.transform.r, c.transform.defect = c.R, h.Defect
	}
	if err := c.layout(m, elem, false, h.Version); err != nil {
		unmapFile(f, 0, all, false)
		return nil, err
	}
	if !h.Pilot.fits(len(c.Stages)) {
		unmapFile(f, 0, all, false)
		return nil, fmt.Errorf("%w: the forecast is not for %d stages", ErrCorrupt, len(c.Stages))
	}
	if !isPermutation(c.Order) {
		unmapFile(f, 0, all, false)
		return nil, fmt.Errorf("%w: section order is no permutation of the vectors", ErrCorrupt)
	}
	if m.squaresMissing {
		memory := c.RowMemory()
		for i := range c.RowSquares {
			c.RowSquares[i] = kernels.SumSquares(c.RowIn(memory, i))
		}
	}
	if c.Coded() {
		c.computeNormCaps()
		c.transform.pack()
	}
	if len(m.later) > 0 {
		c.verifying = startVerifying(f.Name(), all, m.later)
	}
	c.unmap = func() error {
		if c.verifying != nil {
			c.verifying.stop()
		}
		return unmapFile(nil, 0, all, false)
	}
	return c, nil
}

// isPermutation reports whether order names each of as many rows exactly once.
func isPermutation(order []uint32) bool {
	seen := make([]bool, len(order))
	for _, row := range order {
		if int(row) >= len(order) || seen[row] {
			return false
		}
		seen[row] = true
	}
	return true
}
