package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The Arrow library does not check vector lengths in metadata. These checks walk the same
// flatbuffers before it does. Field numbers are those of Message.fbs and Schema.fbs in the
// Arrow format.

const (
	arrowSchema     = 1 // MessageHeader
	arrowDictionary = 2
	arrowRecords    = 3

	maxArrowDepth = 32
)

// arrowExpansion is the greatest number of bytes that one byte of a codec stands for, by codec: LZ4, whose lengths
// grow by 255 with each byte, and zstd.
var arrowExpansion = [...]int64{255, 1 << 15}

// arrowInfo holds the figures of a message that the checks need.
type arrowInfo struct {
	kind    int   // MessageHeader
	id      int64 // of a dictionary
	delta   bool  // a dictionary that adds to the one before
	body    int64 // bytes
	rows    int64 // of a record batch
	codec   int   // -1 none, 0 LZ4 frame, 1 zstd
	buffers [][2]int64
}

// checkArrowMetadata verifies the counts in a message, and compares those of columns with the budget.
func checkArrowMetadata(meta []byte, b *Budget) (*arrowInfo, error) {
	w := &flatWalk{b: meta}
	msg := w.root()
	info := &arrowInfo{codec: -1, body: w.int64(msg, 3), kind: w.byte(msg, 1)}
	header, _ := w.table(msg, 2)
	w.keyValues(msg, 4)
	switch info.kind {
	case arrowSchema:
		w.fields(header, 1, 0)
		w.keyValues(header, 2)
		if w.err == nil {
			w.err = b.checkColumns(int64(w.fieldN))
		}
	case arrowDictionary:
		info.id, info.delta = w.int64(header, 0), w.byte(header, 2) != 0
		data, _ := w.table(header, 1)
		w.records(data, info)
	case arrowRecords:
		info.rows = w.int64(header, 0)
		w.records(header, info)
	default:
		return nil, errors.New("message is neither schema, dictionary nor record batch")
	}
	if w.err == nil && (info.body < 0 || info.rows < 0) {
		w.err = fmt.Errorf("body of %d bytes, %d rows", info.body, info.rows)
	}
	return info, w.err
}

// checkBody checks that buffers are within the body, and limits their decompressed size to left bytes. It returns
// what decoding allocates.
func (m *arrowInfo) checkBody(body []byte, b *Budget, left int64) (total int64, err error) {
	for _, buffer := range m.buffers {
		offset, length := buffer[0], buffer[1]
		if offset < 0 || length < 0 || offset > int64(len(body)) || length > int64(len(body))-offset {
			return 0, fmt.Errorf("buffer of %d bytes at %d in a body of %d", length, offset, len(body))
		}
		if m.codec < 0 || length == 0 {
			continue
		}
		if length < 8 {
			return 0, errors.New("compressed buffer has no length")
		}
		data := body[offset : offset+length]
		size := int64(binary.LittleEndian.Uint64(data))
		if size == -1 {
			continue // not compressed
		}
		if size < 0 || size > arrowExpansion[m.codec]*length+expansionFloor {
			return 0, fmt.Errorf("compressed buffer of %d bytes claims %d", length, size)
		}
		if size > left-total {
			return 0, b.exceeds(b.Block, "compressed buffers of %d bytes claim more than the limit of %d bytes", len(body), b.Block)
		}
		total += size
		if m.codec == 1 {
			if err := checkZstdWindows(data[8:], uint64(size)); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// flatWalk reads flatbuffers and checks every access; the first error is kept.
type flatWalk struct {
	b      []byte
	fieldN int // number of fields and metadata entries read
	text   int // bytes of their strings
	err    error
}

func (w *flatWalk) fault(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("flatbuffer: "+format, args...)
	}
}

func (w *flatWalk) u32(at int) int {
	if at < 0 || at > len(w.b)-4 {
		w.fault("offset %d of %d", at, len(w.b))
		return 0
	}
	return int(binary.LittleEndian.Uint32(w.b[at:]))
}

func (w *flatWalk) u16(at int) int {
	if at < 0 || at > len(w.b)-2 {
		w.fault("offset %d of %d", at, len(w.b))
		return 0
	}
	return int(binary.LittleEndian.Uint16(w.b[at:]))
}

func (w *flatWalk) root() int { return w.u32(0) }

// slot is the position of field i of the table; 0 if it is absent.
func (w *flatWalk) slot(table, i int) int {
	if w.err != nil || table == 0 {
		return 0
	}
	v := table - int(int32(w.u32(table)))
	// The library makes the same comparison: if the size is odd and includes only the
	// slot's first byte, the slot counts as present.
	if 4+2*i >= w.u16(v) {
		return 0
	}
	o := w.u16(v + 4 + 2*i)
	if o == 0 || w.err != nil {
		return 0
	}
	return table + o
}

func (w *flatWalk) byte(table, i int) int {
	at := w.slot(table, i)
	if at == 0 {
		return 0
	}
	if at >= len(w.b) {
		w.fault("offset %d of %d", at, len(w.b))
		return 0
	}
	return int(w.b[at])
}

func (w *flatWalk) int64(table, i int) int64 {
	at := w.slot(table, i)
	if at == 0 {
		return 0
	}
	return w.i64(at)
}

func (w *flatWalk) i64(at int) int64 {
	if at < 0 || at > len(w.b)-8 {
		w.fault("offset %d of %d", at, len(w.b))
		return 0
	}
	return int64(binary.LittleEndian.Uint64(w.b[at:]))
}

func (w *flatWalk) table(table, i int) (int, bool) {
	at := w.slot(table, i)
	if at == 0 {
		return 0, false
	}
	return at + w.u32(at), true
}

// vector returns the position and the number of the elements of field i.
func (w *flatWalk) vector(table, i, size int) (at, n int) {
	v, ok := w.table(table, i)
	if !ok || w.err != nil {
		return 0, 0
	}
	n = w.u32(v)
	if w.err == nil && n > (len(w.b)-v-4)/size {
		w.fault("vector of %d elements in %d bytes", n, len(w.b))
	}
	if w.err != nil {
		return 0, 0
	}
	return v + 4, n
}

// count limits shared tables: the library copies a table for each reference to it.
func (w *flatWalk) count(n, text int) {
	if w.fieldN, w.text = w.fieldN+n, w.text+text; w.fieldN > len(w.b)/4 || w.text > len(w.b) {
		w.fault("%d fields with %d bytes of text in %d bytes", w.fieldN, w.text, len(w.b))
	}
}

func (w *flatWalk) keyValues(table, i int) {
	at, n := w.vector(table, i, 4)
	for k := 0; k < n && w.err == nil; k++ {
		kv := at + 4*k
		kv += w.u32(kv)
		_, key := w.vector(kv, 0, 1)
		_, value := w.vector(kv, 1, 1)
		w.count(1, key+value)
	}
}

// fields walks Schema.fields and Field.children.
func (w *flatWalk) fields(table, i, depth int) {
	if depth > maxArrowDepth {
		w.fault("types nested deeper than %d", maxArrowDepth)
	}
	at, n := w.vector(table, i, 4)
	for k := 0; k < n && w.err == nil; k++ {
		f := at + 4*k
		f += w.u32(f)
		_, name := w.vector(f, 0, 1)
		w.count(1, name)
		w.keyValues(f, 6)
		w.fields(f, 5, depth+1)
	}
}

// records walks a RecordBatch.
func (w *flatWalk) records(table int, info *arrowInfo) {
	w.vector(table, 1, 16)
	at, n := w.vector(table, 2, 16)
	for k := range n {
		info.buffers = append(info.buffers, [2]int64{w.i64(at + 16*k), w.i64(at + 16*k + 8)})
	}
	if c, ok := w.table(table, 3); ok {
		info.codec = w.byte(c, 0)
		if info.codec != 0 && info.codec != 1 {
			w.fault("compression %d is not known", info.codec)
		}
	}
	at, v := w.vector(table, 4, 8)
	for k := range v {
		if c := w.i64(at + 8*k); c < 0 || c > int64(n) {
			w.fault("%d variadic buffers of %d", c, n)
		}
	}
}
