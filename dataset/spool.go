package dataset

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A spool is a file of records, one for each result, in the order they were finished:
//
//	uint32 length of the payload · uint32 CRC-32C of length and payload · payload
//
// all little-endian. The payload is
//
//	int64 query · int64 pulls · uint8 flags (1 exact, 2 scores, 4 ids, 8 partial, 16 guarantee, 32 delta and epsilon,
//	64 scores64, 128 query id)
//	[uint8 length, the name of the guarantee] · [float64 delta · float64 epsilon]
//	uint32 n, n x int64 rows · [uint32 n, n x float32 scores] · [uint32 n, n x float64 scores64]
//	[uint32 n, n x (uint32 length, bytes) ids] · [uint32 length, the query's id] · the certificate
//
// Errors that assembling wraps, besides those of reading.
var (
	// ErrTorn means that the spool ends inside a record, as after a crash.
	ErrTorn = errors.New("spool ends inside a record")
	// ErrCorrupt means that a record's bytes have changed.
	ErrCorrupt = errors.New("spool record is corrupt")
)

const (
	spoolExact = 1 << iota
	spoolScores
	spoolIDs
	spoolPartial
	spoolGuarantee
	spoolGranted
	spoolScores64
	spoolQueryID

	spoolHead      = 8
	maxSpoolRecord = 1 << 30
)

// AppendRecord appends r as a spool record.
func AppendRecord(dst []byte, r *Result) []byte {
	start := len(dst)
	le := binary.LittleEndian
	dst = append(dst, make([]byte, spoolHead)...)
	dst = le.AppendUint64(dst, uint64(r.Query))
	dst = le.AppendUint64(dst, uint64(r.Pulls))
	dst = append(dst, spoolFlags(r))
	if r.Guarantee != "" {
		dst = append(append(dst, byte(min(len(r.Guarantee), 255))), r.Guarantee[:min(len(r.Guarantee), 255)]...)
	}
	if r.Delta != 0 || r.Epsilon != 0 {
		dst = le.AppendUint64(dst, math.Float64bits(r.Delta))
		dst = le.AppendUint64(dst, math.Float64bits(r.Epsilon))
	}
	dst = le.AppendUint32(dst, uint32(len(r.Rows)))
	for _, id := range r.Rows {
		dst = le.AppendUint64(dst, uint64(id))
	}
	if r.Scores != nil {
		dst = le.AppendUint32(dst, uint32(len(r.Scores)))
		for _, s := range r.Scores {
			dst = le.AppendUint32(dst, math.Float32bits(s))
		}
	}
	if r.Scores64 != nil {
		dst = le.AppendUint32(dst, uint32(len(r.Scores64)))
		for _, s := range r.Scores64 {
			dst = le.AppendUint64(dst, math.Float64bits(s))
		}
	}
	if r.IDs != nil {
		dst = le.AppendUint32(dst, uint32(len(r.IDs)))
		for _, id := range r.IDs {
			dst = le.AppendUint32(dst, uint32(len(id)))
			dst = append(dst, id...)
		}
	}
	if r.QueryID != "" {
		dst = le.AppendUint32(dst, uint32(len(r.QueryID)))
		dst = append(dst, r.QueryID...)
	}
	dst = append(dst, r.Certificate...)
	record := dst[start:]
	le.PutUint32(record, uint32(len(record)-spoolHead))
	le.PutUint32(record[4:], spoolSum(record))
	return dst
}

func spoolFlags(r *Result) byte {
	flags := byte(0)
	if r.Exact {
		flags |= spoolExact
	}
	if r.Scores != nil {
		flags |= spoolScores
	}
	if r.IDs != nil {
		flags |= spoolIDs
	}
	if r.Partial {
		flags |= spoolPartial
	}
	if r.Guarantee != "" {
		flags |= spoolGuarantee
	}
	if r.Delta != 0 || r.Epsilon != 0 {
		flags |= spoolGranted
	}
	if r.Scores64 != nil {
		flags |= spoolScores64
	}
	if r.QueryID != "" {
		flags |= spoolQueryID
	}
	return flags
}

// spoolSum covers the length as well, so that a changed length is detected.
func spoolSum(record []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(record[:4], table), table, record[spoolHead:])
}

// EachRecord calls do with every record of a spool, from its start, and its index. The result is
// valid during the call. Errors of do are prefixed with the number of the query.
func EachRecord(spool io.ReadSeeker, do func(i int64, r *Result) error) error {
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	s := spoolReader{r: bufio.NewReaderSize(spool, streamBuffer)}
	var r Result
	for i := int64(0); ; i++ {
		if err := s.next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := checkResult(&r); err != nil {
			return s.fault(err)
		}
		if err := do(i, &r); err != nil {
			return fmt.Errorf("query %d: %w", r.Query, err)
		}
	}
}

// spoolReader reads records back, from the first on.
type spoolReader struct {
	r      io.Reader // buffered
	buf    []byte
	offset int64 // of the end of the last record read
	record int64
}

// next reads the next record into r and reuses its slices, except those of IDs; io.EOF if
// the spool ends between records. Errors name record and offset and wrap ErrTorn or
// ErrCorrupt.
func (s *spoolReader) next(r *Result) error {
	if cap(s.buf) < spoolHead {
		s.buf = make([]byte, 4<<10)
	}
	head := s.buf[:spoolHead]
	if _, err := io.ReadFull(s.r, head); err != nil {
		if err == io.EOF {
			return io.EOF
		}
		return s.fault(tornOr(err))
	}
	n := binary.LittleEndian.Uint32(head)
	if n > maxSpoolRecord {
		return s.fault(fmt.Errorf("%w: length %d exceeds the limit of %d", ErrCorrupt, n, maxSpoolRecord))
	}
	var kept [spoolHead]byte
	copy(kept[:], head)
	var err error
	if s.buf, err = s.body(kept, int64(n)); err != nil {
		return s.fault(tornOr(err))
	}
	record := s.buf[:spoolHead+int(n)]
	if spoolSum(record) != binary.LittleEndian.Uint32(record[4:]) {
		return s.fault(fmt.Errorf("%w: its checksum does not match", ErrCorrupt))
	}
	if !decodeRecord(record[spoolHead:], r) {
		return s.fault(fmt.Errorf("%w: its parts do not fit its length", ErrCorrupt))
	}
	s.record++
	s.offset += int64(len(record))
	return nil
}

// body returns head and n bytes of payload in one slice.
func (s *spoolReader) body(head [spoolHead]byte, n int64) ([]byte, error) {
	r := io.MultiReader(bytes.NewReader(head[:]), s.r)
	return readGrowing(r, s.buf[:cap(s.buf)], spoolHead+n)
}

func (s *spoolReader) fault(err error) error {
	return fmt.Errorf("spool record %d (0-based) at byte %d: %w", s.record, s.offset, err)
}

func tornOr(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrTorn
	}
	return err
}

// decodeRecord fills r from a payload; ok is false if the parts do not fit.
func decodeRecord(b []byte, r *Result) bool {
	le := binary.LittleEndian
	if len(b) < 8+8+1 {
		return false
	}
	r.Query, r.Pulls = int64(le.Uint64(b)), int64(le.Uint64(b[8:]))
	flags := b[16]
	r.Exact, r.Partial, r.Guarantee = flags&spoolExact != 0, flags&spoolPartial != 0, ""
	b = b[17:]
	if flags&spoolGuarantee != 0 {
		if len(b) < 1 || len(b) < 1+int(b[0]) {
			return false
		}
		r.Guarantee, b = string(b[1:1+int(b[0])]), b[1+int(b[0]):]
	}
	r.Delta, r.Epsilon = 0, 0
	if flags&spoolGranted != 0 {
		if len(b) < 16 {
			return false
		}
		r.Delta, r.Epsilon = math.Float64frombits(le.Uint64(b)), math.Float64frombits(le.Uint64(b[8:]))
		b = b[16:]
	}
	n, b, ok := spoolCount(b, 8)
	if !ok {
		return false
	}
	r.Rows = sized(r.Rows, n)
	for i := range r.Rows {
		r.Rows[i] = int64(le.Uint64(b[8*i:]))
	}
	b = b[8*n:]
	if flags&spoolScores == 0 {
		r.Scores = nil
	} else {
		if n, b, ok = spoolCount(b, 4); !ok {
			return false
		}
		r.Scores = sized(r.Scores, n)
		for i := range r.Scores {
			r.Scores[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		}
		b = b[4*n:]
	}
	if flags&spoolScores64 == 0 {
		r.Scores64 = nil
	} else {
		if n, b, ok = spoolCount(b, 8); !ok {
			return false
		}
		r.Scores64 = sized(r.Scores64, n)
		for i := range r.Scores64 {
			r.Scores64[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
		b = b[8*n:]
	}
	r.IDs, r.QueryID = nil, ""
	if flags&spoolIDs != 0 {
		if r.IDs, b, ok = spoolStrings(b); !ok {
			return false
		}
	}
	if flags&spoolQueryID != 0 {
		if n, b, ok = spoolCount(b, 1); !ok {
			return false
		}
		r.QueryID, b = string(b[:n]), b[n:]
	}
	r.Certificate = nil
	if len(b) > 0 {
		r.Certificate = append([]byte(nil), b...)
	}
	return true
}

// spoolCount reads a number of items, each of at least size bytes.
func spoolCount(b []byte, size int) (n int, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	n, rest = int(binary.LittleEndian.Uint32(b)), b[4:]
	return n, rest, n <= len(rest)/size
}

func spoolStrings(b []byte) (names []string, rest []byte, ok bool) {
	n, b, ok := spoolCount(b, 4)
	if !ok {
		return nil, nil, false
	}
	rest = b
	for range n {
		var length int
		if length, rest, ok = spoolCount(rest, 1); !ok {
			return nil, nil, false
		}
		rest = rest[length:]
	}
	names = make([]string, n)
	all := string(b[:len(b)-len(rest)]) // one allocation for all
	for i := range names {
		end := 4 + int(binary.LittleEndian.Uint32(b))
		names[i], b, all = all[4:end], b[end:], all[end:]
	}
	return names, rest, true
}

// sized returns a non-nil slice of n elements, in old's memory if that is large enough.
func sized[T any](old []T, n int) []T {
	if old == nil || cap(old) < n {
		return make([]T, n)
	}
	return old[:n]
}
