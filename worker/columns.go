package worker

import (
	"bytes"
	"context"

	"thresher/columns"
)

// kept reads an array of columns in the form of columns.Write; nil if there is none.
func (c *call) kept(name string) (*columns.Columns, error) {
	b, err := vector[uint8](c.arguments, name, -1, bytes8)
	if b == nil || err != nil {
		return nil, err
	}
	kept, err := columns.Load(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, wrong(name, "%v", err)
	}
	return kept, nil
}

// columns makes columns of values, of the rows of others, or of both one after the other. They are the client's, who
// gives them with build.
func (c *call) columns(context.Context) (any, *reply, error) {
	var f struct {
		Rows int `json:"rows"` // of values
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	before, err := c.kept("columns")
	if err != nil {
		return nil, nil, err
	}
	values, err := vector[uint8](c.arguments, "values", -1, bytes8)
	if err != nil {
		return nil, nil, err
	}
	rows, err := c.rowNumbers("rows", -1)
	if err == nil {
		err = c.complete()
	}
	if err != nil {
		return nil, nil, err
	}
	var made *columns.Columns
	if values != nil {
		if made, err = columns.FromJSON(values); err != nil {
			return nil, nil, wrong("columns", "%v", err)
		}
	}
	if before == nil && made == nil {
		return nil, nil, wrong("columns", "is missing, and values too")
	}
	if rows != nil && before != nil {
		for i, row := range rows {
			if row < 0 || row >= int64(before.Rows()) {
				return nil, nil, wrong("rows", "entry %d: row %d of %d", i, row, before.Rows()).within(before.Rows())
			}
		}
		before = before.Gather(rows)
	}
	if before != nil {
		if made, err = before.Append(made, f.Rows); err != nil {
			return nil, nil, wrong("columns", "%v", err)
		}
	}
	if before == nil && made.Rows() != f.Rows {
		return nil, nil, wrong("columns", "%d rows for %d vectors", made.Rows(), f.Rows)
	}
	out, err := columnsReply(c.s.link.passes(), made)
	return described{made.Fields()}, out, err
}

// described are the columns of a reply.
type described struct {
	Columns []columns.Field `json:"columns"`
}

// columnsReply has columns in the form of columns.Write.
func columnsReply(passes bool, c *columns.Columns) (*reply, error) {
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		return nil, err
	}
	return replyOf(passes, []column{{"columns", bytes8, []int64{int64(b.Len())}}}, b.Bytes())
}

// filter returns the rows of a collection for which an expression over its columns is true.
func (c *call) filter(context.Context) (any, *reply, error) {
	var f struct {
		Handle int64  `json:"handle"`
		Filter string `json:"filter"`
		JSON   bool   `json:"json"` // the filter is in Qdrant's form
	}
	if err := c.fields(&f); err != nil {
		return nil, nil, err
	}
	if err := c.complete(); err != nil {
		return nil, nil, err
	}
	v, err := c.s.registry.hold(f.Handle)
	if err != nil {
		return nil, nil, err
	}
	defer v.release()
	if v.columns == nil {
		return nil, nil, wrong("filter", "the vectors have no columns; columns= of Index and Index.open gives them some")
	}
	parse := func() (*columns.Expr, error) { return columns.Parse(f.Filter) }
	if f.JSON {
		parse = func() (*columns.Expr, error) { return columns.ParseJSON([]byte(f.Filter)) }
	}
	e, err := parse()
	if err == nil && e.NamesIDs() {
		return nil, nil, wrong("filter", "has_id: ids are known to the caller alone, who names them in place of a filter")
	}
	var rows []int64
	if err == nil {
		rows, err = v.columns.RowsFor(e)
	}
	switch {
	case err != nil:
		return nil, nil, wrong("filter", "%v", err)
	case len(rows) == 0:
		return nil, nil, wrong("filter", "no vector is allowed by it")
	}
	out, err := replyOf(c.s.link.passes(), []column{{"rows", int64s, []int64{int64(len(rows))}}}, bytesOf(rows))
	return struct{}{}, out, err
}
