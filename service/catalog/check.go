package catalog

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// idle returns a catalog of which only the folder and the database are used.
func idle(dir string, bolt *bbolt.DB, o Options) *Catalog {
	c := &Catalog{dir: dir, db: bolt, o: o}
	c.o.defaults()
	return c
}

// Repair records in bolt the collections found in dir, as Open does, without loading them.
func Repair(dir string, bolt *bbolt.DB, o Options) (store.Found, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return store.Found{}, err
	}
	c := idle(dir, bolt, o)
	if err := bolt.Update(Schema().Create); err != nil {
		return store.Found{}, err
	}
	err := c.reconcile()
	return c.found, err
}

// Check reads every version in dir completely and compares the versions with the records in
// bolt, which may be nil. Nothing is changed.
func Check(ctx context.Context, dir string, bolt *bbolt.DB, tell func(store.Item)) error {
	c := idle(dir, bolt, Options{})
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return nil
	}
	folder, err := c.scan()
	if err != nil {
		return err
	}
	known := map[string]ref{}
	if bolt != nil {
		if known, err = c.checkKnown(ctx, tell); err != nil {
			return err
		}
	}
	for _, base := range slices.Sorted(maps.Keys(folder)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, ok := known[base]; !ok {
			c.checkUnknown(folder[base], tell)
		}
	}
	return nil
}

// checkKnown checks the versions named by the database, and returns them by base.
func (c *Catalog) checkKnown(ctx context.Context, tell func(store.Item)) (map[string]ref, error) {
	known := map[string]ref{}
	check := func(name string, ch *change, what string) {
		known[ch.Base] = ref{name, ch.Version}
		i := store.Item{Kind: "collection", Name: name, Verdict: store.Intact, Detail: fmt.Sprintf("version %d%s, %d rows of %d columns", ch.Version, what, ch.Count, ch.Dim)}
		if err := c.checkFiles(ch); os.IsNotExist(err) {
			i.Verdict, i.Detail = store.Missing, fmt.Sprintf("version %d%s: %s", ch.Version, what, inFolder(err))
		} else if err != nil {
			i.Verdict, i.Detail = store.Broken, fmt.Sprintf("version %d%s: %s", ch.Version, what, inFolder(err))
		} else if err := c.checkManifest(ch); err != nil {
			i.Verdict, i.Detail = store.Broken, fmt.Sprintf("version %d%s: %s; a start writes it again", ch.Version, what, inFolder(err))
		}
		tell(i)
	}
	err := c.db.View(func(tx *bbolt.Tx) error {
		for n, err := range eachNamed(tx) {
			if err != nil {
				continue // it is damage of the database, and the versions are unknown
			}
			if n.Ready != nil {
				check(n.name, n.Ready, "")
			}
			if n.Failed != nil {
				known[n.Failed.Base] = ref{n.name, n.Failed.Version}
			}
			if n.Next != nil {
				known[n.Next.Base] = ref{n.name, n.Next.Version}
				tell(c.checkNext(n.name, n.Next))
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		for v, err := range eachRetired(tx) {
			if err == nil {
				check(v.name, &v.change, ", which a batch uses")
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}

// checkManifest returns what is wrong with the manifest of a version that the database knows,
// which may be marked as deleted.
func (c *Catalog) checkManifest(ch *change) error {
	_, err := c.readManifest(ch.Base)
	if _, marked := os.Stat(filepath.Join(c.dir, ch.deletedManifest())); marked == nil {
		return nil
	}
	return err
}

// checkNext checks the sources of a version that is not built yet.
func (c *Catalog) checkNext(name string, ch *change) store.Item {
	i := store.Item{Kind: "collection", Name: name, Verdict: store.Intact, Detail: fmt.Sprintf("version %d, to be made", ch.Version)}
	if m, err := c.readManifest(ch.Base); err == nil && m.Ready {
		i.Detail = fmt.Sprintf("version %d, made and to be recorded", ch.Version)
		return i
	}
	if err := c.checkManifest(ch); err != nil {
		i.Verdict, i.Detail = store.Broken, fmt.Sprintf("version %d, to be made: %s; a start writes it again", ch.Version, inFolder(err))
	}
	for _, file := range ch.sources() {
		if _, err := os.Stat(filepath.Join(c.dir, file)); err != nil {
			i.Verdict, i.Detail = store.Missing, fmt.Sprintf("version %d, to be made: %s", ch.Version, inFolder(err))
		}
	}
	return i
}

// checkUnknown reports files that the database does not know.
func (c *Catalog) checkUnknown(l *lying, tell func(store.Item)) {
	if l.deleted {
		return // left over from a deletion
	}
	i := store.Item{Kind: "collection", Name: l.name, Verdict: store.Unknown}
	switch {
	case l.manifest == nil:
		i.Detail = fmt.Sprintf("files %s.*: %v", l.base, l.why)
		if ch, err := c.deduce(l); err == nil {
			i.Detail = fmt.Sprintf("file %s is whole, %d rows of %d columns, and has no manifest", ch.data(), ch.Count, ch.Dim)
		}
	case !l.Ready:
		i.Detail = fmt.Sprintf("version %d, to be made", l.Change.Version)
	default:
		i.Detail = fmt.Sprintf("version %d is whole, %d rows of %d columns", l.Change.Version, l.Change.Count, l.Change.Dim)
		if err := c.checkFiles(&l.Change); err != nil {
			i.Verdict, i.Detail = store.Broken, fmt.Sprintf("version %d, which the database does not know: %s", l.Change.Version, inFolder(err))
		}
	}
	tell(i)
}

// inFolder returns the text of an error with file names without their folder.
func inFolder(err error) string { return store.WithoutFolder(err) }
