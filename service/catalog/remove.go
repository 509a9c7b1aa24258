package catalog

import (
	"context"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/columns"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/api"
	"thresher/service/problem"
)

// Remove deletes the rows of these ids, which must all exist and have the
// collection's kind: at once from a collection that changes by rows, or becomes one, as Put does; of others it makes a version without them.
// The remaining rows keep their ids. A collection that changes by rows may lose all of them, others may not. See Create.
func (c *Catalog) Remove(ctx context.Context, name string, ids Keys, key string) (Info, error) {
	return c.removeRows(ctx, name, &removal{ids: &ids}, key)
}

// RemoveWhere is Remove of the rows for which an expression, of which text is the text, is true when they are deleted. It may be of none.
func (c *Catalog) RemoveWhere(ctx context.Context, name string, where *columns.Expr, text, key string) (Info, error) {
	return c.removeRows(ctx, name, &removal{where: where, text: text}, key)
}

// removal says which rows are deleted: those of ids, or those for which where is true.
type removal struct {
	ids   *Keys
	where *columns.Expr
	text  string // of where
}

func (r *removal) fingerprint(name string) string {
	if r.where != nil {
		return printOf("remove", name, r.text, "where", "", nil)
	}
	return printOf("remove", name, "", "", "", r.ids)
}

// rows returns the rows of a version that are deleted, ascending, each once; none only of an expression.
func (r *removal) rows(v *Version) ([]int64, error) {
	field := "ids"
	var rows []int64
	var err error
	if r.where != nil {
		field = "filter"
		rows, err = v.RowsFor(r.where, field)
	} else if err = r.ids.refuseMask(v.Len()); err == nil {
		rows, err = v.IDs().Rows(r.ids, field)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	switch {
	case len(rows) == 0 && r.where == nil:
		return nil, problem.New(problem.InvalidValue, "no ids are given").In(field)
	case len(rows) > 0 && len(rows) == v.Len() && !v.Changes():
		if err := v.o.mayBecomeFolder(); err != nil {
			return nil, problem.New(problem.InvalidValue, "these are all %d rows of collection %s, which cannot change by rows, and so has one at least: delete it instead", len(rows), v.o.name).In(field).Because(err)
		}
	}
	return rows, nil
}

// removeRows is Remove of what a removal says.
func (c *Catalog) removeRows(ctx context.Context, name string, what *removal, key string) (Info, error) {
	may := func(e *entry) error { return c.mayChange(name, e) }
	if err := c.refuseEarly(ctx, name, key, may); err != nil {
		return Info{}, err
	}
	fingerprint := what.fingerprint(name)
	v, err := c.changingVersion(ctx, name, key)
	if err != nil {
		return Info{}, err
	}
	if v != nil {
		defer v.Release()
		return c.changeRowsOnce(ctx, name, key, fingerprint, func() (Info, error) { return c.removeFrom(ctx, v, what, key, fingerprint) })
	}
	return c.changeOnce(ctx, name, key, fingerprint, func(from *Version) (Info, error) {
		if from.Changes() {
			return Info{}, c.overtaken(name, from.o.change.Version)
		}
		rows, err := what.rows(from)
		if err != nil {
			return Info{}, err
		}
		if len(rows) == 0 {
			if err := c.isAt(name, wanted(ctx)); err != nil {
				return Info{}, err
			}
			defer from.Release()
			return c.removedNone(from, key, fingerprint)
		}
		ch := from.o.change.after(newBase(name))
		s := &staged{c: c}
		defer s.discard()
		if err := c.drop(ch, s, rows); err != nil {
			return Info{}, err
		}
		return c.accept(name, key, fingerprint, ch, s, from, wanted(ctx), may)
	})
}

// drop removes rows from ch, which still describes the previous version.
func (c *Catalog) drop(ch *change, s *staged, rows []int64) error {
	var drop dataset.IDsBuilder
	for _, row := range rows {
		drop.AddInt(row)
	}
	ch.Drop, ch.Count = ch.Base+".drop", ch.Count-int64(len(rows))
	s.names = []string{ch.Drop}
	return writeIDs(c.o.disk, s.arriving(ch.Drop), rowIDs(drop.IDs()))
}

// removedNone is the answer to a removal of no rows from a version that is a file.
func (c *Catalog) removedNone(v *Version, key, fingerprint string) (Info, error) {
	i := v.Info()
	i.Change = &api.RowChange{}
	if key == "" {
		return i, nil
	}
	return i, c.db.Update(func(tx *bbolt.Tx) error { return recordAnswer(tx, key, fingerprint, i, c.o.Now()) })
}

// removeFrom deletes rows from a version that changes, or becomes one that does.
func (c *Catalog) removeFrom(ctx context.Context, v *Version, what *removal, key, fingerprint string) (Info, error) {
	if !v.Changes() {
		if err := c.isAt(v.o.name, wanted(ctx)); err != nil {
			return Info{}, err
		}
	}
	var rows []int64
	if what.where == nil || !v.Changes() {
		var err error
		if rows, err = what.rows(v); err != nil {
			return Info{}, err
		}
	}
	switch {
	case what.where == nil:
		return c.changeRows(ctx, v, folder.Change{IDs: v.idsOf(rows), Only: folder.OnlyThere}, nil, key, fingerprint)
	case len(rows) == 0 && !v.Changes():
		return c.removedNone(v, key, fingerprint)
	}
	o, err := c.folderOf(ctx, v)
	if err != nil {
		return Info{}, err
	}
	defer o.release()
	// What is deleted is what the expression is true of when it is: nobody writes in between.
	o.writing.Lock()
	defer o.writing.Unlock()
	return o.changeHeld(ctx, v, func() (folder.Change, error) {
		now := &Version{o: o, now: o.changing.Snapshot()}
		defer now.now.Release()
		rows, err := what.rows(now)
		return folder.Change{IDs: now.now.IDs(rows)}, err
	}, nil, key, fingerprint)
}

// idsOf returns the ids of rows.
func (v *Version) idsOf(rows []int64) *dataset.IDs {
	if v.now != nil {
		return v.now.IDs(rows)
	}
	var ids dataset.IDsBuilder
	for _, row := range rows {
		if v.o.ids.kind == Strings {
			ids.BecomeTexts()
			ids.AddText(v.o.ids.Name(row))
		} else {
			ids.AddInt(v.o.ids.Int(row))
		}
	}
	return ids.IDs()
}
