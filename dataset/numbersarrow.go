package dataset

import (
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// numbersArrow reads columns of Arrow IPC, one record batch at a time.
type numbersArrow struct {
	*source
	messages *arrowMessages
	stream   *ipc.Reader
	at       []int // the columns
	batch    arrow.RecordBatch
	i        int64 // next row of batch
	next     int64
	list     []float64
	err      error
}

func openNumbersArrow(src *source, columns []string) (r NumberReader, err error) {
	defer recovered(src.name, &err)
	n := &numbersArrow{source: src}
	if n.messages, err = newArrowMessages(src); err != nil {
		return nil, err
	}
	if n.stream, err = ipc.NewReaderFromMessageReader(n.messages); err != nil {
		return nil, fail(src.name, "not readable as Arrow IPC: %w", cutShort(err))
	}
	schema := n.stream.Schema()
	var all []string
	for _, f := range schema.Fields() {
		all = append(all, f.Name)
	}
	for _, name := range columns {
		at := schema.FieldIndices(name)
		if len(at) == 0 {
			return nil, fail(src.name, "no column %q; the file has %s", name, listed(all))
		}
		if t := schema.Field(at[0]).Type; !arrow.IsInteger(t.ID()) && !arrow.IsFloating(t.ID()) {
			return nil, fail(src.name, "column %q is %s, not a column of numbers", name, t)
		}
		n.at = append(n.at, at[0])
	}
	return n, nil
}

func (n *numbersArrow) Next() (row []float64, err error) {
	defer func() { n.err = err }()
	defer recovered(n.name, &err)
	if n.err != nil {
		return nil, n.err
	}
	for n.batch == nil || n.i == n.batch.NumRows() {
		if !n.stream.Next() {
			return nil, n.finish()
		}
		n.batch, n.i = n.stream.RecordBatch(), 0
	}
	n.list = n.list[:0]
	for _, at := range n.at {
		v, err := arrowNumber(n.batch.Column(at), int(n.i))
		if err != nil {
			return nil, failAt(n.name, n.next, -1, "column %q: %w", n.batch.ColumnName(at), err)
		}
		n.list = append(n.list, v)
	}
	n.i++
	n.next++
	return n.list, nil
}

// finish returns io.EOF, or why the stream ended before its end.
func (n *numbersArrow) finish() error {
	err := n.stream.Err()
	if err == nil {
		err = n.messages.finish()
	}
	if err != nil {
		return failAt(n.name, n.next, -1, "%w", cutShort(err))
	}
	return io.EOF
}

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
