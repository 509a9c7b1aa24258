package dataset

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// arrowReader is columns of Arrow IPC, of which it holds one record batch.
type arrowReader struct {
	*source
	messages *arrowMessages
	stream   *ipc.Reader
	wants    []want
	at       []int // the columns wanted
	batch    arrow.RecordBatch
	i        int64 // next row of batch
	row      int64 // that next has read last
	begun    bool
}

func openArrowRows(src *source, _ string) (t tableReader, err error) {
	defer recovered(src.name, &err)
	a := &arrowReader{source: src}
	if a.messages, err = newArrowMessages(src); err != nil {
		return nil, err
	}
	if a.stream, err = ipc.NewReaderFromMessageReader(a.messages); err != nil {
		return nil, fail(src.name, "not readable as Arrow IPC: %w", cutShort(err))
	}
	return a, nil
}

func (t *arrowReader) Len() int64 { return -1 }

func (t *arrowReader) columns() (all []Column, err error) {
	for _, f := range t.stream.Schema().Fields() {
		_, list := f.Type.(arrow.ListLikeType)
		all = append(all, Column{Name: f.Name, Type: arrowType(f.Type), List: list})
	}
	return all, nil
}

// arrowType is the type by which a column is told from others; of what is none of the types it is JSON.
func arrowType(t arrow.DataType) Type {
	switch {
	case arrow.IsInteger(t.ID()):
		return Int64
	case arrow.IsFloating(t.ID()):
		return Float64
	case arrowIDType(t):
		return Text
	}
	return JSON
}

func (t *arrowReader) fact(string) (string, error) { return "", nil }

func (t *arrowReader) choose(wants []want) error {
	t.wants = wants
	schema := t.stream.Schema()
	for _, w := range wants {
		at := schema.FieldIndices(w.name)
		if len(at) == 0 {
			all, _ := t.columns() // of a schema there is no error
			return fail(t.name, "no column %q; the file has %s", w.name, listed(append(columnNames(all, false), columnNames(all, true)...)))
		}
		kind := schema.Field(at[0]).Type
		if w.as == asValue {
			if len(at) > 1 {
				return fail(t.name, "%d %w %q", len(at), errOneName, w.name)
			}
			if !isArrowValue(kind) {
				return fail(t.name, "column %q is %s; columns of integers, floats, texts, bools, times and lists of texts describe rows", w.name, kind)
			}
			t.at = append(t.at, at[0])
			continue
		}
		if arrowType(kind) != Int64 && arrowType(kind) != Float64 {
			return fail(t.name, "column %q is %s, not a column of numbers", w.name, kind)
		}
		t.at = append(t.at, at[0])
	}
	return nil
}

func (t *arrowReader) next(row []readCell) (err error) {
	defer recovered(t.name, &err)
	if t.begun {
		t.row++
	}
	t.begun = true
	for t.batch == nil || t.i == t.batch.NumRows() {
		if !t.stream.Next() {
			return t.finish()
		}
		t.batch, t.i = t.stream.RecordBatch(), 0
	}
	for i, at := range t.at {
		if t.wants[i].as == asValue {
			err = row[i].readArrow(t.batch.Column(at), int(t.i))
		} else {
			row[i].float, err = arrowNumber(t.batch.Column(at), int(t.i))
		}
		if err != nil {
			return &cellError{i, err}
		}
	}
	t.i++
	return nil
}

// finish returns io.EOF, or why the stream ended before its end.
func (t *arrowReader) finish() error {
	err := t.stream.Err()
	if err == nil {
		err = t.messages.finish()
	}
	if err != nil {
		return failAt(t.name, t.row, -1, "%w", cutShort(err))
	}
	return io.EOF
}

func (t *arrowReader) locate(_ int, err error) error { return inRow(t.name, t.row, err) }

// arrowNumber returns element i of a numeric column, NaN for null.
func arrowNumber(column arrow.Array, i int) (float64, error) {
	if column.IsNull(i) {
		return math.NaN(), nil
	}
	switch c := column.(type) {
	case *array.Int8:
		return float64(c.Value(i)), nil
	case *array.Int16:
		return float64(c.Value(i)), nil
	case *array.Int32:
		return float64(c.Value(i)), nil
	case *array.Int64:
		return signedNumber(c.Value(i))
	case *array.Uint8:
		return float64(c.Value(i)), nil
	case *array.Uint16:
		return float64(c.Value(i)), nil
	case *array.Uint32:
		return float64(c.Value(i)), nil
	case *array.Uint64:
		return wholeNumber(c.Value(i), false)
	case *array.Float16:
		return finiteNumber(float64(c.Value(i).Float32()))
	case *array.Float32:
		return finiteNumber(float64(c.Value(i)))
	case *array.Float64:
		return finiteNumber(c.Value(i))
	}
	return 0, fmt.Errorf("a value of type %s is no number", column.DataType())
}
