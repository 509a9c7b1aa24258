package dataset

import (
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// resultGroup bounds the ids of a row group, which the writer holds in memory.
const resultGroup = 1 << 20

// AssembleParquet writes the columns query int64, ids and rows list<int64>, scores list<float>, scores64
// list<double>, pulls int64, exact bool, complete bool, guarantee string, delta and epsilon double, and query_id
// where queries have ids, compressed with snappy. ids and query_id are int64 while all are whole numbers and fit,
// else uint64, else strings. rows and scores64 are omitted if they are not known. The metadata state answers_version
// and, if ids are row numbers, id_kind. Records may be in any order. Certificates are omitted.
func AssembleParquet(spool io.ReadSeeker, out io.Writer) error {
	return WriteParquet(Covering(spool, nil), out)
}

// WriteParquet writes results as AssembleParquet does, and covers in the metadata, if the first has it.
func WriteParquet(each EachResult, out io.Writer) error {
	var form answersForm
	err := each(func(_ int64, r *Result) error {
		form.see(r)
		return nil
	})
	if err != nil {
		return err
	}
	columns := form.columns()
	options := []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.KeyValueMetadata(versionName, strconv.Itoa(AnswersVersion)), schemaOf(columns)}
	if !form.ids.some {
		options = append(options, parquet.KeyValueMetadata(idKindName, rowKind))
	}
	if len(form.covers) > 0 {
		options = append(options, parquet.KeyValueMetadata(coversName, string(form.covers)))
	}
	w := parquet.NewWriter(out, options...)
	rows := make([]parquet.Row, 1)
	return assembleRows(each, w, w.Flush, func(r *Result) error {
		rows[0] = rows[0][:0]
		for i, c := range columns {
			rows[0] = c.append(rows[0], r, i)
		}
		_, err := w.WriteRows(rows)
		return err
	})
}

// answersColumn is a column of the Parquet file.
type answersColumn struct {
	name   string
	of     any    // an element
	tag    string // beside the name
	append func(row parquet.Row, r *Result, index int) parquet.Row
}

// columns are those of results of the form, in order.
func (f *answersForm) columns() []answersColumn {
	columns := []answersColumn{single("query", int64(0), func(r *Result) parquet.Value { return parquet.Int64Value(r.Query) })}
	if f.queryIDs.some {
		columns = append(columns, single(queryIDName, f.queryIDs.element(), func(r *Result) parquet.Value { return f.queryIDs.value(r.QueryID) }))
	}
	rows := func(r *Result, i int) parquet.Value { return parquet.Int64Value(r.Rows[i]) }
	if f.ids.some {
		columns = append(columns, listOf(idsName, f.ids.element(), func(r *Result, i int) parquet.Value { return f.ids.value(r.ID(i)) }))
	} else {
		columns = append(columns, listOf(idsName, int64(0), rows))
	}
	if !f.rowsUnknown {
		columns = append(columns, listOf(rowsName, int64(0), rows))
	}
	columns = append(columns, answersColumn{"scores", []float32(nil), ",list", func(row parquet.Row, r *Result, index int) parquet.Row {
		return appendValues(row, len(r.Scores), index, func(i int) parquet.Value { return parquet.FloatValue(r.Scores[i]) })
	}})
	if f.exact {
		columns = append(columns, answersColumn{scores64Name, []float64(nil), ",list", func(row parquet.Row, r *Result, index int) parquet.Row {
			return appendValues(row, len(r.Scores64), index, func(i int) parquet.Value { return parquet.DoubleValue(r.Scores64[i]) })
		}})
	}
	guarantee := single("guarantee", "", func(r *Result) parquet.Value { return parquet.ByteArrayValue([]byte(r.Guarantee)) })
	guarantee.tag = ",dict"
	return append(columns,
		single("pulls", int64(0), func(r *Result) parquet.Value { return parquet.Int64Value(r.Pulls) }),
		single("exact", false, func(r *Result) parquet.Value { return parquet.BooleanValue(r.Exact) }),
		single("complete", false, func(r *Result) parquet.Value { return parquet.BooleanValue(!r.Partial) }),
		guarantee,
		single("delta", float64(0), func(r *Result) parquet.Value { return parquet.DoubleValue(r.Delta) }),
		single("epsilon", float64(0), func(r *Result) parquet.Value { return parquet.DoubleValue(r.Epsilon) }))
}

// single is a column of one value a query.
func single(name string, of any, value func(r *Result) parquet.Value) answersColumn {
	return answersColumn{name, of, "", func(row parquet.Row, r *Result, index int) parquet.Row {
		return append(row, value(r).Level(0, 0, index))
	}}
}

// listOf is a column of a list of one value a vector found.
func listOf(name string, element any, value func(r *Result, i int) parquet.Value) answersColumn {
	of := reflect.Zero(reflect.SliceOf(reflect.TypeOf(element))).Interface()
	return answersColumn{name, of, ",list", func(row parquet.Row, r *Result, index int) parquet.Row {
		return appendValues(row, r.Found(), index, func(i int) parquet.Value { return value(r, i) })
	}}
}

// appendValues appends a list of n values.
func appendValues(row parquet.Row, n, index int, value func(i int) parquet.Value) parquet.Row {
	if n == 0 {
		return append(row, parquet.NullValue().Level(0, 0, index))
	}
	for i := range n {
		row = append(row, value(i).Level(min(i, 1), 1, index))
	}
	return row
}

// element is a value of the type of the ids.
func (f *idForm) element() any {
	switch {
	case f.texts:
		return ""
	case f.wide:
		return uint64(0)
	}
	return int64(0)
}

// value is an id that see has seen.
func (f *idForm) value(id string) parquet.Value {
	if f.texts {
		return parquet.ByteArrayValue([]byte(id))
	}
	x, _ := strconv.ParseUint(id, 10, 64) // see has parsed it
	return parquet.Int64Value(int64(x))
}

// schemaOf returns the schema of columns.
func schemaOf(columns []answersColumn) *parquet.Schema {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		fields[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeOf(c.of), Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s%s"`, c.name, c.tag))}
	}
	return parquet.NewSchema("answers", parquet.SchemaOf(reflect.Zero(reflect.StructOf(fields)).Interface()))
}

func assembleRows(each EachResult, w io.Closer, flush func() error, write func(*Result) error) error {
	held := 0
	err := each(func(_ int64, r *Result) error {
		if held > 0 && held+r.Found() > resultGroup {
			held = 0
			if err := flush(); err != nil {
				return err
			}
		}
		held += r.Found() + 1
		return write(r)
	})
	if err != nil {
		return err
	}
	return w.Close()
}
