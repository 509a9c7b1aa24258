package collection

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"thresher/dataset"
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
	Version  int `json:"-"` // stored before the JSON header
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

// versionOf returns the version of a file of c.
func versionOf(c *Collection) int {
	switch elem := c.Elem(); {
	case elem == dataset.ElemFloat64:
		return wideVersion
	case elem != dataset.ElemFloat32:
		return typedVersion
	case c.Metric.NearFirst():
		return nearVersion
	}
	return fileVersion
}

// write writes the header to f.
func (h *header) write(f *os.File) error {
	js, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(js) > headerBytes-20 {
		return fmt.Errorf("header of %d bytes, at most %d", len(js), headerBytes-20)
	}
	b := append([]byte(magic), make([]byte, 12)...)
	binary.LittleEndian.PutUint32(b[8:], uint32(h.Version))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(js)))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(js, castagnoli))
	_, err = f.WriteAt(append(b, js...), 0)
	return err
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
	h := header{Version: int(version)}
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
