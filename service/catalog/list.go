package catalog

import (
	"context"
	"math"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
)

// List describes every collection, by name.
func (c *Catalog) List() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Info, 0, len(c.entries))
	for name, e := range c.entries {
		all = append(all, c.describe(name, e))
	}
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Deleted returns the names recorded in the database under which there is no collection any
// more.
func (c *Catalog) Deleted() (names []string, err error) {
	err = c.db.View(func(tx *bbolt.Tx) error {
		return bucket(tx, numbersBucket).ForEach(func(name, _ []byte) error {
			if bucket(tx, namesBucket).Get(name) == nil {
				names = append(names, string(name))
			}
			return nil
		})
	})
	return names, err
}

// Get describes a collection: its ready version, or else the one that is being built or that
// failed.
func (c *Catalog) Get(name string) (Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil {
		return Info{}, unknown(name)
	}
	return c.describe(name, e), nil
}

// Backends returns the names of the backends that search the open versions, of the lost
// backends that others replaced, and why others search in the place of the first.
func (c *Catalog) Backends() (searching, lost []string, instead []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.versions {
		if o.state != Ready {
			continue
		}
		if o.changing != nil {
			searching = append(searching, o.changing.backend)
			continue
		}
		now := o.engine.Backend()
		if searching = append(searching, now); now != o.first {
			lost = append(lost, o.first)
		}
		if why := o.engine.Instead(); why != nil {
			instead = append(instead, why)
		}
	}
	slices.Sort(searching)
	slices.Sort(lost)
	slices.SortFunc(instead, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return slices.Compact(searching), slices.Compact(lost), instead
}

// describe returns the Info of a collection. The caller holds mu.
func (c *Catalog) describe(name string, e *entry) Info {
	switch {
	case e.Ready == nil && e.Next == nil:
		return infoOf(name, e.Failed, Failed)
	case e.Ready == nil:
		i := infoOf(name, e.Next, Building)
		i.Progress = e.progress()
		return i
	}
	i := c.versions[ref{name, e.Ready.Version}].info()
	if e.Next != nil {
		i.Next, i.Progress = e.Next.Version, e.progress()
	}
	if e.Failed != nil && i.Failure == nil {
		i.Failure = e.Failed.Failure.problem()
		i.Error = i.Failure.Error()
	}
	return i
}

func (e *entry) progress() float64 { return math.Float64frombits(e.build.progress.Load()) }

// version describes one version, if it exists. The caller holds mu.
func (c *Catalog) version(name string, version int64) (Info, bool) {
	if o := c.versions[ref{name, version}]; o != nil {
		return o.info(), true
	}
	e := c.entries[name]
	switch {
	case e == nil:
	case e.Next != nil && e.Next.Version == version:
		i := infoOf(name, e.Next, Building)
		i.Progress = e.progress()
		return i, true
	case e.Failed != nil && e.Failed.Version == version:
		return infoOf(name, e.Failed, Failed), true
	}
	return Info{}, false
}

// Wait returns once the version is Ready or Failed. Version 0 is the newest one requested.
func (c *Catalog) Wait(ctx context.Context, name string, version int64) (Info, error) {
	c.mu.Lock()
	e := c.entries[name]
	if e != nil && version == 0 {
		version = max(versionOf(e.Next), versionOf(e.Ready), versionOf(e.Failed))
	}
	var b *build
	if e != nil && e.Next != nil && e.Next.Version == version {
		b = e.build
	}
	o := c.versions[ref{name, version}]
	if o != nil {
		o.acquire() // keeps it open while it is described
		defer o.release()
	}
	c.mu.Unlock()

	switch {
	case b != nil:
		if err := await(ctx, b.done); err != nil {
			return Info{}, err
		}
		return b.info, b.err
	case o != nil:
		if err := await(ctx, o.loaded); err != nil {
			return Info{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if o != nil {
		return o.info(), nil
	}
	if i, ok := c.version(name, version); ok {
		return i, nil
	}
	if e == nil {
		return Info{}, unknown(name)
	}
	return Info{}, problem.New(problem.UnknownCollection, "there is no version %d of collection %s%s", version, name, e.current()).
		In("version")
}
