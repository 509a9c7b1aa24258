package catalog

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"thresher/backend"
	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/segments/folder"
)

// changing is the second form of a version: its vectors are in a folder, and change by rows. Searches read
// what the folder held when they began.
type changing struct {
	*folder.Folder
	backend string
	// reserved is the memory of writes on their way, which the folder does not hold yet.
	reserved atomic.Int64
	// numbering is held while rows without ids get theirs.
	numbering sync.Mutex
	block     blocks
}

// folderSuffix is the suffix of the name of a version's folder.
const folderSuffix = ".folder"

func (ch *change) folder() string { return ch.Base + folderSuffix }

// openFolder opens the folder of a version, whose vectors change.
func (o *opened) openFolder(ctx context.Context) error {
	if o.c.o.Place == nil {
		return errors.New("this server searches no collections that change by rows")
	}
	b, engine, err := o.c.o.Place(o.name)
	if err != nil {
		return err
	}
	made := &changing{backend: b.Name()}
	upkept := func(f *folder.Folder) { o.share.settle(made.bytes(f)) }
	f, err := folder.Open(ctx, filepath.Join(o.c.dir, o.change.folder()), folder.Options{Backend: b, Engine: *engine, Threads: o.c.upkeepThreads(), Upkept: upkept, KeepKeys: o.c.keepKeys, ReadOnly: o.c.o.Linked})
	if err != nil {
		return err
	}
	made.Folder = f
	if f.Form().Elem == dataset.ElemFloat64 && engine.Fallback != nil {
		made.backend = engine.Fallback.Name() // devices take no rows of float64
	}
	o.changing = made
	if r := f.Recovered(); r.File != "" {
		o.c.o.Log.Warn("a write of rows that was not whole, and so was never acknowledged, is cut off", "collection", o.name, "file", filepath.Base(r.File), "offset", r.Offset, "bytes", r.Cut)
	}
	now := f.Snapshot()
	defer now.Release()
	return o.share.resize(bytesOf(now), shape{rows: int64(now.Len()), dim: o.change.Dim}.String())
}

// CopyFolder makes a folder at to that has what a version's folder of this name holds now; done is false if this catalog does not have it
// open, and so writes nothing to it.
func (c *Catalog) CopyFolder(name, to string) (done bool, err error) {
	<-c.ready // opening a folder changes it; one that could not be opened is written by nobody
	c.mu.Lock()
	var o *opened
	for _, one := range c.versions {
		if one.state == Ready && one.changing != nil && one.change.folder() == name {
			o = one
			o.acquire()
		}
	}
	c.mu.Unlock()
	if o == nil {
		return false, nil
	}
	defer o.release()
	_, err = o.changing.Copy(to)
	return true, err
}

// upkeepThreads are those of seals and merges: a quarter of a build's, 0 a quarter of GOMAXPROCS.
func (c *Catalog) upkeepThreads() int { return (c.o.Threads + 3) / 4 }

// textBytes is about what the table of a folder takes for an id that is a text, and for the text.
const textBytes = 80

// bytesOf returns the memory of what a folder holds.
func bytesOf(now *folder.Snapshot) int64 {
	n := now.Size().Bytes
	if now.Textual() {
		n += textBytes * int64(now.Len())
	}
	return n
}

// Placer returns the backend that searches the segments of a collection that changes by rows, and the options of their engines.
type Placer func(name string) (backend.Backend, *batch.Options, error)

// Written says what a change by rows did.
type Written = folder.Written

// measure sets the share of a version that changes to what it holds.
func (o *opened) measure() { o.share.settle(o.changing.bytes(o.changing.Folder)) }

// bytes is the memory of what the folder holds now, of what searches have made of it, and of writes on their way.
func (ch *changing) bytes(f *folder.Folder) int64 {
	now := f.Snapshot()
	defer now.Release()
	return bytesOf(now) + now.Kept() + ch.reserved.Load()
}

// describe fills in what a version that changes holds now.
func (f *changing) describe(i *Info) {
	now := f.Snapshot()
	defer now.Release()
	describeSnapshot(i, now)
	form := f.Form()
	i.Backend, i.DType = f.backend, form.Elem.String()
	// Its segments have codes where they are large enough.
	coded := form.Basis == collection.Rotated && form.Dim >= collection.MinRotated
	i.Methods = methodNames(batch.Searchable{Basis: form.Basis, Metric: form.Metric, Float64: form.Elem == dataset.ElemFloat64, Dim: form.Dim, Coded: coded}.Methods())
}

// describeSnapshot fills in what a version held at an instant.
func describeSnapshot(i *Info, now *folder.Snapshot) {
	size, writes := now.Size(), now.Version()
	i.Count, i.Bytes, i.Writes, i.Segments, i.Unsealed = int64(now.Len()), bytesOf(now), &writes, size.Segments, int64(size.Waiting)
	if i.Rounded = nil; now.Change().Values > 0 {
		i.Rounded = roundingOf(now.Change())
	}
}
