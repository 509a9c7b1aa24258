package collection

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"thresher/dataset"
	"thresher/internal/atomicfile"
)

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
	h := header{Version: versionOf(c), N: c.N, Dim: c.Dim, Metric: c.Metric.String(), Basis: c.Basis.String(), Seed: c.Seed, D: c.D, R: c.R,
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
	return h.write(f)
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
