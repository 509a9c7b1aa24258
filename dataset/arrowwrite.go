package dataset

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowTogether is how many rows a record batch has at most.
const arrowTogether = 1 << 16

// arrowTexts is how many bytes of texts end a record batch, whose offsets have 31 bits.
const arrowTexts = 1 << 28

// arrowTypes are the types of values.
var arrowTypes = map[Type]arrow.DataType{
	Int64: arrow.PrimitiveTypes.Int64, Uint64: arrow.PrimitiveTypes.Uint64, Int32: arrow.PrimitiveTypes.Int32, Float32: arrow.PrimitiveTypes.Float32,
	Float64: arrow.PrimitiveTypes.Float64, Bool: arrow.FixedWidthTypes.Boolean, Text: arrow.BinaryTypes.String, Time: arrow.FixedWidthTypes.Timestamp_us,
}

// writeArrowFile writes columns of values, and lists of texts, as a file of Arrow IPC, whose metadata are the facts.
func writeArrowFile(out io.Writer, t *table) error {
	schema := schemaOf(t)
	w, err := ipc.NewFileWriter(out, ipc.WithSchema(schema))
	if err != nil {
		return err
	}
	if err := writeArrowRows(w.Write, t, schema); err != nil {
		return err
	}
	return w.Close()
}

// writeArrowStream is writeArrowFile as a stream.
func writeArrowStream(out io.Writer, t *table) error {
	schema := schemaOf(t)
	w := ipc.NewWriter(out, ipc.WithSchema(schema))
	if err := writeArrowRows(w.Write, t, schema); err != nil {
		return err
	}
	return w.Close()
}

// schemaOf returns the schema of a table.
func schemaOf(t *table) *arrow.Schema {
	fields := make([]arrow.Field, len(t.columns))
	for i, c := range t.columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowTypes[c.Type], Nullable: c.Optional}
		if c.List {
			fields[i].Type = arrow.ListOf(fields[i].Type)
		}
	}
	var names, texts []string
	for _, f := range t.facts {
		names, texts = append(names, f.name), append(texts, f.text)
	}
	metadata := arrow.NewMetadata(names, texts)
	return arrow.NewSchema(fields, &metadata)
}

// writeArrowRows passes the rows on to write, in record batches.
func writeArrowRows(write func(arrow.RecordBatch) error, t *table, schema *arrow.Schema) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	rows, size := 0, 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		rows, size = 0, 0
		record := b.NewRecordBatch()
		defer record.Release()
		return write(record)
	}
	err := t.each(func(row []tableCell) error {
		for i := range row {
			if err := appendArrow(b.Field(i), &t.columns[i], &row[i]); err != nil {
				return fmt.Errorf("column %q: %w", t.columns[i].Name, err)
			}
			size += len(row[i].text)
			for _, text := range row[i].texts {
				size += len(text)
			}
		}
		if rows++; rows < arrowTogether && size < arrowTexts {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// appendArrow appends a cell.
func appendArrow(to array.Builder, c *Column, of *tableCell) error {
	if of.isNull(c) && c.Optional {
		to.AppendNull()
		return nil
	}
	if list, ok := to.(*array.ListBuilder); ok {
		list.Append(true)
		texts, ok := list.ValueBuilder().(*array.StringBuilder)
		if !ok {
			return fmt.Errorf("lists of %s are not written", c.Type)
		}
		for _, text := range of.texts {
			texts.Append(text)
		}
		return nil
	}
	switch b := to.(type) {
	case *array.Int64Builder:
		b.Append(of.integer)
	case *array.Uint64Builder:
		b.Append(uint64(of.integer))
	case *array.Int32Builder:
		b.Append(int32(of.integer))
	case *array.Float32Builder:
		b.Append(float32(of.float))
	case *array.Float64Builder:
		b.Append(of.float)
	case *array.BooleanBuilder:
		b.Append(of.integer != 0)
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(of.integer))
	case *array.StringBuilder:
		b.Append(of.text)
	default:
		return fmt.Errorf("%s is not written", c.Type)
	}
	return nil
}
