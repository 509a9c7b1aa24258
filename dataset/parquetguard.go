package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The Parquet library allocates memory by page headers, run lengths and codec headers
// without checks. These guards walk the same bytes first and refuse counts that exceed what
// the bytes can contain, so that a small file takes little memory.

const (
	maxPageHeader = 64 << 10 // statistics of vectors or ids are far smaller
	// footerStruct is about what a structure of the footer takes once it is decoded.
	footerStruct = 512
)

// checkFooter verifies the metadata's length and its nesting.
func checkFooter(src *source) error {
	var tail [8]byte
	if src.size < 12 {
		return fail(src.name, "not a Parquet file: %d bytes are too few: %w", src.size, cutShort(io.EOF))
	}
	if _, err := src.at.ReadAt(tail[:], src.size-8); err != nil {
		return fail(src.name, "%w", cutShort(err))
	}
	if string(tail[4:]) != "PAR1" {
		return fail(src.name, "not a Parquet file, or truncated: it ends with %q", tail[4:])
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > src.size-12 {
		return fail(src.name, "footer of %d bytes does not fit the file of %d", n, src.size)
	}
	if err := src.budget.checkBlock("the footer", n); err != nil {
		return fail(src.name, "%w", err)
	}
	footer := make([]byte, n)
	if _, err := src.at.ReadAt(footer, src.size-8-n); err != nil {
		return fail(src.name, "%w", cutShort(err))
	}
	w := &thriftWalk{b: footer}
	err := w.structure(0)
	if err == nil {
		err = src.budget.checkBlock("decoding it", int64(w.structs)*footerStruct)
	}
	if err != nil {
		return fail(src.name, "footer: %w", err)
	}
	return nil
}

// pageGuard checks the pages of one column chunk.
type pageGuard struct {
	file  *parquetFile
	leaf  *parquetLeaf
	codec format.CompressionCodec
	body  []byte // as stored
	plain []byte // decompressed
	// dictionary is the memory of the chunk's dictionary.
	dictionary int64
	// largest is the memory of the largest page so far, with its dictionary.
	largest int64
}

func (g *pageGuard) checkChunk(m *format.ColumnMetaData) error {
	switch g.codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd:
	default:
		return fmt.Errorf("compression %s is not supported (none, snappy, gzip and zstd are)", g.codec)
	}
	start := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		start = m.DictionaryPageOffset
	}
	if start < 0 || m.TotalCompressedSize < 0 || start > g.file.size || m.TotalCompressedSize > g.file.size-start {
		return fmt.Errorf("column chunk of %d bytes at %d does not fit the file of %d", m.TotalCompressedSize, start, g.file.size)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(g.file.at, start, m.TotalCompressedSize), maxPageHeader)
	left := m.TotalCompressedSize
	for page := 0; left > 0; page++ {
		h, n, err := readPageHeader(r, left)
		if err == nil {
			left -= n
			err = g.checkPage(h, r, left)
		}
		if err != nil {
			return fmt.Errorf("page %d: %w", page, cutShort(err))
		}
		left -= int64(h.CompressedPageSize)
	}
	return nil
}

// readPageHeader decodes the header at r and returns its length. It decodes from memory, so
// that lengths inside the header are compared with the available bytes.
func readPageHeader(r *bufio.Reader, left int64) (*format.PageHeader, int64, error) {
	b, err := r.Peek(int(min(left, maxPageHeader)))
	if err != nil {
		return nil, 0, err
	}
	n, err := thriftLength(b)
	if err != nil {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	var protocol thrift.CompactProtocol
	h := new(format.PageHeader)
	if err := thrift.NewDecoder(protocol.NewReaderFromBytes(b[:n])).Decode(h); err != nil {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	_, err = r.Discard(n)
	return h, int64(n), err
}

// checkPage reads the body after the header and checks it.
func (g *pageGuard) checkPage(h *format.PageHeader, r io.Reader, left int64) (err error) {
	stored, size := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if stored < 0 || size < 0 || stored > left {
		return fmt.Errorf("page of %d bytes (%d decompressed) in a chunk with %d left", stored, size, left)
	}
	if size > expansion(g.codec)*stored+expansionFloor {
		return fmt.Errorf("page of %d bytes claims %d decompressed", stored, size)
	}
	if err := g.checkMemory(h); err != nil {
		return err
	}
	if g.body, err = readGrowing(r, g.body, stored); err != nil {
		return err
	}
	switch h.Type {
	case format.DictionaryPage:
		return g.checkDictionary(int64(h.DictionaryPageHeader.V.NumValues), size)
	case format.DataPage:
		v := &h.DataPageHeader.V
		return g.checkV1(v, size)
	case format.DataPageV2:
		v := &h.DataPageHeaderV2.V
		return g.checkV2(v, size)
	}
	return fmt.Errorf("page type %s is not supported", h.Type)
}

// checkMemory compares what the library allocates for a page, and for the dictionary before it, with the budget.
func (g *pageGuard) checkMemory(h *format.PageHeader) error {
	stored := int64(h.CompressedPageSize)
	size := max(stored, int64(h.UncompressedPageSize))
	if n := min(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues); n < 0 {
		return fmt.Errorf("page claims %d values", n)
	}
	switch h.Type {
	case format.DictionaryPage:
		size += 4 * int64(h.DictionaryPageHeader.V.NumValues) // where each value begins
		g.dictionary = size
		return g.file.budget.checkBlock(fmt.Sprintf("dictionary of %d bytes", stored), size)
	case format.DataPage:
		size += int64(h.DataPageHeader.V.NumValues) * g.width(h.DataPageHeader.V.Encoding)
	case format.DataPageV2:
		size += int64(h.DataPageHeaderV2.V.NumValues) * g.width(h.DataPageHeaderV2.V.Encoding)
	}
	g.largest = max(g.largest, size+g.dictionary)
	return g.file.budget.checkBlock(fmt.Sprintf("page of %d bytes with its dictionary", stored), size+g.dictionary)
}

// width returns the memory of a value beside its decompressed bytes: its levels, and its place in the dictionary or
// among byte arrays, or all of it if it is made of differences.
func (g *pageGuard) width(e format.Encoding) int64 {
	n := int64(0)
	for _, most := range []int{g.leaf.column.MaxRepetitionLevel(), g.leaf.column.MaxDefinitionLevel()} {
		if most > 0 {
			n++
		}
	}
	switch e {
	case format.Plain, format.ByteStreamSplit:
		if g.leaf.element.Type.V == format.ByteArray {
			n += 4
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		n += 8
	case format.RLE: // booleans
		n++
	default:
		n += 4
	}
	return n
}

func (g *pageGuard) checkDictionary(values, size int64) error {
	b, err := g.decompress(g.body, size)
	if err != nil {
		return err
	}
	if values < 0 || values*g.minWidth() > int64(len(b)) {
		return fmt.Errorf("dictionary of %d bytes claims %d values", len(b), values)
	}
	return nil
}

// minWidth is the least number of bytes of a plain value.
func (g *pageGuard) minWidth() int64 {
	switch e := g.leaf.element; e.Type.V {
	case format.Int64, format.Double:
		return 8
	case format.FixedLenByteArray:
		return int64(max(1, e.TypeLength.V))
	case format.Boolean:
		return 1
	}
	return 4 // also the length before a byte array
}

func (g *pageGuard) checkV1(h *format.DataPageHeader, size int64) error {
	b, err := g.decompress(g.body, size)
	if err != nil {
		return err
	}
	c := g.leaf.column
	for _, level := range []struct {
		most     int
		encoding format.Encoding
	}{
		{c.MaxRepetitionLevel(), h.RepetitionLevelEncoding},
		{c.MaxDefinitionLevel(), h.DefinitionLevelEncoding},
	} {
		if level.most == 0 {
			continue
		}
		if level.encoding != format.RLE {
			return fmt.Errorf("level encoding %s is not supported", level.encoding)
		}
		if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
			return fmt.Errorf("levels: %w", io.ErrUnexpectedEOF)
		}
		n := 4 + int(binary.LittleEndian.Uint32(b))
		if err := checkLevels(b[4:n], level.most, int64(h.NumValues)); err != nil {
			return err
		}
		b = b[n:]
	}
	return g.checkValues(h.Encoding, b, int64(h.NumValues))
}

func (g *pageGuard) checkV2(h *format.DataPageHeaderV2, size int64) error {
	rep, def := int64(h.RepetitionLevelsByteLength), int64(h.DefinitionLevelsByteLength)
	b := g.body
	if rep < 0 || def < 0 || rep+def > int64(len(b)) || rep+def > size || h.NumNulls < 0 || h.NumNulls > h.NumValues {
		return fmt.Errorf("levels: %w", io.ErrUnexpectedEOF)
	}
	c := g.leaf.column
	if err := checkLevels(b[:rep], c.MaxRepetitionLevel(), int64(h.NumValues)); err != nil {
		return err
	}
	if err := checkLevels(b[rep:rep+def], c.MaxDefinitionLevel(), int64(h.NumValues)); err != nil {
		return err
	}
	b = b[rep+def:]
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if b, err = g.decompress(b, size-rep-def); err != nil {
			return err
		}
	}
	return g.checkValues(h.Encoding, b, int64(h.NumValues))
}

// checkValues compares the counts inside encoded values with the page's.
func (g *pageGuard) checkValues(e format.Encoding, b []byte, values int64) error {
	switch e {
	case format.Plain, format.ByteStreamSplit:
		return nil
	//lint:ignore SA1019 old files still carry it
	case format.PlainDictionary, format.RLEDictionary:
		if len(b) == 0 {
			return nil
		}
		_, err := checkRuns(b[1:], int(b[0]), values)
		return err
	case format.RLE: // booleans, after a length
		if len(b) < 4 {
			return io.ErrUnexpectedEOF
		}
		_, err := checkRuns(b[4:], 1, values)
		return err
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		// Block size, mini-blocks, total count; then the deltas.
		for i := range 3 {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return io.ErrUnexpectedEOF
			}
			if i == 2 && v > uint64(values) {
				return fmt.Errorf("%d values in a page of %d", v, values)
			}
			b = b[n:]
		}
		return nil
	}
	return fmt.Errorf("encoding %s is not supported", e)
}

// checkLevels checks the levels of a page, up to most: there is one for each value.
func checkLevels(b []byte, most int, values int64) error {
	sum, err := checkRuns(b, bits.Len(uint(most)), values)
	if err == nil && most > 0 && sum < values {
		err = fmt.Errorf("page claims %d values", values)
	}
	if err != nil {
		return fmt.Errorf("levels: %w", err)
	}
	return nil
}

// checkRuns walks the hybrid encoding of runs and bit-packed groups, refuses more values than the page has, and
// returns how many there are. The last group of eight may be padded.
func checkRuns(b []byte, bitWidth int, values int64) (sum int64, err error) {
	if bitWidth > 32 {
		return 0, fmt.Errorf("bit width %d exceeds 32", bitWidth)
	}
	const padding = 512
	for len(b) > 0 {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return sum, io.ErrUnexpectedEOF
		}
		b = b[n:]
		if u>>1 > 1<<31 {
			return sum, fmt.Errorf("run of %d values in a page of %d", u>>1, values)
		}
		count, size := int64(u>>1), int64(bitWidth+7)/8
		if u&1 != 0 {
			count, size = 8*count, count*int64(bitWidth)
		}
		if sum += count; sum > values+padding {
			return sum, fmt.Errorf("runs of more than %d values in a page of %d", sum, values)
		}
		b = b[min(size, int64(len(b))):]
	}
	return sum, nil
}
