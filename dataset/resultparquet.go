package dataset

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetResults reads what AssembleParquet writes, or a file with such columns.
type parquetResults struct {
	file                                *parquetFile
	query, ids, names, scores           *parquetColumn // all but ids may be nil
	pulls, exact, complete, guarantee   *parquetColumn // may be nil
	delta, epsilon, queryID, found, s64 *parquetColumn // may be nil
	own                                 bool           // ids are those that users gave the vectors
	values                              []parquet.Value
	next                                int64
	err                                 error
}

func openParquetResults(src *source) (r ResultReader, err error) {
	defer recovered(src.name, &err)
	p, err := openParquetFile(src)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(p.leaves, func(l parquetLeaf) bool { return l.name == idsName }) {
		return openLongParquet(p)
	}
	version := int64(0)
	if said, ok := p.file.Lookup(versionName); ok {
		if version, err = strconv.ParseInt(said, 10, 64); err == nil {
			err = checkVersion(version)
		}
		if err != nil {
			return nil, fail(src.name, "%s %q: %w", versionName, said, err)
		}
	}
	kind, _ := p.file.Lookup(idKindName)
	q := &parquetResults{file: p, own: version == AnswersVersion && kind != rowKind}
	stated := slices.ContainsFunc(p.leaves, func(l parquetLeaf) bool { return l.name == "guarantee" })
	for _, want := range []struct {
		name string
		list int
		of   []format.Type
		to   **parquetColumn
		has  bool // whether the file has such a column; columns of these names may else be anything
	}{
		{"query", 0, []format.Type{format.Int64}, &q.query, true}, {idsName, 1, []format.Type{format.Int64, format.ByteArray}, &q.ids, true},
		{namesName, 1, []format.Type{format.ByteArray}, &q.names, version < AnswersVersion}, {"scores", 1, []format.Type{format.Float}, &q.scores, true},
		{"pulls", 0, []format.Type{format.Int64}, &q.pulls, true}, {"exact", 0, []format.Type{format.Boolean}, &q.exact, true},
		{"complete", 0, []format.Type{format.Boolean}, &q.complete, true}, {"guarantee", 0, []format.Type{format.ByteArray}, &q.guarantee, true},
		{"delta", 0, []format.Type{format.Double}, &q.delta, stated}, {"epsilon", 0, []format.Type{format.Double}, &q.epsilon, stated},
		{queryIDName, 0, []format.Type{format.Int64, format.ByteArray}, &q.queryID, version == AnswersVersion},
		{rowsName, 1, []format.Type{format.Int64}, &q.found, q.own}, {scores64Name, 1, []format.Type{format.Double}, &q.s64, version == AnswersVersion},
	} {
		for i := range p.leaves {
			l := &p.leaves[i]
			if l.name != want.name || !want.has {
				continue
			}
			if !slices.Contains(want.of, l.element.Type.V) || l.column.MaxRepetitionLevel() != want.list {
				return nil, fail(src.name, "column %q is %s, not what results have there", l.path, l.column.Type())
			}
			*want.to = p.column(l)
		}
	}
	if q.ids == nil {
		return nil, fail(src.name, "column ids is not a list")
	}
	if q.names != nil && q.ids.leaf.element.Type.V == format.ByteArray {
		return nil, fail(src.name, "column ids holds no row numbers, and there are names beside it")
	}
	return q, nil
}

func (q *parquetResults) Len() int64 { return q.file.file.NumRows() }

func (q *parquetResults) Close() error {
	for _, c := range []*parquetColumn{q.query, q.ids, q.names, q.scores, q.pulls, q.exact, q.complete, q.guarantee, q.delta, q.epsilon, q.queryID, q.found, q.s64} {
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
	if err := q.readIDs(&r); err != nil {
		return r, err
	}
	if q.scores != nil {
		if err := q.list(q.scores); err != nil {
			return r, err
		}
		if len(q.values) > 0 || r.Found() == 0 {
			r.Scores = make([]float32, len(q.values))
		}
		for i := range q.values {
			if r.Scores[i] = q.values[i].Float(); r.Scores[i] != r.Scores[i] {
				return r, failAt(q.file.name, q.next, int64(i), "score is NaN")
			}
		}
	}
	if q.s64 != nil {
		if err := q.list(q.s64); err != nil {
			return r, err
		}
		if len(q.values) > 0 || r.Found() == 0 {
			r.Scores64 = make([]float64, len(q.values))
		}
		for i := range q.values {
			if r.Scores64[i] = q.values[i].Double(); r.Scores64[i] != r.Scores64[i] {
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
		{q.queryID, func(v *parquet.Value) { r.QueryID = q.queryID.leaf.text(v) }},
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

// readIDs reads the row numbers and the ids of a row.
func (q *parquetResults) readIDs(r *Result) error {
	if err := q.list(q.ids); err != nil {
		return err
	}
	leaf := q.ids.leaf
	texts := leaf.element.Type.V == format.ByteArray
	for i := range q.values {
		texts = texts || leaf.unsigned() && q.values[i].Int64() < 0
	}
	if q.own || texts {
		r.IDs = q.texts(leaf)
	} else {
		r.Rows = q.integers()
	}
	if q.names != nil {
		if err := q.list(q.names); err != nil {
			return err
		}
		r.IDs = q.texts(q.names.leaf)
	}
	if q.found != nil {
		if err := q.list(q.found); err != nil {
			return err
		}
		r.Rows = q.integers()
	}
	return nil
}

// integers returns the values of a list of them.
func (q *parquetResults) integers() []int64 {
	all := make([]int64, len(q.values))
	for i := range all {
		all[i] = q.values[i].Int64()
	}
	return all
}

// texts returns the values of a list as texts, nil if there are none.
func (q *parquetResults) texts(l *parquetLeaf) []string {
	if len(q.values) == 0 {
		return nil
	}
	all := make([]string, len(q.values))
	for i := range all {
		all[i] = l.text(&q.values[i])
	}
	return all
}

// text returns a text or an integer of 64 bits as a text.
func (l *parquetLeaf) text(v *parquet.Value) string {
	switch {
	case v.Kind() == parquet.ByteArray:
		return string(v.ByteArray())
	case l.unsigned():
		return strconv.FormatUint(v.Uint64(), 10)
	}
	return strconv.FormatInt(v.Int64(), 10)
}

func (q *parquetResults) list(c *parquetColumn) (err error) {
	q.values, err = c.list(q.values[:0])
	return err
}
