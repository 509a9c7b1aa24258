package columns

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/RoaringBitmap/roaring/v2"
)

// readSaved reads the header, and returns where the sections begin.
func readSaved(f io.ReaderAt, size int64) (*savedHeader, int64, error) {
	b := make([]byte, savedStart)
	if _, err := f.ReadAt(b, 0); err != nil || string(b[:8]) != savedMagic {
		return nil, 0, ErrForeign
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != savedVersion {
		return nil, 0, fmt.Errorf("%w: %d, this program reads %d", ErrVersion, v, savedVersion)
	}
	length := int64(binary.LittleEndian.Uint32(b[12:]))
	if savedStart+length > size {
		return nil, 0, fmt.Errorf("%w: it ends in its header", ErrDamaged)
	}
	js := make([]byte, length)
	if _, err := f.ReadAt(js, savedStart); err != nil {
		return nil, 0, err
	}
	if crc32.Checksum(js, castagnoli) != binary.LittleEndian.Uint32(b[16:]) {
		return nil, 0, fmt.Errorf("%w: the header's checksum differs", ErrDamaged)
	}
	h := &savedHeader{}
	if err := json.Unmarshal(js, h); err != nil {
		return nil, 0, fmt.Errorf("%w: header: %v", ErrDamaged, err)
	}
	if h.Rows < 0 || h.Rows > MaxRows {
		return nil, 0, fmt.Errorf("%w: %d rows", ErrDamaged, h.Rows)
	}
	end, rest := savedStart+length, size-savedStart-length
	for i := range h.Columns {
		for _, s := range h.Columns[i].Sections {
			if s.Bytes < 0 || s.Bytes > rest {
				return nil, 0, fmt.Errorf("%w: it has %d bytes and ends in column %q", ErrDamaged, size, h.Columns[i].Name)
			}
			rest -= s.Bytes
		}
	}
	if rest != 0 {
		return nil, 0, fmt.Errorf("%w: %d bytes follow the last column", ErrDamaged, rest)
	}
	return h, end, nil
}

// savedNames are the names of columns for messages.
func savedNames(columns []savedColumn) string {
	c := &Columns{}
	for i := range columns {
		c.of = append(c.of, &Column{Name: columns[i].Name})
	}
	return c.names()
}

// read reads a column of so many rows, whose sections begin at a place in the file.
func (s *savedColumn) read(f io.ReaderAt, at int64, rows int) (*Column, error) {
	want := 2
	if s.Type == Text || s.Type == TextList {
		want = 5
	}
	if s.Type == 0 || len(s.Sections) != want {
		return nil, fmt.Errorf("%w: %d sections of type %s", ErrDamaged, len(s.Sections), s.Type)
	}
	parts := make([][]byte, want)
	for i, of := range s.Sections {
		parts[i] = make([]byte, of.Bytes)
		if _, err := io.ReadFull(io.NewSectionReader(f, at, of.Bytes), parts[i]); err != nil {
			return nil, err
		}
		if crc32.Checksum(parts[i], castagnoli) != of.CRC {
			return nil, fmt.Errorf("%w: the checksum of section %d differs", ErrDamaged, i)
		}
		at += of.Bytes
	}
	c := &Column{Name: s.Name, Type: s.Type, rows: rows, example: s.Example}
	return c, c.restore(parts)
}

// restore takes the sections of a column whose type and number of rows are known.
func (c *Column) restore(parts [][]byte) error {
	c.filled = roaring.New()
	if err := c.filled.UnmarshalBinary(parts[0]); err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if !c.filled.IsEmpty() {
		if err := c.filled.Validate(); err != nil {
			return fmt.Errorf("%w: %v", ErrDamaged, err)
		}
		if int64(c.filled.Maximum()) >= int64(c.rows) {
			return fmt.Errorf("%w: row %d of %d", ErrDamaged, c.filled.Maximum(), c.rows)
		}
	}
	c.comparable = c.filled
	if c.Type == Text || c.Type == TextList {
		return c.restoreTexts(parts[1:])
	}
	if len(parts[1]) != 8*c.rows {
		return fmt.Errorf("%w: %d bytes of %d rows", ErrDamaged, len(parts[1]), c.rows)
	}
	if c.Type == Float || c.Type == Single {
		keys := make([]float64, c.rows)
		for i := range keys {
			keys[i] = math.Float64frombits(binary.LittleEndian.Uint64(parts[1][8*i:]))
		}
		c.setFloats(keys)
		return nil
	}
	keys := make([]int64, c.rows)
	for i := range keys {
		keys[i] = int64(binary.LittleEndian.Uint64(parts[1][8*i:]))
	}
	c.setIntegers(keys)
	return nil
}

// restoreTexts takes the codes, the counts of lists, and the dictionary.
func (c *Column) restoreTexts(parts [][]byte) error {
	codes, counts, lengths := restored(parts[0]), restored(parts[1]), restored(parts[2])
	texts := string(parts[3])
	for i, n := range lengths {
		if int64(n) > int64(len(texts)) {
			return fmt.Errorf("%w: the dictionary ends in text %d", ErrDamaged, i)
		}
		c.dictionary, texts = append(c.dictionary, texts[:n]), texts[n:]
		if i > 0 && c.dictionary[i-1] >= c.dictionary[i] {
			return fmt.Errorf("%w: the dictionary is not sorted", ErrDamaged)
		}
	}
	for _, code := range codes {
		if int(code) >= max(1, len(c.dictionary)) {
			return fmt.Errorf("%w: text %d of %d", ErrDamaged, code, len(c.dictionary))
		}
	}
	c.codes = &ordered[uint32]{keys: codes, rows: c.rows, valid: c.filled}
	if c.Type == Text {
		if len(codes) != c.rows || len(counts) != 0 {
			return fmt.Errorf("%w: %d texts and %d lists of %d rows", ErrDamaged, len(codes), len(counts), c.rows)
		}
		return nil
	}
	total := 0
	for row, n := range counts {
		if total += int(n); total > len(codes) {
			break
		}
		for range n {
			c.codes.owner = append(c.codes.owner, uint32(row))
		}
	}
	if len(counts) != c.rows || total != len(codes) {
		return fmt.Errorf("%w: %d lists of %d texts in %d rows", ErrDamaged, len(counts), len(codes), c.rows)
	}
	if c.codes.owner == nil {
		c.codes.owner = []uint32{} // also of lists that are all empty
	}
	c.counts = counts
	return nil
}

// restored returns keys of stored.
func restored(b []byte) []uint32 {
	keys := make([]uint32, len(b)/4)
	for i := range keys {
		keys[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return keys
}
