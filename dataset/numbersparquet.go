package dataset

import (
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// numbersParquet reads plain columns.
type numbersParquet struct {
	file    *parquetFile
	columns []*parquetColumn
	next    int64
	list    []float64
	err     error
}

func openNumbersParquet(src *source, columns []string) (r NumberReader, err error) {
	defer recovered(src.name, &err)
	p, err := openParquetFile(src)
	if err != nil {
		return nil, err
	}
	n := &numbersParquet{file: p}
	for _, name := range columns {
		leaf, err := p.plainLeaf(name)
		if err != nil {
			return nil, err
		}
		if !leaf.numeric() {
			return nil, fail(p.name, "column %q is %s, not a column of numbers", name, leaf.column.Type())
		}
		n.columns = append(n.columns, p.column(leaf))
	}
	return n, nil
}

// numeric reports whether the values are plain integers or floats, rather than decimals, times
// or texts stored as such.
func (l *parquetLeaf) numeric() bool {
	e := l.element
	switch e.Type.V {
	case format.Float, format.Double:
		return true
	case format.FixedLenByteArray:
		k, ok := l.kind()
		return ok && k == f16
	case format.Int32, format.Int64:
		if e.LogicalType.Value != nil {
			_, integer := e.LogicalType.Value.(*format.IntType)
			return integer
		}
		return !e.ConvertedType.Valid || e.ConvertedType.V >= deprecated.Uint8 && e.ConvertedType.V <= deprecated.Int64
	}
	return false
}

func (n *numbersParquet) Close() error {
	for _, c := range n.columns {
		c.close()
	}
	return n.file.Close()
}

func (n *numbersParquet) Next() (row []float64, err error) {
	defer func() { n.err = err }()
	defer recovered(n.file.name, &err)
	switch {
	case n.err != nil:
		return nil, n.err
	case n.next == n.file.file.NumRows():
		return nil, n.finish()
	}
	n.list = n.list[:0]
	for _, c := range n.columns {
		v, err := c.number()
		if err != nil {
			return nil, failAt(n.file.name, n.next, -1, "column %q: %w", c.leaf.path, cutShort(err))
		}
		n.list = append(n.list, v)
	}
	n.next++
	return n.list, nil
}

func (n *numbersParquet) finish() error {
	for _, c := range n.columns {
		if _, err := c.peek(); err != io.EOF {
			return failAt(n.file.name, n.next, -1, "column %q: rows go on after the %d that the footer announces", c.leaf.path, n.next)
		}
	}
	return io.EOF
}

// number returns the next value of a numeric column, NaN for null.
func (c *parquetColumn) number() (float64, error) {
	v, err := c.scalar()
	switch {
	case err != nil:
		return 0, err
	case v.IsNull():
		return math.NaN(), nil
	}
	switch v.Kind() {
	case parquet.Int32:
		if c.leaf.unsigned() {
			return float64(v.Uint32()), nil
		}
		return float64(v.Int32()), nil
	case parquet.Int64:
		if c.leaf.unsigned() {
			return wholeNumber(v.Uint64(), false)
		}
		return signedNumber(v.Int64())
	case parquet.Float:
		return finiteNumber(float64(v.Float()))
	case parquet.Double:
		return finiteNumber(v.Double())
	case parquet.FixedLenByteArray:
		x, err := f16.fromParquet(v)
		return float64(x), err
	}
	return 0, fmt.Errorf("a value of kind %s is no number", v.Kind())
}
