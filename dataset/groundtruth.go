package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Ground truth in the forms of the big-ann-benchmarks (https://big-ann-benchmarks.com),
// little-endian:
//
//	scored  uint32 m, uint32 k, m x k int32 ids, m x k float32 scores
//	ids     uint32 m, uint32 k, m x k int32 ids
//	ranged  uint32 m, uint32 n, m int32 counts, n int32 ids, n float32 scores
//
// A row of fewer than k ids is padded with -1. The counts of a ranged file, the answers of a
// range search, add up to n. The header does not name the form: the size of the file does.
type truthForm int

const (
	truthScored truthForm = iota
	truthIDs
	truthRanged
	truthForms
)

const truthHead = 8

// idsOnlySuffix is the extension of files of ids alone, as cuVS names its own.
const idsOnlySuffix = ".neighbors.ibin"

// IsIDsOnly reports whether the name of a ground truth file says that it has no scores.
func IsIDsOnly(path string) bool { return strings.HasSuffix(strings.ToLower(path), idsOnlySuffix) }

// String describes the form for messages.
func (f truthForm) String() string {
	return [...]string{"ids and scores", "ids alone", "a range search"}[f]
}

// size returns the bytes of a file with the header m, n; ok is false if no file has it.
func (f truthForm) size(m, n int64) (bytes int64, ok bool) {
	switch f {
	case truthScored:
		bytes, ok = product(m, n, 8)
		ok = ok && n > 0
	case truthIDs:
		bytes, ok = product(m, n, 4)
		ok = ok && n > 0
	default:
		bytes, ok = 4*m+8*n, m <= math.MaxInt32 && n <= math.MaxInt32
	}
	return truthHead + bytes, ok && m > 0
}

// truthOf returns the forms that a file of this header and size can have.
func truthOf(head []byte, size int64) (m, n int64, forms []truthForm) {
	if len(head) < truthHead || size < truthHead {
		return 0, 0, nil
	}
	m, n = int64(binary.LittleEndian.Uint32(head)), int64(binary.LittleEndian.Uint32(head[4:]))
	for f := range truthForms {
		if want, ok := f.size(m, n); ok && want == size {
			forms = append(forms, f)
		}
	}
	return m, n, forms
}

// isTruth reports whether a file has the size that its header says.
func isTruth(head []byte, size int64) bool {
	_, _, forms := truthOf(head, size)
	return forms != nil
}

// truthResults reads ground truth, its blocks in parallel, a row at a time.
type truthResults struct {
	*source
	form                truthForm
	counts, ids, scores *bufio.Reader // counts of ranged only; scores not of truthIDs
	rows, width         int64         // width is k, or the ids of all rows if ranged
	next, read          int64         // rows and ids read
	buf                 []byte
	err                 error
}

func openTruth(src *source) (ResultReader, error) {
	if src.at == nil {
		return nil, fail(src.name, "%s needs a plain file: its size tells ids alone from ids and scores", IBin)
	}
	head, err := src.r.Peek(truthHead)
	if err != nil {
		return nil, fail(src.name, "header: %w", cutShort(err))
	}
	m, n, forms := truthOf(head, src.size)
	if len(forms) == 0 {
		return nil, truthMismatch(src.name, m, n, src.size)
	}
	t := &truthResults{source: src, rows: m, width: n, form: forms[0]}
	if len(forms) > 1 { // of at most 4 rows
		if t.form, err = t.decide(forms); err != nil {
			return nil, err
		}
	}
	offset, block := int64(truthHead), 4*n
	if t.form == truthRanged {
		t.counts = t.section(offset, 4*m)
		offset += 4 * m
	} else {
		block *= m
	}
	t.ids = t.section(offset, block)
	if t.form != truthIDs {
		t.scores = t.section(offset+block, block)
	}
	return t, nil
}

func (t *truthResults) section(offset, length int64) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(t.at, offset, length), int(min(length+1, 64<<10)))
}

// decide chooses between forms that agree in size, by the name or because a ranged file's counts
// add up to its ids.
func (t *truthResults) decide(forms []truthForm) (truthForm, error) {
	if IsIDsOnly(t.name) && slices.Contains(forms, truthIDs) {
		return truthIDs, nil
	}
	counts := t.section(truthHead, 4*t.rows)
	sum := int64(0)
	for range t.rows {
		n, err := t.count(counts)
		if err != nil {
			return 0, fail(t.name, "%w", cutShort(err))
		}
		if n < 0 {
			return forms[0], nil
		}
		sum += n
	}
	if sum != t.width {
		return forms[0], nil
	}
	return 0, fail(t.name, "a file of %d bytes with the header %d, %d may hold %v or %v; write the answers as .npz",
		t.size, t.rows, t.width, forms[0], forms[1])
}

func (t *truthResults) count(r io.Reader) (int64, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return int64(int32(binary.LittleEndian.Uint32(b[:]))), err
}

// truthMismatch returns the error for a size that no form has.
func truthMismatch(name string, m, k, size int64) error {
	ids, ok := truthIDs.size(m, k)
	switch scored, also := truthScored.size(m, k); {
	case m == 0:
		return fail(name, "%w: the header announces 0 queries", ErrNoRows)
	case k == 0:
		return fail(name, "the header announces k = 0 ids a query")
	case !ok || !also:
		return fail(name, "%d queries with k = %d do not fit an address space", m, k)
	case size < ids:
		at := (size - truthHead) / 4
		return failAt(name, at/k, at%k, "the header announces %d queries with k = %d, whose ids take %d bytes, and the file has %d: %w", m, k, ids, size, cutShort(io.EOF))
	case size < scored:
		at := (size - ids) / 4
		return failAt(name, at/k, at%k, "the header announces %d queries with k = %d: %d bytes of ids alone, %d with scores, and the file has %d: %w", m, k, ids, scored, size, cutShort(io.EOF))
	default:
		return fail(name, "%d bytes follow the ids and scores of the %d queries with k = %d that the header announces", size-scored, m, k)
	}
}

func (t *truthResults) Len() int64 { return t.rows }

func (t *truthResults) Next() (Result, error) {
	if t.err == nil && t.next == t.rows {
		t.err = io.EOF
		if t.form == truthRanged && t.read != t.width {
			t.err = fail(t.name, "the counts add up to %d, and the header announces %d ids", t.read, t.width)
		}
	}
	if t.err != nil {
		return Result{}, t.err
	}
	var r Result
	if r, t.err = t.row(); t.err != nil {
		return Result{}, t.err
	}
	t.next++
	return r, nil
}

func (t *truthResults) row() (Result, error) {
	r := Result{Query: t.next}
	n := t.width
	if t.form == truthRanged {
		var err error
		if n, err = t.count(t.counts); err != nil {
			return r, failAt(t.name, t.next, -1, "%w", cutShort(err))
		}
		if n < 0 || n > t.width-t.read {
			return r, failAt(t.name, t.next, -1, "count %d is outside [0, %d], the ids that are left", n, t.width-t.read)
		}
	}
	t.read += n
	var err error
	if r.Rows, err = t.rowIDs(n); err != nil {
		return r, err
	}
	if t.scores == nil {
		return r, nil
	}
	if t.buf, err = readGrowing(t.scores, t.buf, 4*n); err != nil {
		return r, failAt(t.name, t.next, -1, "scores: %w", cutShort(err))
	}
	r.Scores = make([]float32, len(r.Rows))
	for j := range r.Scores {
		r.Scores[j] = math.Float32frombits(binary.LittleEndian.Uint32(t.buf[4*j:]))
		if r.Scores[j] != r.Scores[j] {
			return r, failAt(t.name, t.next, int64(j), "score is NaN")
		}
	}
	return r, nil
}

// rowIDs reads n ids and removes the padding.
func (t *truthResults) rowIDs(n int64) (ids []int64, err error) {
	if t.buf, err = readGrowing(t.ids, t.buf, 4*n); err != nil {
		return nil, failAt(t.name, t.next, -1, "ids: %w", cutShort(err))
	}
	id := func(j int) int64 { return int64(int32(binary.LittleEndian.Uint32(t.buf[4*j:]))) }
	have := 0
	for have < int(n) && id(have) >= 0 {
		have++
	}
	if have < int(n) && t.form == truthRanged {
		return nil, failAt(t.name, t.next, int64(have), "id %d of a range search is negative", id(have))
	}
	if err := onlyPadding(id, have, int(n)); err != nil {
		return nil, failAt(t.name, t.next, int64(have), "%w", err)
	}
	ids = make([]int64, have)
	for j := range ids {
		ids[j] = id(j)
	}
	return ids, nil
}

// fitInt32 returns an error for an id that ground truth and ivecs cannot hold.
func fitInt32(id int64, format Format) error {
	if id == int64(int32(id)) {
		return nil
	}
	return fmt.Errorf("id %d does not fit the int32 of %s; write .npz, .parquet or .jsonl", id, format)
}
