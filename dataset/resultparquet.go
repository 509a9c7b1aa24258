package dataset

import (
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetResults reads what AssembleParquet writes, or a file with such columns.
type parquetResults struct {
	file                                    *parquetFile
	query, ids, names, scores, pulls, exact *parquetColumn // all but ids may be nil
	complete, guarantee, delta, epsilon     *parquetColumn // nil in older files
	values                                  []parquet.Value
	next                                    int64
	err                                     error
}

func openParquetResults(src *source) (r ResultReader, err error) {
	defer recovered(src.name, &err)
	p, err := openParquetFile(src)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(p.leaves, func(l parquetLeaf) bool { return l.name == "ids" }) {
		return openLongParquet(p)
	}
	q := &parquetResults{file: p}
	stated := slices.ContainsFunc(p.leaves, func(l parquetLeaf) bool { return l.name == "guarantee" })
	for _, want := range []struct {
		name string
		list int
		of   format.Type
		to   **parquetColumn
	}{
		{"query", 0, format.Int64, &q.query}, {"ids", 1, format.Int64, &q.ids},
		{"names", 1, format.ByteArray, &q.names}, {"scores", 1, format.Float, &q.scores},
		{"pulls", 0, format.Int64, &q.pulls}, {"exact", 0, format.Boolean, &q.exact},
		{"complete", 0, format.Boolean, &q.complete}, {"guarantee", 0, format.ByteArray, &q.guarantee},
		{"delta", 0, format.Double, &q.delta}, {"epsilon", 0, format.Double, &q.epsilon},
	} {
		for i := range p.leaves {
			l := &p.leaves[i]
			if l.name != want.name || want.of == format.Double && !stated { // columns of these names may be anything
				continue
			}
			if l.element.Type.V != want.of || l.column.MaxRepetitionLevel() != want.list {
				return nil, fail(src.name, "column %q is %s, not what results have there", l.path, l.column.Type())
			}
			*want.to = p.column(l)
		}
	}
	if q.ids == nil {
		return nil, fail(src.name, "column ids is not a list")
	}
	return q, nil
}

func (q *parquetResults) Len() int64 { return q.file.file.NumRows() }

func (q *parquetResults) Close() error {
	for _, c := range []*parquetColumn{q.query, q.ids, q.names, q.scores, q.pulls, q.exact, q.complete, q.guarantee, q.delta, q.epsilon} {
		if c != nil {
			c.close()
		}
	}
	return q.file.Close()
}

func (q *parquetResults) Next() (r Result, err error) {
	defer func() {
		if q.err = err; err != nil {
			r = Result{}
		}
	}()
	defer recovered(q.file.name, &err) // runs first
	if q.err != nil {
		return r, q.err
	}
	if q.next == q.Len() {
		if _, err := q.ids.peek(); err != io.EOF {
			return r, failAt(q.file.name, q.next, -1, "rows go on after the %d that the footer announces", q.Len())
		}
		return r, io.EOF
	}
	if r, err = q.read(); err == nil {
		err = checkResult(&r)
	}
	if err != nil {
		return r, located(q.file.name, q.next, cutShort(err))
	}
	q.next++
	return r, nil
}

func (q *parquetResults) read() (r Result, err error) {
	r = Result{Query: q.next}
	if err := q.list(q.ids); err != nil {
		return r, err
	}
	r.Rows = make([]int64, len(q.values))
	for i := range q.values {
		r.Rows[i] = q.values[i].Int64()
	}
	if q.names != nil {
		if err := q.list(q.names); err != nil {
			return r, err
		}
		if len(q.values) > 0 {
			r.IDs = make([]string, len(q.values))
		}
		for i := range q.values {
			r.IDs[i] = string(q.values[i].ByteArray())
		}
	}
	if q.scores != nil {
		if err := q.list(q.scores); err != nil {
			return r, err
		}
		if len(q.values) > 0 || len(r.Rows) == 0 {
			r.Scores = make([]float32, len(q.values))
		}
		for i := range q.values {
			if r.Scores[i] = q.values[i].Float(); r.Scores[i] != r.Scores[i] {
				return r, failAt(q.file.name, q.next, int64(i), "score is NaN")
			}
		}
	}
	for _, single := range []struct {
		from *parquetColumn
		to   func(*parquet.Value)
	}{
		{q.query, func(v *parquet.Value) { r.Query = v.Int64() }},
		{q.pulls, func(v *parquet.Value) { r.Pulls = v.Int64() }},
		{q.exact, func(v *parquet.Value) { r.Exact = v.Boolean() }},
		{q.complete, func(v *parquet.Value) { r.Partial = !v.Boolean() }},
		{q.guarantee, func(v *parquet.Value) { r.Guarantee = string(v.ByteArray()) }},
		{q.delta, func(v *parquet.Value) { r.Delta = v.Double() }},
		{q.epsilon, func(v *parquet.Value) { r.Epsilon = v.Double() }},
	} {
		if single.from == nil {
			continue
		}
		v, err := single.from.scalar()
		if err != nil {
			return r, err
		}
		if v.IsNull() {
			return r, fmt.Errorf("column %q is null", single.from.leaf.path)
		}
		single.to(v)
	}
	return r, nil
}

func (q *parquetResults) list(c *parquetColumn) (err error) {
	q.values, err = c.list(q.values[:0])
	return err
}
