package catalog

import (
	"cmp"
	"errors"

	"thresher/collection"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/problem"
	"thresher/store"
)

// checkFirst refuses, before a version that is a file becomes a folder, rows that the folder would refuse.
func (o *opened) checkFirst(ch *folder.Change) error {
	if ch.Deletes() { // ids that are there
		return nil
	}
	n, dim := ch.IDs.Len(), o.change.Dim
	var err error
	if ch.Rows64 != nil {
		err = o.col.Metric.CheckRows64(ch.Rows64, dim, o.col.Origin)
	} else {
		err = cmp.Or(o.col.Metric.CheckRows(ch.Rows, dim), collection.CheckElem(ch.Rows, dim, o.col.Elem()))
	}
	if err := o.describeWrite(err); err != nil {
		return err
	}
	if total := int64(o.col.N + n); total > o.c.o.MaxRows {
		for row := range int64(n) {
			if _, there := o.ids.rowOfText(ch.IDs.Text(row)); there {
				total--
			}
		}
		if err := o.c.checkRowLimit(total); err != nil {
			return err
		}
	}
	for row := range int64(n) {
		if at, there := o.ids.rowOfText(ch.IDs.Text(row)); there && ch.Only == folder.OnlyNew {
			return taken(int(row), o.ids, at)
		}
	}
	need := o.shapeOfRows(ch, o.col.Metric, o.col.Basis, o.col.Elem())
	bytes := need.estimate()
	if err := o.share.grow(bytes, need.String()); err != nil {
		return err
	}
	return o.share.grow(-bytes, "")
}

// shapeOfRows is the size of rows that are written, with what describes them. They wait in float64 if elem is that, and else in float32.
func (o *opened) shapeOfRows(ch *folder.Change, metric collection.Metric, basis collection.Basis, elem dataset.Elem) shape {
	n := int64(ch.IDs.Len())
	s := shape{rows: n, dim: o.change.Dim, metric: metric, basis: basis, idBytes: textBytes * n}
	if elem == dataset.ElemFloat64 {
		s.elem = elem
	}
	if ch.Columns != nil {
		s.idBytes += ch.Columns.Bytes()
	}
	return s
}

// checkRowLimit refuses more rows than a collection may have.
func (c *Catalog) checkRowLimit(total int64) error {
	if most := c.o.MaxRows; total > most {
		return problem.New(problem.OverLimit, "%d rows, at most %d", total, most).In("rows").Within(most)
	}
	return nil
}

// fits refuses rows that are too many with those that are there.
func (o *opened) fits(ids *dataset.IDs, n int) error {
	now := o.changing.Snapshot()
	defer now.Release()
	if int64(now.Len()+n) <= o.c.o.MaxRows {
		return nil
	}
	total := now.Len()
	for _, number := range now.Numbers(ids) {
		if number < 0 || !now.Has(number) {
			total++
		}
	}
	return o.c.checkRowLimit(int64(total))
}

// describeWrite returns the problem of a write that failed.
func (o *opened) describeWrite(err error) error {
	var at *dataset.Error
	var row *collection.RowError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, folder.ErrChanged):
		return o.mismatch()
	case errors.Is(err, folder.ErrThere) && errors.As(err, &at):
		return problem.New(problem.InvalidValue, "row %d: %v", at.Row, at.Err).At("ids", int(at.Row)).Because(err)
	case errors.Is(err, folder.ErrMissing) && errors.As(err, &at):
		return problem.New(problem.UnknownID, "%v", at.Err).At("ids", int(at.Row)).Because(err)
	case errors.As(err, &at):
		return problem.New(problem.InvalidValue, "row %d: %v", at.Row, at.Err).At("ids", int(at.Row)).Because(err)
	case errors.As(err, &row):
		return problem.New(problem.InvalidValue, "the rows: %v", row).At("rows", row.Row).Because(err)
	case errors.Is(err, folder.ErrClosed):
		return draining()
	}
	return store.Full(err)
}
