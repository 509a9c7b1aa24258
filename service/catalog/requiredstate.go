package catalog

import (
	"context"

	"thresher/service/problem"
)

type onlyOnKey struct{}

// onlyOn is what a change requires: a version, 0 for any, with so many writes; nil for one that does not change by rows.
type onlyOn struct {
	version int64
	writes  *uint64
}

// NoVersion is a version number that no collection has.
const NoVersion = -1

// OnlyOn returns a context under which a change is only made to this version of the
// collection, with so many writes if it changes by rows, else nil: if another is the newest, or is being built, the change is refused at once
// instead of waiting.
func OnlyOn(ctx context.Context, version int64, writes *uint64) context.Context {
	return context.WithValue(ctx, onlyOnKey{}, onlyOn{version, writes})
}

// wanted returns what a change requires.
func wanted(ctx context.Context) onlyOn {
	w, _ := ctx.Value(onlyOnKey{}).(onlyOn)
	return w
}

// isAt refuses a change that requires another version than the newest; 0 is any.
func (c *Catalog) isAt(name string, w onlyOn) error {
	if w.version == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e != nil && e.Ready != nil && e.Next == nil {
		i := c.describe(name, e)
		if i.Version == w.version && (i.Writes == nil) == (w.writes == nil) && (w.writes == nil || *i.Writes == *w.writes) {
			return nil
		}
		if i.Writes != nil {
			return mismatch(i)
		}
	}
	now := int64(0)
	if e != nil {
		now = max(versionOf(e.Ready), versionOf(e.Next))
	}
	return problem.New(problem.Conflict, "the newest version of collection %s is %d, and the change requires another", name, now).In("If-Match").Within(now)
}

// wantedWrites returns the number of writes that the folder must have for a change, nil for any; made says that it was made for this change.
func (o *opened) wantedWrites(ctx context.Context, made bool) (*uint64, error) {
	w := wanted(ctx)
	switch {
	case w.version == 0:
		return nil, nil
	case made: // of the version that is required, which has no writes
		return new(uint64), nil
	case w.version != o.change.Version || w.writes == nil:
		return nil, o.mismatch()
	}
	return w.writes, nil
}

// mismatch is the problem of a change that requires another state than that of the version.
func (o *opened) mismatch() error {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return mismatch(o.info())
}

// mismatch is the problem of a change that requires another state of a collection than i.
func mismatch(i Info) error {
	if i.Writes == nil {
		return problem.New(problem.Conflict, "the newest version of collection %s is %d, and the change requires another", i.Name, i.Version).In("If-Match").Within(i.Version)
	}
	return problem.New(problem.Conflict, "the newest version of collection %s is %d with %d writes, and the change requires another", i.Name, i.Version, *i.Writes).In("If-Match").Within(i.Tag())
}
