package dataset

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

const (
	// parquetGroup bounds the rows of a row group, or the values of its longest lists, which the writer holds in memory.
	parquetGroup = 1 << 20
	// parquetPage is the size from which parquet-go ends a page, a little less than it is told.
	parquetPage = parquet.DefaultPageBufferSize * 98 / 100
	// parquetHeld is the number of values of a column that are handed on together.
	parquetHeld = 4096
	// parquetStep is the number of rows, where no column is a list, after which it may end a page.
	parquetStep = 64
)

// writeParquet writes the columns, none of which is JSON, compressed with snappy, and the facts as metadata.
func writeParquet(out io.Writer, t *table) error {
	options := []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquetSchema(t)}
	for _, f := range t.facts {
		options = append(options, parquet.KeyValueMetadata(f.name, f.text))
	}
	w := parquet.NewGenericWriter[any](out, options...)
	columns := make([]parquetOut, len(t.columns))
	lists := slices.ContainsFunc(t.columns, func(c Column) bool { return c.List })
	for i, to := range w.ColumnWriters() {
		columns[i] = parquetOut{Column: t.columns[i], index: i, to: to, step: parquetStep}
		if lists {
			columns[i].step = 1
		}
	}
	group := 0
	err := t.each(func(row []tableCell) error {
		longest, weight := 1, 1
		if lists {
			longest = longestList(columns, row)
			weight = longest + 1
		}
		if group > 0 && group+longest > parquetGroup {
			group = 0
			if err := flushParquet(w, columns); err != nil {
				return err
			}
		}
		group += weight
		for i := range columns {
			if err := columns[i].add(&row[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := flushParquet(w, columns); err != nil {
		return err
	}
	return w.Close()
}

// longestList returns the number of values of the longest list of a row.
func longestList(columns []parquetOut, row []tableCell) int {
	longest := 0
	for i := range columns {
		if columns[i].List {
			longest = max(longest, row[i].length(&columns[i].Column))
		}
	}
	return longest
}

// flushParquet ends a row group, if it has rows.
func flushParquet(w *parquet.GenericWriter[any], columns []parquetOut) error {
	for i := range columns {
		if err := columns[i].hand(); err != nil {
			return err
		}
		columns[i].page = 0
	}
	return w.Flush()
}

// parquetSchema returns the schema of a table, whose columns have the order of the table's.
func parquetSchema(t *table) *parquet.Schema {
	fields := make([]reflect.StructField, len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		of := map[Type]reflect.Type{
			Int64: reflect.TypeFor[int64](), Uint64: reflect.TypeFor[uint64](), Int32: reflect.TypeFor[int32](), Bool: reflect.TypeFor[bool](),
			Time: reflect.TypeFor[int64](), Float32: reflect.TypeFor[float32](), Float64: reflect.TypeFor[float64](), Text: reflect.TypeFor[string](),
		}[c.Type]
		tag := c.Name
		if c.Nulls { // a name of somebody's own, with any characters: renamed has it
			tag = fmt.Sprintf("F%d", i)
		}
		if c.List {
			of, tag = reflect.SliceOf(of), tag+",list"
		}
		if c.Type == Time {
			tag += ",timestamp(microsecond)"
		}
		if c.Repeats {
			tag += ",dict"
		}
		if c.Optional {
			tag += ",optional"
		}
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: of, Tag: reflect.StructTag(fmt.Sprintf("parquet:%q", tag))}
	}
	schema := parquet.SchemaOf(reflect.Zero(reflect.StructOf(fields)).Interface())
	if !slices.ContainsFunc(t.columns, func(c Column) bool { return c.Nulls }) {
		return parquet.NewSchema(t.name, schema)
	}
	root := renamed{Node: schema, fields: schema.Fields()}
	for i := range root.fields {
		if t.columns[i].Nulls {
			root.fields[i] = renamedField{root.fields[i], t.columns[i].Name}
		}
	}
	return parquet.NewSchema(t.name, root)
}

// renamed is the root of a schema, of which some fields have other names.
type renamed struct {
	parquet.Node
	fields []parquet.Field
}

func (r renamed) Fields() []parquet.Field { return r.fields }

// renamedField is a field with a name that a tag could not have.
type renamedField struct {
	parquet.Field
	name string
}

func (f renamedField) Name() string { return f.name }

// parquetOut gathers the values of a column, and hands them on in batches. parquet-go ends a page only after a batch:
// so that where pages end does not depend on batches, one ends where a page is due.
type parquetOut struct {
	Column
	index  int
	to     *parquet.ColumnWriter
	values []parquet.Value
	texts  []byte // what values refer to
	step   int    // a page ends after a multiple of so many rows
	rows   int    // since hand
	page   int    // bytes of the page, as parquet-go counts them
}

// add appends a cell.
func (p *parquetOut) add(c *tableCell) error {
	if p.List {
		p.addList(c)
	} else {
		p.addOne(c)
	}
	p.rows++
	if p.rows%p.step != 0 || p.page < parquetPage && len(p.values) < parquetHeld {
		return nil
	}
	return p.hand()
}

// hand passes on the values that are held.
func (p *parquetOut) hand() error {
	if p.rows = 0; p.page >= parquetPage {
		p.page = 0
	}
	if len(p.values) == 0 {
		return nil
	}
	_, err := p.to.WriteRowValues(p.values)
	p.values, p.texts = p.values[:0], p.texts[:0]
	return err
}

// addOne appends the value of a cell that is no list.
func (p *parquetOut) addOne(c *tableCell) {
	defined := 0
	if p.Optional {
		p.page += 5 // a row's place and its level
		if c.isNull(&p.Column) {
			p.values = append(p.values, parquet.NullValue().Level(0, 0, p.index))
			return
		}
		defined = 1
	}
	p.values = append(p.values, p.of(&c.value).Level(0, defined, p.index))
}

// isNull reports whether a cell of an optional column, which is no list, has no value.
func (c *tableCell) isNull(of *Column) bool {
	if of.hasTexts() && !of.Nulls {
		return c.text == ""
	}
	return c.missing
}

// addList appends the values of a list.
func (p *parquetOut) addList(c *tableCell) {
	n, defined := c.length(&p.Column), 0
	if p.Nulls && c.missing {
		n = 0
	} else if p.Nulls {
		defined = 1
	}
	p.page += 8 + 2*max(1, n) // a row's place and the levels
	if n == 0 {
		p.values = append(p.values, parquet.NullValue().Level(0, defined, p.index))
	}
	for i := range n {
		v := c.at(&p.Column, i)
		p.values = append(p.values, p.of(&v).Level(min(i, 1), defined+1, p.index))
	}
}

// of makes a value one of parquet-go, and counts its bytes.
func (p *parquetOut) of(v *value) parquet.Value {
	switch {
	case p.hasTexts():
		return p.text(v.text)
	case p.Type == Float32:
		p.page += 4
		return parquet.FloatValue(float32(v.float))
	case p.Type == Int32:
		p.page += 4
		return parquet.Int32Value(int32(v.integer))
	case p.Type == Bool:
		return parquet.BooleanValue(v.integer != 0)
	}
	p.page += 8
	if p.Type == Float64 {
		return parquet.DoubleValue(v.float)
	}
	return parquet.Int64Value(v.integer)
}

// text is the value of a text, or of the integer whose digits it has.
func (p *parquetOut) text(text string) parquet.Value {
	if p.Digits {
		p.page += 8
		x, _ := strconv.ParseUint(text, 10, 64)
		return parquet.Int64Value(int64(x))
	}
	if p.page += 4; !p.Repeats {
		p.page += len(text)
	}
	start := len(p.texts)
	p.texts = append(p.texts, text...)
	return parquet.ByteArrayValue(p.texts[start:])
}
