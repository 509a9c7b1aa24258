package dataset

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"
)

// Assembling reads a spool from its start, once for each part of the output, and holds one
// record in memory.

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

// checkResult rejects lists of different lengths.
func checkResult(r *Result) error {
	switch n := r.Found(); {
	case r.Scores != nil && len(r.Scores) != n:
		return fmt.Errorf("%d scores for %d ids", len(r.Scores), n)
	case r.Scores64 != nil && len(r.Scores64) != n:
		return fmt.Errorf("%d scores64 for %d ids", len(r.Scores64), n)
	case len(r.IDs) > 0 && len(r.Rows) > 0 && len(r.IDs) != len(r.Rows):
		return fmt.Errorf("%d ids for %d rows", len(r.IDs), len(r.Rows))
	}
	if !(r.Delta >= 0 && r.Delta < 1) || !(r.Epsilon >= 0) {
		return fmt.Errorf("delta %g or epsilon %g is out of range", r.Delta, r.Epsilon)
	}
	return checkGuarantee(r.Guarantee)
}

// inOrder rejects a result that is not that of query i, or has more than k ids.
func inOrder(i int64, r *Result, k int) error {
	if r.Query != i {
		return fmt.Errorf("record %d (0-based) should be query %d: the output has no query numbers", i, i)
	}
	if n := r.Found(); n > k {
		return fmt.Errorf("%d ids where the output has k = %d columns", n, k)
	}
	return nil
}

// AssembleIVecs writes an ivecs: for every query an int32 k and k int32 ids, padded with
// -1. Records must be in the order of their queries, from 0 without gaps; ids beyond
// int32 are an error.
func AssembleIVecs(spool io.ReadSeeker, k int, out io.Writer) error {
	if k < 1 || k > math.MaxInt32 {
		return fmt.Errorf("k = %d is not in 1..%d", k, math.MaxInt32)
	}
	w := bufio.NewWriterSize(out, streamBuffer)
	var row []byte
	err := EachRecord(spool, func(i int64, r *Result) error {
		if err := inOrder(i, r, k); err != nil {
			return err
		}
		row = binary.LittleEndian.AppendUint32(row[:0], uint32(k))
		for j := range k {
			id := int64(-1)
			if j < len(r.Rows) {
				id = r.Rows[j]
			}
			if err := fitInt32(id, IVecs); err != nil {
				return err
			}
			row = binary.LittleEndian.AppendUint32(row, uint32(id))
		}
		_, err := w.Write(row)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// AssembleScores writes the scores alone, padded with -Inf: as FVecs for every query an int32 k
// and k float32, as FBin uint32 m and k and then m x k float32. Records must be in the order of
// their queries, from 0 without gaps.
func AssembleScores(spool io.ReadSeeker, k int, format Format, out io.Writer) error {
	if k < 1 || k > math.MaxInt32 || format != FVecs && format != FBin {
		return fmt.Errorf("k = %d is not in 1..%d, or %q is neither %s nor %s", k, math.MaxInt32, string(format), FVecs, FBin)
	}
	le := binary.LittleEndian
	m := int64(0)
	err := EachRecord(spool, func(i int64, r *Result) error {
		m++
		if len(r.Rows) > 0 && r.Scores == nil {
			return errors.New("it has no scores")
		}
		return inOrder(i, r, k)
	})
	if err != nil {
		return err
	}
	if m > math.MaxUint32 {
		return fmt.Errorf("%d queries do not fit the header of %s", m, format)
	}
	w := bufio.NewWriterSize(out, streamBuffer)
	var row []byte
	if format == FBin {
		row = le.AppendUint32(le.AppendUint32(nil, uint32(m)), uint32(k))
	}
	err = EachRecord(spool, func(_ int64, r *Result) error {
		if format == FVecs {
			row = le.AppendUint32(row, uint32(k))
		}
		for _, s := range r.Scores {
			row = le.AppendUint32(row, math.Float32bits(s))
		}
		for range k - len(r.Scores) {
			row = le.AppendUint32(row, math.Float32bits(float32(math.Inf(-1))))
		}
		_, err := w.Write(row)
		row = row[:0]
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// npzBuffer is small, since answers of few queries are written too.
const npzBuffer = 32 << 10

// npzPart is one array of the result npz.
type npzPart struct {
	name, descr string
	wide        bool // k columns instead of one value
	append      func(dst []byte, r *Result, k int) []byte
}

// AssembleNPZ writes an uncompressed npz with answers_version, ids [m,k], rows int64 [m,k], scores float32
// [m,k], scores64 float64 [m,k], pulls int64 [m], exact bool [m], complete bool [m], guarantee, texts [m], delta
// and epsilon float64 [m], and query_ids [m] where queries have ids. ids and query_ids are int64 while all are whole
// numbers and fit, else uint64, with counts int64 [m] of the ids, else texts; without ids they are the rows, and
// id_kind is "row". Rows of fewer than k answers are padded with id -1, 2^64-1 or the empty text, row -1 and score
// -Inf. rows and scores64 are omitted if they are not known. Records must be in the order of their queries, from 0
// without gaps. Certificates are omitted.
func AssembleNPZ(spool io.ReadSeeker, k int, out io.Writer) error {
	return writeNPZ(func(do func(i int64, r *Result) error) error { return EachRecord(spool, do) }, k, out)
}

// WriteResultsNPZ writes results in memory as AssembleNPZ writes those of a spool.
func WriteResultsNPZ(results []Result, k int, out io.Writer) error {
	return writeNPZ(func(do func(i int64, r *Result) error) error {
		for i := range results {
			r := &results[i]
			if err := checkResult(r); err != nil {
				return fmt.Errorf("query %d: %w", r.Query, err)
			}
			if err := do(int64(i), r); err != nil {
				return fmt.Errorf("query %d: %w", r.Query, err)
			}
		}
		return nil
	}, k, out)
}

// EachResult calls do with every result and its index, and returns its first error. Whenever it is
// called, it passes on the same results. A result is valid during the call.
type EachResult func(do func(i int64, r *Result) error) error

func writeNPZ(each EachResult, k int, out io.Writer) error {
	if k < 1 {
		return fmt.Errorf("k = %d is below 1", k)
	}
	m := int64(0)
	var form answersForm
	err := each(func(i int64, r *Result) error {
		m++
		form.see(r)
		return inOrder(i, r, k)
	})
	if err != nil {
		return err
	}
	z := zip.NewWriter(out)
	if err := form.writeStated(z); err != nil {
		return err
	}
	for _, part := range form.parts() {
		if err := part.write(z, each, m, k); err != nil {
			return fmt.Errorf("array %s: %w", part.name, err)
		}
	}
	return z.Close()
}

func (p *npzPart) write(z *zip.Writer, each EachResult, m int64, k int) error {
	entry, err := z.CreateHeader(npzHeader(p.name))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(entry, npzBuffer)
	shape := []int64{m}
	if p.wide {
		shape = append(shape, int64(k))
	}
	if _, err := w.Write(appendNPYHeader(nil, p.descr, shape...)); err != nil {
		return err
	}
	var row []byte
	err = each(func(i int64, r *Result) error {
		if i >= m {
			return fmt.Errorf("record %d (0-based) was appended meanwhile", i)
		}
		row = p.append(row[:0], r, k)
		_, err := w.Write(row)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// npzHeader describes an array of an npz. A fixed time stamp, zip's epoch, makes equal arrays
// equal bytes.
func npzHeader(array string) *zip.FileHeader {
	return &zip.FileHeader{Name: array + ".npy", Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// writeStated writes the arrays of one element: the version, and whether ids are row numbers.
func (f *answersForm) writeStated(z *zip.Writer) error {
	text := appendNPYHeader(nil, "<i8")
	if err := writeArray(z, versionName, binary.LittleEndian.AppendUint64(text, AnswersVersion)); err != nil || f.ids.some {
		return err
	}
	return writeArray(z, idKindName, appendUCS4(appendNPYHeader(nil, "<U"+strconv.Itoa(len(rowKind))), rowKind, len(rowKind)))
}

// writeArray writes an array that is in memory.
func writeArray(z *zip.Writer, name string, content []byte) error {
	entry, err := z.CreateHeader(npzHeader(name))
	if err == nil {
		_, err = entry.Write(content)
	}
	if err != nil {
		return fmt.Errorf("array %s: %w", name, err)
	}
	return nil
}

// parts are the arrays of results of the form.
func (f *answersForm) parts() []npzPart {
	parts := []npzPart{rowsPart(idsName)}
	if f.ids.some {
		parts = []npzPart{f.ids.matrix(idsName)}
	}
	if f.ids.wide && !f.ids.texts {
		parts = append(parts, npzPart{countsName, "<i8", false, func(dst []byte, r *Result, _ int) []byte {
			return binary.LittleEndian.AppendUint64(dst, uint64(r.Found()))
		}})
	}
	if !f.rowsUnknown {
		parts = append(parts, rowsPart(rowsName))
	}
	if f.queryIDs.some {
		parts = append(parts, f.queryIDs.column(queryIDsName))
	}
	scores := scoreParts()
	if !f.exact {
		scores = scores[:1]
	}
	return append(append(parts, scores...), singleParts()...)
}

// rowsPart is an array of the row numbers.
func rowsPart(name string) npzPart {
	le := binary.LittleEndian
	return npzPart{name, "<i8", true, func(dst []byte, r *Result, k int) []byte {
		for _, row := range r.Rows {
			dst = le.AppendUint64(dst, uint64(row))
		}
		for range k - len(r.Rows) {
			dst = le.AppendUint64(dst, math.MaxUint64)
		}
		return dst
	}}
}

func scoreParts() []npzPart {
	le := binary.LittleEndian
	return []npzPart{
		{"scores", "<f4", true, func(dst []byte, r *Result, k int) []byte {
			for _, s := range r.Scores {
				dst = le.AppendUint32(dst, math.Float32bits(s))
			}
			for range k - len(r.Scores) {
				dst = le.AppendUint32(dst, math.Float32bits(float32(math.Inf(-1))))
			}
			return dst
		}},
		{scores64Name, "<f8", true, func(dst []byte, r *Result, k int) []byte {
			for _, s := range r.Scores64 {
				dst = le.AppendUint64(dst, math.Float64bits(s))
			}
			for range k - len(r.Scores64) {
				dst = le.AppendUint64(dst, math.Float64bits(math.Inf(-1)))
			}
			return dst
		}},
	}
}

// singleParts are the arrays of one element a query.
func singleParts() []npzPart {
	le := binary.LittleEndian
	return []npzPart{
		{"pulls", "<i8", false, func(dst []byte, r *Result, _ int) []byte {
			return le.AppendUint64(dst, uint64(r.Pulls))
		}},
		{"exact", "|b1", false, func(dst []byte, r *Result, _ int) []byte {
			return appendBool(dst, r.Exact)
		}},
		{"complete", "|b1", false, func(dst []byte, r *Result, _ int) []byte {
			return appendBool(dst, !r.Partial)
		}},
		{"guarantee", npzGuarantee, false, func(dst []byte, r *Result, _ int) []byte {
			return appendGuarantee(dst, r.Guarantee)
		}},
		{"delta", "<f8", false, func(dst []byte, r *Result, _ int) []byte {
			return le.AppendUint64(dst, math.Float64bits(r.Delta))
		}},
		{"epsilon", "<f8", false, func(dst []byte, r *Result, _ int) []byte {
			return le.AppendUint64(dst, math.Float64bits(r.Epsilon))
		}},
	}
}

func appendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}
