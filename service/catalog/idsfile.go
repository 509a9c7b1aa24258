package catalog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"thresher/dataset"
	"thresher/store"
)

// A file of ids is a header of 32 bytes, all numbers little endian, and sections:
//
//	0   8  magic "THRESHID"
//	8   4  format version
//	12  4  1 for integers, 2 for strings
//	16  8  rows n
//	24  8  bytes of text
//	       integers: int64 [n]; strings: uint64 [n+1], the text
//	       uint32 [n], the rows by ascending id
//	       CRC-32C of all before
const (
	idsMagic   = "THRESHID"
	idsVersion = 1
)

var errIDs = errors.New("file of ids is damaged")

func castagnoli() hash.Hash32 { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) }

// writeIDs writes Integers or Strings to a new file, flushed.
func writeIDs(disk store.Disk, path string, d *RowIDs) error {
	w, err := disk.Create(path)
	if err != nil {
		return err
	}
	defer w.Discard()
	p, sum := d.ids.Packed(), castagnoli()
	b := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<18)
	kind := uint32(1)
	if d.kind == Strings {
		kind = 2
	}
	head := append([]byte(idsMagic), make([]byte, 24)...)
	binary.LittleEndian.PutUint32(head[8:], idsVersion)
	binary.LittleEndian.PutUint32(head[12:], kind)
	binary.LittleEndian.PutUint64(head[16:], uint64(d.n))
	binary.LittleEndian.PutUint64(head[24:], uint64(len(p.Text)))
	b.Write(head) // a bufio.Writer keeps its first error
	var eight [8]byte
	for _, v := range p.Numbers {
		b.Write(binary.LittleEndian.AppendUint64(eight[:0], v))
	}
	for _, v := range p.Ends {
		b.Write(binary.LittleEndian.AppendUint64(eight[:0], v))
	}
	b.WriteString(p.Text)
	order := d.ids.Order()
	for row := range uint32(d.n) {
		if order != nil {
			row = order[row]
		}
		b.Write(binary.LittleEndian.AppendUint32(eight[:0], row))
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32())); err != nil {
		return err
	}
	return w.Close()
}

// readIDs reads a file written by writeIDs.
func readIDs(path string) (*RowIDs, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	d, err := decodeIDs(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return d, nil
}

// decodeIDs reads a file of ids of size bytes. The size is checked before memory is allocated
// for the numbers in the header.
func decodeIDs(r io.Reader, size int64) (*RowIDs, error) {
	sum := castagnoli()
	in := idsReader{r: bufio.NewReaderSize(r, 1<<18), sum: sum}
	head := in.bytes(32)
	if in.err != nil || string(head[:8]) != idsMagic || binary.LittleEndian.Uint32(head[8:]) != idsVersion {
		return nil, fmt.Errorf("%w: it begins %q", errIDs, head)
	}
	kind, n, text := binary.LittleEndian.Uint32(head[12:]), binary.LittleEndian.Uint64(head[16:]), binary.LittleEndian.Uint64(head[24:])
	if limit := uint64(size); kind < 1 || kind > 2 || n > limit || text > limit ||
		limit != 32+8*n+4*n+uint64(kind-1)*(8+text)+4 {
		return nil, fmt.Errorf("%w: %d bytes for %d rows and %d bytes of text", errIDs, size, n, text)
	}
	p := dataset.PackedIDs{Signed: kind == 1}
	if kind == 1 {
		p.Numbers = make([]uint64, n)
		in.each(8, len(p.Numbers), func(i int, b []byte) { p.Numbers[i] = binary.LittleEndian.Uint64(b) })
	} else {
		p.Ends = make([]uint64, n+1)
		in.each(8, len(p.Ends), func(i int, b []byte) { p.Ends[i] = binary.LittleEndian.Uint64(b) })
		p.Text = in.text(int(text))
	}
	order := make([]uint32, n)
	in.each(4, len(order), func(i int, b []byte) { order[i] = binary.LittleEndian.Uint32(b) })
	want := sum.Sum32()
	if tail := in.bytes(4); in.err != nil || binary.LittleEndian.Uint32(tail) != want {
		return nil, fmt.Errorf("%w: checksum differs", errIDs)
	}
	if err := sound(&p, order); err != nil {
		return nil, err
	}
	return rowIDs(dataset.NewIDs(p, order)), nil
}

// sound checks that indices are in bounds.
func sound(p *dataset.PackedIDs, order []uint32) error {
	for i := 1; i < len(p.Ends); i++ {
		if p.Ends[i] < p.Ends[i-1] || p.Ends[i] > uint64(len(p.Text)) {
			return fmt.Errorf("%w: the text of row %d", errIDs, i-1)
		}
	}
	for _, row := range order {
		if int(row) >= len(order) {
			return fmt.Errorf("%w: row %d of %d", errIDs, row, len(order))
		}
	}
	return nil
}

// idsReader reads sections and keeps the first error.
type idsReader struct {
	r   io.Reader
	sum hash.Hash32
	err error
}

func (r *idsReader) bytes(n int) []byte {
	b := make([]byte, n)
	r.fill(b)
	return b
}

func (r *idsReader) text(n int) string {
	var b strings.Builder
	b.Grow(n)
	for buf := make([]byte, min(n, 1<<16)); b.Len() < n && r.err == nil; {
		part := buf[:min(len(buf), n-b.Len())]
		r.fill(part)
		b.Write(part)
	}
	return b.String()
}

func (r *idsReader) fill(b []byte) {
	if r.err == nil {
		_, r.err = io.ReadFull(r.r, b)
		r.sum.Write(b)
	}
}

// each visits n numbers of width bytes.
func (r *idsReader) each(width, n int, visit func(i int, b []byte)) {
	buf := make([]byte, width<<12)
	for at := 0; at < n && r.err == nil; {
		part := buf[:min(len(buf), width*(n-at))]
		r.fill(part)
		for ; len(part) > 0; part = part[width:] {
			visit(at, part)
			at++
		}
	}
}
