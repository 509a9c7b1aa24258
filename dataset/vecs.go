package dataset

import (
	"encoding/binary"
	"io"
)

// vecs reads the formats of the TEXMEX corpora
// (http://corpus-texmex.irisa.fr/): every row is an int32 d and d elements,
// float32 in .fvecs, uint8 in .bvecs, int32 in .ivecs, all little-endian.
type vecs struct {
	*source
	kind kind
	dim  int
	rows int64 // -1 for streams
	next int64
	buf  []byte // elements of one row
	err  error
}

func openVecs(src *source, format Format, opt Options) (Reader, error) {
	v, err := newVecs(src, format)
	if err != nil {
		return nil, err
	}
	return opt.narrow(v, src.name), nil
}

func newVecs(src *source, format Format) (*vecs, error) {
	v := &vecs{source: src, kind: f32, rows: -1}
	switch format {
	case BVecs:
		v.kind = u8
	case IVecs:
		v.kind = i32
	}
	head, err := src.r.Peek(4)
	if err != nil {
		return nil, failAt(src.name, 0, -1, "%w", cutShort(err))
	}
	dim := int64(int32(binary.LittleEndian.Uint32(head)))
	if err := src.budget.checkShape(src.name, 1, dim); err != nil {
		return nil, err
	}
	v.dim = int(dim)
	rowSize := 4 + dim*int64(v.kind.size())
	if src.size >= 0 {
		v.rows = src.size / rowSize
		if rest := src.size % rowSize; rest != 0 {
			col := max(0, rest-4) / int64(v.kind.size())
			return nil, failAt(src.name, v.rows, col, "the file does not end with a whole row of %d columns: %w", dim, cutShort(io.EOF))
		}
	}
	// The first row is read now, which proves that a row of this length exists.
	if v.buf, err = v.row(); err != nil {
		return nil, err
	}
	return v, nil
}

func (v *vecs) Dim() int        { return v.dim }
func (v *vecs) Len() int64      { return v.rows }
func (v *vecs) IDs() []string   { return nil }
func (v *vecs) justified() bool { return v.rows >= 0 }

// row reads the elements of the next row; io.EOF only before its first byte.
func (v *vecs) row() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(v.r, head[:]); err != nil {
		if err == io.EOF {
			return nil, io.EOF
		}
		return nil, failAt(v.name, v.next, -1, "%w", cutShort(err))
	}
	if d := int32(binary.LittleEndian.Uint32(head[:])); int(d) != v.dim {
		return nil, failAt(v.name, v.next, -1, "row has %d columns, the first has %d", d, v.dim)
	}
	b, err := readGrowing(v.r, v.buf, int64(v.dim)*int64(v.kind.size()))
	if err != nil {
		return nil, failAt(v.name, v.next, -1, "%w", cutShort(err))
	}
	return b, nil
}

func (v *vecs) element() kind                       { return v.kind }
func (v *vecs) isWide() bool                        { return v.kind.wide() }
func (v *vecs) isWhole() bool                       { return v.kind.whole() }
func (v *vecs) Read(dst []float32) (int, error)     { return readVecs(v, dst) }
func (v *vecs) readWide(dst []float64) (int, error) { return readVecs(v, dst) }

// readVecs is Read in either precision.
func readVecs[T precision](v *vecs, dst []T) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if len(dst) < v.dim {
		return 0, io.ErrShortBuffer
	}
	n := 0
	for ; n < len(dst)/v.dim; n++ {
		if v.next > 0 {
			v.buf, v.err = v.row()
		}
		if v.err == io.EOF && n > 0 {
			return n, nil
		}
		if v.err != nil {
			return n, v.err
		}
		if bad := decodeAs(v.kind, dst[n*v.dim:(n+1)*v.dim], v.buf); bad >= 0 {
			v.err = failAt(v.name, v.next, int64(bad), "%w", v.kind.refusal(v.buf[bad*v.kind.size():]))
			return n, v.err
		}
		v.next++
	}
	return n, nil
}
