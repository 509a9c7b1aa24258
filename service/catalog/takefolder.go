package catalog

import (
	"context"
	"errors"
	"math"
	"path/filepath"

	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/problem"
	"thresher/store"
)

// CreateFolder makes a collection, or with o.Replace a new version of one, of the folder of vectors at from, which no process may
// write. It is searched as it is, and changes only if Options.Linked is false. Of o it takes Replace and Least.
func (c *Catalog) CreateFolder(ctx context.Context, name, from string, o CreateOptions) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	return c.serialize(ctx, name, func() (Info, error) {
		c.mu.Lock()
		e := c.entries[name]
		err := c.mayCreate(name, e, o.Replace)
		var former *opened
		if err == nil && e != nil && e.Ready != nil {
			if former = c.versions[ref{name, e.Ready.Version}]; former != nil {
				former.acquire()
			}
		}
		c.mu.Unlock()
		if former != nil {
			defer former.release()
		}
		if err != nil {
			return Info{}, err
		}
		return c.takeFolder(ctx, name, from, former, o.Least)
	})
}

// takeFolder makes a version of a folder in place of former, which may be nil.
func (c *Catalog) takeFolder(ctx context.Context, name, from string, former *opened, least int64) (i Info, err error) {
	ch := &change{Base: newBase(name), Folder: true, least: least}
	o := c.newOpened(name, *ch)
	defer func() {
		if err == nil {
			o.release()
			return
		}
		err = errors.Join(err, o.stop())
		for _, file := range o.change.files() {
			c.dropFile(file)
		}
		err = store.Full(err)
	}()
	if err := c.intend(name, ch); err != nil {
		return Info{}, err
	}
	if err := c.o.disk.At("make folder", ch.folder()); err != nil {
		return Info{}, err
	}
	if err := folder.Clone(from, filepath.Join(c.dir, ch.folder())); err != nil {
		return Info{}, err
	}
	if err := o.openFolder(ctx); err != nil {
		return Info{}, err
	}
	if err := o.describeFolder(); err != nil {
		return Info{}, err
	}
	if err := c.recordFolder(former, o); err != nil {
		return Info{}, err
	}
	return c.Get(name)
}

// describeFolder says in the version what its folder holds.
func (o *opened) describeFolder() error {
	form, now := o.changing.Form(), o.changing.Snapshot()
	defer now.Release()
	if now.Len() == 0 {
		return problem.New(problem.InvalidValue, "the folder has no vectors").In("source")
	}
	ch := &o.change
	ch.Metric, ch.Basis, ch.Seed, ch.Dim, ch.Columns = form.Metric.String(), form.Basis.String(), form.Seed, form.Dim, form.Columns
	if form.Elem == dataset.ElemFloat64 {
		ch.DType = form.Elem.String()
	}
	if ch.IDs = Integers; now.Textual() || o.changing.Greatest() > math.MaxInt64 { // such numbers are served by their digits
		ch.IDs = Strings
	}
	ch.Count, ch.Bytes = int64(now.Len()), bytesOf(now)
	return nil
}
