package dataset

import (
	"encoding/binary"
	"io"
)

// idxKinds are the types of elements of IDX, by the third byte of a file.
var idxKinds = map[byte]kind{0x08: u8, 0x09: i8, 0x0b: i16, 0x0c: i32, 0x0d: f32, 0x0e: f64}

// isIDX recognises two zeros, a type of elements, and one to four dimensions.
func isIDX(head []byte) bool {
	if len(head) < 8 || head[0] != 0 || head[1] != 0 || head[3] < 1 || head[3] > 4 {
		return false
	}
	_, known := idxKinds[head[2]]
	return known
}

// openIDX reads the format of MNIST (http://yann.lecun.com/exdb/mnist/): two zeros, the type of elements, the number of
// dimensions, each of them as a uint32, then the elements, all big-endian. The first dimension are the rows; the others
// make a row.
func openIDX(src *source, opt Options) (Reader, error) {
	var head [4]byte
	if _, err := io.ReadFull(src.r, head[:]); err != nil {
		return nil, fail(src.name, "header: %w", cutShort(err))
	}
	k, known := idxKinds[head[2]]
	if head[0] != 0 || head[1] != 0 || !known {
		return nil, fail(src.name, "header % x is none of IDX: two zeros and a type of elements are wanted", head[:3])
	}
	if head[3] < 2 {
		return nil, fail(src.name, "an array of %d dimensions, such as MNIST's labels; vectors are rows of a second one", head[3])
	}
	shape := make([]byte, 4*int(head[3]))
	if _, err := io.ReadFull(src.r, shape); err != nil {
		return nil, fail(src.name, "header: %w", cutShort(err))
	}
	d := &dense{name: src.name, r: src.r, shut: src, kind: k, big: k.size() > 1, backed: src.size >= 0}
	d.rows = int64(binary.BigEndian.Uint32(shape))
	dim := int64(1)
	for at := 4; at < len(shape); at += 4 {
		var ok bool
		if dim, ok = product(dim, int64(binary.BigEndian.Uint32(shape[at:]))); !ok {
			return nil, fail(src.name, "its dimensions do not fit an address space")
		}
	}
	if err := src.budget.checkShape(src.name, d.rows, dim); err != nil {
		return nil, err
	}
	d.dim = int(dim)
	have := int64(-1)
	if src.size >= 0 {
		have = src.size - int64(len(head)+len(shape))
	}
	if err := checkSize(src.name, d.rows, dim, k.size(), have); err != nil {
		return nil, err
	}
	return newDense(d, opt)
}
