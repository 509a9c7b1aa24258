package folder

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"thresher/dataset"
)

// A log is a header and frames, each of which was written and flushed as one, so that none begins before the one before it is
// durable. Numbers are little endian.
//
//	header    8 magic "THRSHLOG" | 4 version | 4 dimensions | 8 number of the first write | 4 type of rows, a dataset.Elem |
//	          4 CRC-32C
//	frame     4 magic "frme" | 4 bytes of the payload | 8 number of its first write | 4 writes | 4 CRC-32C of the payload |
//	          4 zero | 4 CRC-32C of the 28 bytes before | payload, a multiple of 8 bytes
//	write     1 kind | 1 whether ids are texts | 1 whether columns follow | 1 zero | 4 ids | ids: 8 bytes each, or 4 bytes of length and the text |
//	          zeros to a multiple of 8 | of kind 3: 8 values that rounding changed, 8 largest change, float64 |
//	          rows of an upsert | zeros to a multiple of 8 | columns, packed (columns.Pack) | zeros to a multiple of 8 |
//	          of a kind with 16 added, the idempotency key: 4 bytes of its name | 4 of its fingerprint | 4 of its answer | 4 zero |
//	          8 nanoseconds since 1970 | the three | zeros to a multiple of 8
const (
	logMagic, frameMagic   = "THRSHLOG", "frme"
	logVersion             = 1
	logHeader, frameHeader = 32, 32
	// maxFrame is the most bytes of a payload that a reader allocates memory for.
	maxFrame = 1 << 31
	// MaxChangeBytes is the most bytes that the ids and rows of one Change take.
	MaxChangeBytes = 1 << 30
	// groupBytes is how much several writes that are flushed together are.
	groupBytes = 1 << 26
)

// encodeLogHeader returns the header of a log.
func encodeLogHeader(dim int, elem dataset.Elem, first uint64) []byte {
	b := append(make([]byte, 0, logHeader), logMagic...)
	b = binary.LittleEndian.AppendUint32(b, logVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(dim))
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint32(b, uint32(elem))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// beginFrame returns b with room for a frame's header.
func beginFrame(b []byte) []byte { return append(b[:0], make([]byte, frameHeader)...) }

// endFrame fills in the header of the frame b.
func endFrame(b []byte, first uint64, writes int) {
	payload := b[frameHeader:]
	copy(b, frameMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint64(b[8:], first)
	binary.LittleEndian.PutUint32(b[16:], uint32(writes))
	binary.LittleEndian.PutUint32(b[20:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
}

// frame is a frame's header.
type frame struct {
	bytes  int64 // of the payload
	first  uint64
	writes int
	crc    uint32
}

// decodeFrame returns the header that b begins with; ok is false if that is none.
func decodeFrame(b []byte) (f frame, ok bool) {
	if string(b[:4]) != frameMagic || crc32.Checksum(b[:28], castagnoli) != binary.LittleEndian.Uint32(b[28:]) {
		return f, false
	}
	f.bytes, f.first = int64(binary.LittleEndian.Uint32(b[4:])), binary.LittleEndian.Uint64(b[8:])
	f.writes, f.crc = int(binary.LittleEndian.Uint32(b[16:])), binary.LittleEndian.Uint32(b[20:])
	return f, f.bytes%8 == 0 && f.bytes <= maxFrame
}

func padded(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }

// replay is what reading a log found.
type replay struct {
	end       int64  // where its whole frames end
	lastFrame int64  // where the last of them begins; end if there is none
	bytes     int64  // of the file
	next      uint64 // number of the write after its last
}

// readLog passes the writes of the log at path to apply, in order. form is that of the folder, and first the number of its
// first write. The last log may end with a frame that is not whole, which replay's end leaves out; whatever else is wrong is a
// *DamageError.
func readLog(path string, form rowForm, first uint64, last bool, apply func(*Change) error) (replay, error) {
	f, err := os.Open(path)
	if err != nil {
		return replay{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return replay{}, err
	}
	// Read no further than this: a writer that appends meanwhile has written all bytes below it.
	r := &logReader{path: path, form: form, size: info.Size(), in: bufio.NewReaderSize(io.NewSectionReader(f, 0, info.Size()), 1<<20)}
	if err := r.header(first); err != nil {
		return replay{}, err
	}
	done := replay{end: logHeader, lastFrame: logHeader, bytes: r.size, next: first}
	for done.end < r.size {
		h, payload, err := r.frame(done.next)
		if err == nil {
			if err = r.changes(done.end, h, payload, apply); err != nil {
				return done, err
			}
			done.lastFrame = done.end
			done.end += frameHeader + h.bytes
			done.next += uint64(h.writes)
			continue
		}
		if !errors.Is(err, errTorn) {
			return done, err
		}
		follows, found, scanErr := findFrame(f, done.end+8, r.size, done.next)
		switch {
		case scanErr != nil:
			return done, scanErr
		case found:
			return done, &DamageError{File: path, Offset: done.end, Err: fmt.Errorf("%w, but whole ones follow at byte %d", err, follows)}
		case !last:
			return done, &DamageError{File: path, Offset: done.end, Err: fmt.Errorf("%w, but another log follows", err)}
		}
		break
	}
	return done, nil
}

// logReader reads a log from its beginning.
type logReader struct {
	path string
	form rowForm
	size int64
	in   *bufio.Reader
	at   int64
	head [frameHeader]byte
	buf  []byte
}

// errTorn: a frame is not whole.
var errTorn = errors.New("a frame is not whole")

func (r *logReader) damage(at int64, format string, a ...any) error {
	return &DamageError{File: r.path, Offset: at, Err: fmt.Errorf(format, a...)}
}

// header reads and checks the log's header.
func (r *logReader) header(first uint64) error {
	b := make([]byte, logHeader)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return r.damage(0, "its header: %w", err)
	}
	r.at = logHeader
	switch {
	case string(b[:8]) != logMagic:
		return r.damage(0, "it begins %q, not %q", b[:8], logMagic)
	case crc32.Checksum(b[:28], castagnoli) != binary.LittleEndian.Uint32(b[28:]):
		return r.damage(0, "the header's checksum differs")
	case binary.LittleEndian.Uint32(b[8:]) != logVersion:
		return r.damage(8, "version %d, this program reads %d", binary.LittleEndian.Uint32(b[8:]), logVersion)
	case int(binary.LittleEndian.Uint32(b[12:])) != r.form.dim:
		return r.damage(12, "vectors of %d dimensions, the folder's have %d", binary.LittleEndian.Uint32(b[12:]), r.form.dim)
	case binary.LittleEndian.Uint32(b[24:]) != uint32(r.form.elem):
		return r.damage(24, "vectors of type %d, the folder's are %d, %v", binary.LittleEndian.Uint32(b[24:]), r.form.elem, r.form.elem)
	case binary.LittleEndian.Uint64(b[16:]) != first:
		return r.damage(16, "its first write is number %d, not %d: a log is missing", binary.LittleEndian.Uint64(b[16:]), first)
	}
	return nil
}

// frame reads the next frame. The payload is valid until the next call.
func (r *logReader) frame(next uint64) (frame, []byte, error) {
	left := r.size - r.at
	if left < frameHeader {
		return frame{}, nil, errTorn
	}
	if _, err := io.ReadFull(r.in, r.head[:]); err != nil {
		return frame{}, nil, err
	}
	h, ok := decodeFrame(r.head[:])
	if !ok || h.bytes > left-frameHeader {
		return h, nil, errTorn
	}
	if h.first != next {
		return h, nil, r.damage(r.at, "write number %d where %d follows", h.first, next)
	}
	if int64(cap(r.buf)) < h.bytes {
		r.buf = make([]byte, h.bytes)
	}
	payload := r.buf[:h.bytes]
	if _, err := io.ReadFull(r.in, payload); err != nil {
		return h, nil, err
	}
	if crc32.Checksum(payload, castagnoli) != h.crc {
		return h, nil, errTorn
	}
	r.at += frameHeader + h.bytes
	return h, payload, nil
}

// changes applies the writes of a frame at offset at.
func (r *logReader) changes(at int64, h frame, payload []byte, apply func(*Change) error) error {
	for i := range h.writes {
		c, rest, err := r.form.decodeChange(payload)
		if err == nil {
			err = apply(c)
		}
		if err != nil {
			return r.damage(at, "write %d of its frame: %w", i+1, err)
		}
		payload = rest
	}
	if len(payload) > 0 {
		return r.damage(at, "%d bytes after the writes of its frame", len(payload))
	}
	return nil
}

// findFrame looks for a whole frame of a later write in bytes from to size of a file.
func findFrame(f *os.File, from, size int64, next uint64) (at int64, found bool, err error) {
	const chunk = 1 << 20
	buf := make([]byte, chunk+frameHeader)
	for at := from; at+frameHeader <= size; at += chunk {
		b := buf[:min(int64(len(buf)), size-at)]
		if _, err := f.ReadAt(b, at); err != nil {
			return 0, false, err
		}
		for i := 0; i < chunk && i+frameHeader <= len(b); i += 8 {
			h, ok := decodeFrame(b[i:])
			if !ok || h.first < next || h.bytes > size-at-int64(i)-frameHeader {
				continue
			}
			crc := crc32.New(castagnoli)
			if _, err := io.Copy(crc, io.NewSectionReader(f, at+int64(i)+frameHeader, h.bytes)); err != nil {
				return 0, false, err
			}
			if crc.Sum32() == h.crc {
				return at + int64(i), true, nil
			}
		}
	}
	return 0, false, nil
}
