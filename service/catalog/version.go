package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/segments/folder"
	"thresher/service/problem"
)

// Version is a version in use. Its methods must not be called after Release.
type Version struct {
	o    *opened
	now  *folder.Snapshot // of one that changes by rows, else nil
	once sync.Once
}

// Info describes the version.
func (v *Version) Info() Info {
	v.o.c.mu.Lock()
	defer v.o.c.mu.Unlock()
	i := v.o.info()
	if v.now != nil {
		describeSnapshot(&i, v.now)
	}
	return i
}

// Changes reports whether the vectors change by rows. Such a version is what it was when Use returned it; its row numbers
// are any numbers, ascending with the order of equal scores, and it has no Collection: Whole returns one that has.
func (v *Version) Changes() bool { return v.now != nil }

// State is which version it is, and how many writes of rows it had seen if it changes by rows, else nil; of a copy for whoever
// pins it those of what it copies.
func (v *Version) State() (version int64, writes *uint64) {
	if ch := &v.o.change; ch.CopyOf != 0 {
		return ch.CopyOf, new(ch.Writes)
	}
	i := v.Info()
	return i.Version, i.Writes
}

// Dim is the dimension of the rows, Len their number.
func (v *Version) Dim() int { return v.o.change.Dim }
func (v *Version) Len() int {
	if v.now != nil {
		return v.now.Len()
	}
	return v.o.col.N
}

// Origin is what the rows are relative to, nil for none; it is read-only.
func (v *Version) Origin() []float64 {
	if v.now != nil {
		return v.o.changing.Form().Origin
	}
	return v.o.col.Origin
}

// Float64 reports whether the rows are kept as float64, and so are scored with queries as they are given.
func (v *Version) Float64() bool { return v.elem() == dataset.ElemFloat64 }

// elem is the type in which the rows are kept.
func (v *Version) elem() dataset.Elem {
	if v.now != nil {
		return v.o.changing.Form().Elem
	}
	return v.o.col.Elem()
}

// QueryOrigin is what queries are taken relative to before they are rounded: Origin, and nil of Float64.
func (v *Version) QueryOrigin() []float64 {
	if v.Float64() {
		return nil
	}
	return v.Origin()
}

// Coordinates returns the names of the coordinates of the rows, nil if they have none; it is read-only.
func (v *Version) Coordinates() []string { return v.o.change.Coordinates }

// Search answers req, possibly together with concurrent searches.
func (v *Version) Search(ctx context.Context, req batch.Request) (*batch.Response, error) {
	defer v.noteKept()
	if v.now != nil {
		return v.walk(ctx, req)
	}
	return v.o.runs.Search(ctx, req)
}

// Direct answers req by itself, for large requests.
func (v *Version) Direct(ctx context.Context, req batch.Request) (*batch.Response, error) {
	defer v.noteKept()
	if v.now != nil {
		return v.walk(ctx, req)
	}
	return v.o.engine.Search(ctx, req)
}

// noteKept counts what a search has made of the version for later ones as memory that it holds.
func (v *Version) noteKept() {
	kept := int64(0)
	if v.now != nil {
		kept = v.now.Kept()
	} else {
		kept = v.o.engine.Kept()
	}
	if kept == v.o.kept.Swap(kept) {
		return
	}
	if v.now != nil {
		v.o.measure()
		return
	}
	v.o.share.settle(v.o.change.Bytes + kept)
}

// Making bounds the memory, in bytes, of what the next search makes of the version for later ones.
func (v *Version) Making() int64 {
	if v.now != nil {
		return v.now.Making()
	}
	return v.o.engine.Making()
}

// walk answers req from segment to segment.
func (v *Version) walk(ctx context.Context, req batch.Request) (*batch.Response, error) {
	if req.Turns != nil {
		req.Turns = &sharedTurns{turns: req.Turns}
	}
	return v.now.Search(ctx, req)
}

// sharedTurns are turns of a search that looks at several segments side by side.
type sharedTurns struct {
	mu    sync.Mutex
	turns batch.Turns
}

func (t *sharedTurns) Length() time.Duration { return t.turns.Length() }

func (t *sharedTurns) Next(ctx context.Context, expected time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.turns.Next(ctx, expected)
}

// RunBytes returns the memory, in bytes, that a search takes while it is answered, for so many
// queries like those of req, whose Queries may be empty: that of its largest run. Errors are those
// of Direct.
func (v *Version) RunBytes(req batch.Request, queries int) (int64, error) {
	if v.now != nil {
		f, err := v.now.Footprint(req, queries)
		return f.Bounded, err
	}
	f, err := v.o.engine.Footprint(req, queries)
	return f.Bounded, err
}

// Row returns row i as given, rounded to float32, 0 <= i < Len(); it is read-only and invalid after
// Release.
func (v *Version) Row(i int64) []float32 {
	if v.now != nil && v.Origin() == nil {
		return v.now.Vector(i)
	}
	if v.now != nil {
		row := make([]float32, v.Dim())
		for j, x := range v.Given(i) {
			row[j] = float32(x)
		}
		return row
	}
	if v.o.col.Origin == nil && !v.o.col.Float64() {
		return v.o.col.Row(int(i))
	}
	row := make([]float32, v.o.col.Dim)
	for j, x := range v.o.col.Given(int(i)) {
		row[j] = float32(x)
	}
	return row
}

// Given returns row i as given, up to what rounding changed of it.
func (v *Version) Given(i int64) []float64 {
	if v.now == nil {
		return v.o.col.Given(int(i))
	}
	return v.now.Given(i)
}

// Metric returns the metric by which the rows are compared.
func (v *Version) Metric() collection.Metric {
	if v.now != nil {
		return v.now.Metric()
	}
	return v.o.col.Metric
}

// Collection returns the prepared atoms, which are read only and valid until Release; nil of a version that changes.
func (v *Version) Collection() *collection.Collection { return v.o.col }

// IDs returns the ids of the rows. They remain valid after Release.
func (v *Version) IDs() *RowIDs {
	if v.now != nil {
		return &RowIDs{kind: v.o.change.IDs, n: v.now.Len(), now: v.now}
	}
	return v.o.ids
}

// Release ends the use. The last release of a version that is neither newest nor pinned
// closes it and deletes its files. Release may be called twice.
func (v *Version) Release() {
	v.once.Do(func() {
		if v.now != nil {
			if err := v.now.Release(); err != nil {
				v.o.c.o.Log.Warn("closing segments", "collection", v.o.name, "reason", err)
			}
		}
		v.o.release()
	})
}

// acquire counts a use. The caller holds Catalog.mu.
func (o *opened) acquire() {
	o.uses++
	o.c.inUse++
}

func (o *opened) release() {
	o.c.mu.Lock()
	o.uses--
	o.c.inUse--
	if o.c.inUse == 0 {
		o.c.idle.Broadcast()
	}
	gone := o.unneeded()
	o.c.mu.Unlock()
	if gone {
		o.dispose()
	}
}

// Use returns a version in use, 0 being the ready one; the caller must Release it. Older
// versions can be used while they are pinned.
func (c *Catalog) Use(name string, version int64) (*Version, error) {
	c.mu.Lock()
	o, err := c.findVersion(name, version)
	if err == nil {
		o.acquire()
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	v := &Version{o: o}
	if o.changing != nil {
		v.now = o.changing.Snapshot()
	}
	return v, nil
}

// findVersion returns a version that can be searched. The caller holds mu.
func (c *Catalog) findVersion(name string, version int64) (*opened, error) {
	if c.closed {
		return nil, draining()
	}
	e := c.entries[name]
	if version == 0 && e == nil {
		return nil, unknown(name)
	}
	if version == 0 && e.Ready == nil {
		if e.Next == nil {
			return nil, problem.New(problem.Conflict, "collection %s could not be built: %s", name, e.Failed.Failure.Detail).In("name")
		}
		return nil, c.notYet("collection %s is being made", name)
	}
	if version == 0 {
		version = e.Ready.Version
	}
	o := c.versions[ref{name, version}]
	switch {
	case o == nil && e == nil:
		return nil, unknown(name)
	case o == nil && e.Next != nil && e.Next.Version == version:
		return nil, c.notYet("version %d of collection %s is being made", version, name)
	case o == nil:
		return nil, problem.New(problem.UnknownCollection, "there is no version %d of collection %s%s", version, name, e.current()).
			In("version")
	case o.state == Loading:
		return nil, c.notYet("version %d of collection %s is being loaded", version, name)
	case o.state == Failed:
		return nil, o.failure
	}
	return o, nil
}

// current says which version answers.
func (e *entry) current() string {
	if e.Ready == nil {
		return ""
	}
	return fmt.Sprintf("; the newest is %d", e.Ready.Version)
}

func (c *Catalog) notYet(format string, args ...any) error {
	p := problem.New(problem.NotReady, format, args...).In("name")
	p.RetryAfter = retryAfter
	return p
}

func draining() error { return problem.New(problem.Draining, "the collections are being closed") }
