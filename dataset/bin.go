package dataset

import (
	"encoding/binary"
	"io"
)

// openBin reads the formats of the big-ann-benchmarks
// (https://big-ann-benchmarks.com): uint32 rows, uint32 columns, then the rows,
// little-endian; float32 in .fbin, float16 in .f16bin, int32 in .ibin, uint8 in
// .u8bin, int8 in .i8bin.
func openBin(src *source, format Format, opt Options) (Reader, error) {
	d := &dense{name: src.name, r: src.r, shut: src, kind: f32, backed: src.size >= 0}
	switch format {
	case IBin:
		d.kind = i32
	case U8Bin:
		d.kind = u8
	case I8Bin:
		d.kind = i8
	case F16Bin:
		d.kind = f16
	}
	var head [8]byte
	if _, err := io.ReadFull(src.r, head[:]); err != nil {
		return nil, fail(src.name, "header: %w", cutShort(err))
	}
	d.rows = int64(binary.LittleEndian.Uint32(head[:]))
	dim := int64(binary.LittleEndian.Uint32(head[4:]))
	if err := src.budget.checkShape(src.name, d.rows, dim); err != nil {
		return nil, err
	}
	d.dim = int(dim)
	have := int64(-1)
	if src.size >= 0 {
		have = src.size - int64(len(head))
	}
	if err := checkSize(src.name, d.rows, dim, d.kind.size(), have); err != nil {
		return nil, err
	}
	return newDense(d, opt)
}
