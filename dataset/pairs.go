package dataset

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// Pair is a row of one table, a row of the same or another table, and their score.
type Pair struct {
	A, B  int64 // 0-based
	Score float32
}

// EachPair calls do with every pair and returns its first error. Whenever it is called, it calls
// do with the same pairs in the same order. The pair is valid during the call.
type EachPair func(do func(p *Pair) error) error

// PairTable describes the pairs of a file.
type PairTable struct {
	// RowsA and RowsB are the numbers of rows of the two tables.
	RowsA, RowsB int64
	// NamesA and NamesB are the ids of the rows; if not nil they are written beside the row
	// numbers.
	NamesA, NamesB []string
	// Count is the number of pairs.
	Count int64
}

// WritePairs writes pairs as a table with a row for each:
//
//	Parquet  a int64, b int64, score float; a_id and b_id string where there are names
//	CSV      the same columns, with a header
//	JSONL    {"a":0,"b":7,"score":0.93}, with a_id and b_id where there are names
//	NPZ      the sparse matrix [RowsA, RowsB] of scores that scipy.sparse.save_npz writes in
//	         the format coo: row, col, format, shape and data; without names
//
// It holds at most 1,048,576 pairs in memory.
func WritePairs(out io.Writer, format Format, each EachPair, t *PairTable) error {
	switch format {
	case Parquet:
		return writePairsParquet(out, each, t)
	case NPZ:
		return writePairsNPZ(out, each, t)
	case CSV:
		return t.writeCSV(out, each)
	case JSONL:
		return writeLines(out, func(add func(line []byte) error) error {
			var line []byte
			return each(func(p *Pair) error {
				line = t.appendJSONL(line[:0], p)
				return add(line)
			})
		})
	}
	return fmt.Errorf("pairs are not written as %s", format)
}

// writeLines writes the lines that each adds.
func writeLines(out io.Writer, each func(add func(line []byte) error) error) error {
	w := bufio.NewWriterSize(out, streamBuffer)
	err := each(func(line []byte) error {
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

func (t *PairTable) writeCSV(out io.Writer, each EachPair) error {
	w := csv.NewWriter(out)
	header := []string{"a", "b", "score"}
	if t.NamesA != nil {
		header = append(header, "a_id")
	}
	if t.NamesB != nil {
		header = append(header, "b_id")
	}
	if err := w.Write(header); err != nil {
		return err
	}
	var number []byte
	fields := make([]string, 0, len(header))
	err := each(func(p *Pair) error {
		number = appendFloat(number[:0], p.Score)
		fields = append(fields[:0], strconv.FormatInt(p.A, 10), strconv.FormatInt(p.B, 10), string(number))
		if t.NamesA != nil {
			fields = append(fields, t.NamesA[p.A])
		}
		if t.NamesB != nil {
			fields = append(fields, t.NamesB[p.B])
		}
		return w.Write(fields)
	})
	if err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

func (t *PairTable) appendJSONL(dst []byte, p *Pair) []byte {
	dst = append(dst, `{"a":`...)
	dst = strconv.AppendInt(dst, p.A, 10)
	dst = append(dst, `,"b":`...)
	dst = strconv.AppendInt(dst, p.B, 10)
	dst = append(dst, `,"score":`...)
	dst = appendFloat(dst, p.Score)
	if t.NamesA != nil {
		dst = appendString(append(dst, `,"a_id":`...), t.NamesA[p.A])
	}
	if t.NamesB != nil {
		dst = appendString(append(dst, `,"b_id":`...), t.NamesB[p.B])
	}
	return append(dst, '}', '\n')
}

// parquetPair is a row of a Parquet file of pairs.
type parquetPair struct {
	A     int64   `parquet:"a"`
	B     int64   `parquet:"b"`
	Score float32 `parquet:"score"`
}

// namedPair is parquetPair with the ids of the rows.
type namedPair struct {
	A     int64   `parquet:"a"`
	B     int64   `parquet:"b"`
	Score float32 `parquet:"score"`
	AID   string  `parquet:"a_id,optional"`
	BID   string  `parquet:"b_id,optional"`
}

func writePairsParquet(out io.Writer, each EachPair, t *PairTable) error {
	if t.NamesA == nil && t.NamesB == nil {
		w := newParquetTable[parquetPair](out)
		err := each(func(p *Pair) error { return w.add(parquetPair(*p)) })
		return w.close(err)
	}
	w := newParquetTable[namedPair](out)
	err := each(func(p *Pair) error {
		row := namedPair{A: p.A, B: p.B, Score: p.Score}
		if t.NamesA != nil {
			row.AID = t.NamesA[p.A]
		}
		if t.NamesB != nil {
			row.BID = t.NamesB[p.B]
		}
		return w.add(row)
	})
	return w.close(err)
}

// parquetTable writes rows of T to a Parquet file, in row groups of resultGroup rows.
type parquetTable[T any] struct {
	w     *parquet.GenericWriter[T]
	batch []T
	group int // rows in the current row group
}

func newParquetTable[T any](out io.Writer) *parquetTable[T] {
	return &parquetTable[T]{w: parquet.NewGenericWriter[T](out, parquet.Compression(&parquet.Snappy)), batch: make([]T, 0, 1024)}
}

// add appends a row.
func (t *parquetTable[T]) add(row T) error {
	if t.batch = append(t.batch, row); len(t.batch) < cap(t.batch) {
		return nil
	}
	if err := t.write(); err != nil || t.group < resultGroup {
		return err
	}
	t.group = 0
	return t.w.Flush()
}

func (t *parquetTable[T]) write() error {
	t.group += len(t.batch)
	_, err := t.w.Write(t.batch)
	t.batch = t.batch[:0]
	return err
}

// close ends the file unless err says that a row was not added, and returns the first error.
func (t *parquetTable[T]) close(err error) error {
	if err == nil {
		err = t.write()
	}
	if err != nil {
		return err
	}
	return t.w.Close()
}
