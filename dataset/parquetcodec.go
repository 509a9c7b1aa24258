package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// expansionFloor is added to what is expected of a codec.
const expansionFloor = 1 << 10

// expansion returns the greatest number of bytes that one byte of a codec stands for.
func expansion(c format.CompressionCodec) int64 {
	switch c {
	case format.Snappy:
		return 32 // a copy of 64 bytes takes three
	case format.Gzip:
		return 1032 // 258 bytes take two bits
	case format.Zstd:
		return 1 << 15 // a run of 128 KiB takes four bytes
	}
	return 1
}

// decompress decompresses a body to size bytes. It refuses other sizes before it allocates
// memory.
func (g *pageGuard) decompress(b []byte, size int64) ([]byte, error) {
	switch g.codec {
	case format.Uncompressed:
		return b, nil
	case format.Snappy:
		if n, k := binary.Uvarint(b); k <= 0 || n != uint64(size) {
			return nil, fmt.Errorf("snappy block of %d bytes where the page has %d", n, size)
		}
	}
	if int64(cap(g.plain)) < size {
		g.plain = make([]byte, size)
	}
	decode := parquet.LookupCompressionCodec(g.codec).Decode
	switch g.codec {
	case format.Zstd:
		decode = unzstd
	case format.Gzip:
		decode = gunzip
	}
	plain, err := decode(g.plain[:size], b)
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	if int64(len(plain)) != size {
		return nil, fmt.Errorf("page has %d bytes decompressed, its header announces %d", len(plain), size)
	}
	return plain, nil
}

// gunzip decompresses b into dst and fails if it is longer: the library goes on as long as there is more.
func gunzip(dst, b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	n, err := io.ReadFull(z, dst)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return dst[:n], nil
	}
	if err != nil {
		return nil, err
	}
	var more [1]byte
	if n, err := z.Read(more[:]); n > 0 || err != io.EOF {
		return nil, fmt.Errorf("more than %d bytes: %w", len(dst), err)
	}
	return dst, nil
}
