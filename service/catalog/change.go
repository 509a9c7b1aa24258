package catalog

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
	"thresher/store"
)

// Create makes a collection or, with o.Replace, a new version of one. It returns once the
// source is durable and its known size fits the limits; invalid rows are found by the build.
// The name of a collection that failed to build is free. key, if not "", is the idempotency
// key: the same request under the same key gets the version of the first.
func (c *Catalog) Create(ctx context.Context, name string, src Source, o CreateOptions, key string) (Info, error) {
	ch, err := newChange(name, src, o)
	if err != nil {
		return Info{}, err
	}
	o.Metric = ch.Metric // its name here, whichever was given
	may := func(e *entry) error {
		if err := c.mayCreate(name, e, o.Replace); err != nil {
			return err
		}
		return needMetric(name, e, &src, o.Metric)
	}
	if err := c.refuseEarly(ctx, name, key, may); err != nil {
		return Info{}, err
	}
	s, err := c.stage(ctx, ch.Base, &src, nil, o.IDs == RowNumbers)
	defer s.discard()
	if err != nil {
		return Info{}, err
	}
	fingerprint := printOf("create", name, s.id, src.columns(), src.IDColumn, o)
	if i, found, err := c.findByKey(name, key, fingerprint); err != nil || found {
		return i, err
	}
	if err := ch.fillFrom(s); err != nil {
		return Info{}, err
	}
	if err := ch.resolveIDs(s, &src, o.IDs); err != nil {
		return Info{}, err
	}
	return c.serialize(ctx, name, func() (Info, error) {
		if ch.Metric == "" {
			ch.Metric = c.metricOf(name)
		}
		return c.accept(name, key, fingerprint, ch, s, nil, wanted(ctx), may)
	})
}

// needMetric returns an error if a new collection has no metric: it is that of the request, of a
// prepared collection, or of the version in e that is replaced; e may be nil.
func needMetric(name string, e *entry, src *Source, metric string) error {
	if metric != "" || isPrepared(src.Path) || e != nil && e.Ready != nil {
		return nil
	}
	return problem.New(problem.InvalidValue, "collection %s is new, and no metric is given: %s", name, collection.MetricChoice).
		In("metric").Within(collection.Metrics())
}

// metricOf returns the metric of the current version of a collection, "" if there is none.
func (c *Catalog) metricOf(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	if e == nil || e.Ready == nil {
		return ""
	}
	return e.Ready.metric()
}

// metric is the name of the metric. Records that were written when inner products were the
// default may have none.
func (ch *change) metric() string { return cmp.Or(ch.Metric, collection.InnerProduct.String()) }

// newChange checks a request for a new collection.
func newChange(name string, src Source, o CreateOptions) (*change, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	metric := "" // of a prepared collection, or of the version that is replaced
	if o.Metric != "" {
		m, err := collection.ParseMetric(o.Metric)
		if err != nil {
			return nil, problem.New(problem.InvalidValue, "%v", err).In("metric").Within(collection.Metrics())
		}
		metric = m.String()
	}
	basis, err := collection.ParseBasis(o.Basis)
	if err != nil {
		return nil, problem.New(problem.InvalidValue, "%v", err).In("basis").Within([]string{"auto", "raw"})
	}
	dtype, err := dtypeOf(o.DType)
	if err != nil {
		return nil, err
	}
	named := src.IDColumn != "" || src.IDs != nil
	if kinds := []Kind{"", RowNumbers, Integers, Strings}; !slices.Contains(kinds, o.IDs) {
		return nil, problem.New(problem.InvalidValue, "%q is not a kind of ids", clip(string(o.IDs))).In("ids").Within(kinds[1:])
	}
	if named && o.IDs == RowNumbers {
		return nil, problem.New(problem.InvalidValue, "ids of kind %s use no column, and one is named", o.IDs).In("ids")
	}
	ch := &change{Base: newBase(name), Metric: metric, Basis: basis.String(), DType: dtype, Seed: o.Seed, Drawn: o.Drawn, IDs: o.IDs, least: o.Least}
	ch.drawSeed()
	if o.Basis == "" || o.Basis == "auto" {
		ch.Basis = ""
	}
	return ch, nil
}

// dtypeOf returns change.DType of what a request says.
func dtypeOf(asked string) (string, error) {
	switch asked {
	case "", dataset.ElemFloat32.String():
		return "", nil
	case dataset.ElemFloat64.String():
		return asked, nil
	}
	types := []string{dataset.ElemFloat32.String(), dataset.ElemFloat64.String()}
	return "", problem.New(problem.InvalidValue, "%q is none of %s", clip(asked), strings.Join(types, ", ")).In("dtype").Within(types)
}

// elem is the type in which values given in float64 are kept.
func (ch *change) elem() dataset.Elem {
	if ch.DType != "" {
		return dataset.ElemFloat64
	}
	return dataset.ElemFloat32
}

// resolveIDs decides how the rows of a new collection get ids: from the named column, from a
// column called id, or as row numbers.
func (ch *change) resolveIDs(s *staged, src *Source, requested Kind) error {
	named := src.IDColumn != "" || src.IDs != nil || s.origin.SavedIDs
	if !named && requested != RowNumbers && s.layout.IDs != "" {
		s.origin.IDColumn, named = s.layout.IDs, true
	}
	if !named && requested != "" && requested != RowNumbers {
		return problem.New(problem.InvalidValue, "ids of kind %s need a column of ids", requested).In("ids")
	}
	if !named {
		ch.IDs = RowNumbers
	}
	ch.Warnings = s.dropped(named)
	return nil
}

// ignored reports whether the source has ids that are not read.
func (s *staged) ignored() bool {
	return s.origin.IgnoreIDs && slices.ContainsFunc(s.layout.Dropped, func(name string) bool { return name == "id" || name == "ids" })
}

// dropped lists the columns of a source that are ignored.
func (s *staged) dropped(named bool) []string {
	dropped := s.layout.Dropped
	if s.layout.IDs != "" && !named {
		dropped = append([]string{s.layout.IDs}, dropped...)
	}
	if len(dropped) == 0 {
		return nil
	}
	const most = 20
	text := strings.Join(dropped[:min(len(dropped), most)], ", ")
	if len(dropped) > most {
		text += fmt.Sprintf(" and %d more", len(dropped)-most)
	}
	return []string{"not kept of " + s.origin.Called + ": " + fmt.Sprintf("%.1000s", text)}
}

// fillFrom fills ch in from a source.
func (ch *change) fillFrom(s *staged) error {
	for _, v := range []struct {
		field, is string
		asked     *string
	}{{"metric", s.metric, &ch.Metric}, {"basis", s.basis, &ch.Basis}} {
		if s.origin.Prepared && *v.asked != "" && *v.asked != v.is {
			return problem.New(problem.InvalidValue, "%s: built with %s %s, and %s is requested", s.origin.Called, v.field, v.is, *v.asked).
				In(v.field).Within(v.is)
		}
		if s.origin.Prepared {
			*v.asked = v.is
		}
	}
	if s.origin.Prepared && ch.DType != "" {
		return problem.New(problem.InvalidValue, "%s: a prepared collection has its own type", s.origin.Called).In("dtype")
	}
	if ch.Basis == "" {
		ch.Basis = collection.Rotated.String()
	}
	ch.Rows, ch.Dim, ch.Count = s.origin, s.dim, max(0, s.rows)
	ch.Coordinates, ch.VectorColumns = s.layout.Coordinates(), s.layout.String()
	return nil
}

// coordinates returns the names of the coordinates of a collection's newest version, nil if they
// have none or there is no version.
func (c *Catalog) coordinates(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := c.entries[name]; {
	case e == nil:
	case e.Next != nil:
		return e.Next.Coordinates
	case e.Ready != nil:
		return e.Ready.Coordinates
	}
	return nil
}

// numbersRows reports whether the ids of a collection that no change waits for are row numbers.
func (c *Catalog) numbersRows(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[name]
	return e != nil && e.Next == nil && e.Ready != nil && e.Ready.IDs == RowNumbers
}

// Append adds src's rows to a collection that changes by rows, or becomes one, as Put does; ids that are there are refused. Of others,
// and of more rows than are written at once, it makes a version with the rows after the existing ones. Rows without ids get the
// integers after the greatest that was ever used; a collection with string ids needs ids. See
// Create.
func (c *Catalog) Append(ctx context.Context, name string, src Source, key string) (Info, error) {
	may := func(e *entry) error { return c.mayChange(name, e) }
	if err := c.refuseEarly(ctx, name, key, may); err != nil {
		return Info{}, err
	}
	if known, err := c.knows(name, key); err != nil || known {
		return c.answeredBefore(ctx, name, key, &src, func(id string) string { return appendPrint(name, id, &src) })
	}
	v, err := c.changingVersion(ctx, name, key)
	if err != nil {
		return Info{}, err
	}
	base, s := newBase(name), &staged{}
	if v == nil {
		s, err = c.stage(ctx, base, &src, c.coordinates(name), c.numbersRows(name))
	} else {
		defer v.Release()
		var rows *newRows
		if rows, s, err = c.rowsToAppend(ctx, v, &src, base, key != ""); rows != nil {
			defer rows.free()
			return c.appendRows(ctx, v, &src, rows, key)
		}
	}
	defer s.discard()
	if err != nil {
		return Info{}, err
	}
	fingerprint := appendPrint(name, s.id, &src)
	return c.changeOnce(ctx, name, key, fingerprint, func(from *Version) (Info, error) {
		if from.Changes() {
			return Info{}, c.overtaken(name, from.o.change.Version)
		}
		ch := from.o.change.after(base)
		if err := ch.extend(name, s, &src, from.o.ids.Digits()); err != nil {
			return Info{}, err
		}
		if err := s.refuseTaken(ctx, from.o, &src); err != nil {
			return Info{}, err
		}
		return c.accept(name, key, fingerprint, ch, s, from, wanted(ctx), may)
	})
}

// changeOnce calls accept with the current version of a collection, in use, once earlier
// changes of the collection have ended; accept releases the version unless it fails. If key
// has a version already, that is returned instead.
func (c *Catalog) changeOnce(ctx context.Context, name, key, fingerprint string, accept func(from *Version) (Info, error)) (Info, error) {
	if i, found, err := c.findByKey(name, key, fingerprint); err != nil || found {
		return i, err
	}
	return c.serialize(ctx, name, func() (Info, error) {
		if i, found, err := c.findByKey(name, key, fingerprint); err != nil || found {
			return i, err
		}
		from, err := c.Use(name, 0)
		if err != nil {
			return Info{}, err
		}
		i, err := accept(from)
		if err != nil {
			from.Release()
		}
		return i, err
	})
}

// after returns the change that follows ch, a ready version.
func (ch *change) after(base string) *change {
	next := &change{Base: base, From: ch.Version, Metric: ch.Metric, Basis: ch.Basis, DType: ch.DType, Seed: ch.Seed, Drawn: ch.Drawn, Dim: ch.Dim,
		Count: ch.Count, IDs: ch.IDs, Coordinates: ch.Coordinates, Columns: ch.Columns}
	next.drawSeed()
	return next
}

// drawSeed draws the seed of a version unless the client gave one. Every version is rotated anew
// anyway, so knowledge about the rotation of an earlier version becomes useless.
func (ch *change) drawSeed() {
	if !ch.Drawn {
		return
	}
	b := make([]byte, 8)
	rand.Read(b) // never fails
	ch.Seed = binary.LittleEndian.Uint64(b)
}

// extend adds new rows to ch, which still describes the previous version; digits says that its strings are whole numbers throughout.
func (ch *change) extend(name string, s *staged, src *Source, digits bool) error {
	named := src.IDColumn != "" || src.IDs != nil
	if !named && ch.IDs != RowNumbers && s.layout.IDs != "" {
		s.origin.IDColumn, named = s.layout.IDs, true
	}
	ch.Warnings, ch.VectorColumns = s.dropped(named), s.layout.String()
	switch {
	case s.layout.Wide && !slices.Equal(s.origin.Like, ch.Coordinates), ch.IDs != RowNumbers && s.ignored():
		return problem.New(problem.Conflict, "collection %s was changed while the rows arrived", name).In("rows")
	case s.origin.Prepared:
		return problem.New(problem.InvalidValue, "%s: a prepared collection cannot be appended", s.origin.Called).In("source")
	case s.dim != ch.Dim:
		return problem.New(problem.WrongDimension, "%s: rows of %d columns, and those of collection %s have %d",
			s.origin.Called, s.dim, name, ch.Dim).In("rows").Within(ch.Dim)
	case ch.IDs == Strings && !named:
		return problem.New(problem.InvalidValue, "the ids of collection %s are strings, and the rows to append have none", name).
			In("ids").Within(Strings)
	case src.IDs != nil && ch.IDs == Strings && !digits && len(src.IDs.Names) < src.IDs.Len():
		return problem.New(problem.InvalidValue, "the ids of collection %s are strings, and those to append are integers", name).
			At("ids", 0).Within(Strings)
	case src.IDs != nil && ch.IDs != Strings && len(src.IDs.Ints) < src.IDs.Len():
		if err := src.IDs.refuseBeyond(problem.InvalidValue, "ids"); err != nil {
			return err
		}
		return problem.New(problem.InvalidValue, "the ids of collection %s are integers, and those to append are strings", name).
			At("ids", 0).Within(Integers)
	}
	ch.Rows = s.origin
	if ch.Count += s.rows; s.rows < 0 {
		ch.Count = 0
	}
	return nil
}

// printOf returns the fingerprint of a request.
func printOf(verb, name, content, column, idColumn string, options any) string {
	text, err := json.Marshal([]any{verb, name, content, column, idColumn, options})
	if err != nil {
		panic(err) // strings and numbers
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// Delete removes a collection. Running searches finish, and pinned versions stay available to
// requests that name them. A running build is stopped.
func (c *Catalog) Delete(name string) error {
	c.change.Lock()
	defer c.change.Unlock()
	defer c.endWrites(name)()
	c.mu.Lock()
	e, closed := c.entries[name], c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return draining()
	case e == nil:
		return unknown(name)
	}
	marked := c.versionsToMark(name, e)
	if err := c.markDeleted(marked); err != nil {
		return err
	}
	logged := c.loggedKeys(name)
	err := c.o.disk.At("record", name)
	if err == nil {
		err = c.db.Update(func(tx *bbolt.Tx) error {
			return errors.Join(bucket(tx, namesBucket).Delete([]byte(name)), c.keepPinned(tx, name, e.Ready), c.adoptKeys(tx, logged))
		})
	}
	if err != nil {
		return errors.Join(store.Full(err), c.unmarkDeleted(marked))
	}
	c.mu.Lock()
	delete(c.entries, name)
	if e.build != nil {
		e.build.cancel()
	}
	o := c.versions[ref{name, versionOf(e.Ready)}]
	gone := o != nil && o.retire()
	if o == nil {
		c.vacate(name)
	}
	c.mu.Unlock()
	if gone {
		o.dispose()
	}
	c.o.Log.Info("collection is deleted", "collection", name)
	return nil
}

// versionsToMark returns the versions that a deletion of a name marks: the one being built and all
// that are open, including those still pinned, which must not be adopted after the loss of
// the database and pins.
func (c *Catalog) versionsToMark(name string, e *entry) (all []*change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Next != nil {
		all = append(all, e.Next)
	}
	for r, o := range c.versions {
		if r.name == name {
			all = append(all, &o.change)
		}
	}
	return all
}
