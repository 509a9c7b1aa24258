package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"go.etcd.io/bbolt"

	"thresher/store"
)

// Found returns what Open found.
func (c *Catalog) Found() store.Found { return c.found }

// reconciliation compares the folder with the database. Decisions are carried out once all
// are made: first the records, then the files.
type reconciliation struct {
	c       *Catalog
	tx      *bbolt.Tx
	folder  map[string]*lying
	records map[string]record
	retired map[string]*manifest // of replaced versions that are pinned, by base
	pins    map[ref]bool

	put     map[string]record
	retain  []*manifest // of pinned versions that are recorded again
	keys    []*manifest
	numbers map[string]int64
	remove  []string
	keep    map[string]string   // files to be moved, and why
	write   []*manifest         // of versions from before manifests
	restore []*change           // marked as deleted, but still recorded
	adopted map[string][]string // by name: the description for the log
}

// reconcile updates the database with what lies in the folder, and the folder with what the
// database knows. The database takes precedence; versions that it does not know are described
// by their manifests, and the newest complete version of a name becomes its version. Only
// files with temporary names, of versions marked as deleted, superseded by a complete
// version, or recorded as failed are removed; all other unknown files are moved to
// lost+found.
func (c *Catalog) reconcile() error {
	unfinished := temporaryFile()
	err := c.o.disk.Sweep(c.dir, func(name string) bool { return !unfinished.MatchString(name) })
	if err != nil {
		return err
	}
	if err := c.sweepFolders(unfinished); err != nil {
		return err
	}
	folder, err := c.scan()
	if err != nil {
		return err
	}
	r := &reconciliation{c: c, folder: folder, records: map[string]record{}, retired: map[string]*manifest{}, pins: map[ref]bool{}, put: map[string]record{},
		numbers: map[string]int64{}, keep: map[string]string{}, adopted: map[string][]string{}}
	err = c.db.View(func(tx *bbolt.Tx) error {
		r.tx = tx
		if err := r.recall(); err != nil {
			return err
		}
		return r.decide()
	})
	if err != nil {
		return err
	}
	if err := c.db.Update(r.apply); err != nil {
		return store.Full(err)
	}
	return r.tidy()
}

// sweepFolders removes folders of vectors whose making was interrupted.
func (c *Catalog) sweepFolders(unfinished *regexp.Regexp) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && unfinished.MatchString(e.Name()) {
			if err := c.remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// recall reads the records of the database.
func (r *reconciliation) recall() error {
	for n, err := range eachNamed(r.tx) {
		if err != nil {
			return err
		}
		r.records[n.name] = n.record
		r.numbers[n.name] = max(versionOf(n.Ready), versionOf(n.Next), versionOf(n.Failed))
	}
	for v, err := range eachRetired(r.tx) {
		if err != nil {
			return err
		}
		r.numbers[v.name] = max(r.numbers[v.name], v.version)
		r.retired[v.Base] = &manifest{Name: v.name, Ready: true, Change: v.change}
	}
	return bucket(r.tx, pinsBucket).ForEach(func(key, _ []byte) error {
		_, pinned, err := cutPinKey(key)
		r.pins[pinned] = err == nil
		return nil
	})
}

// decide visits all names.
func (r *reconciliation) decide() error {
	strange := map[string][]*lying{} // by name: what the database does not know
	for _, base := range slices.Sorted(maps.Keys(r.folder)) {
		l := r.folder[base]
		if l.manifest != nil {
			r.numbers[l.name] = max(r.numbers[l.name], l.Change.Version)
		}
		rec := r.records[l.name]
		switch {
		case rec.Failed != nil && rec.Failed.Base == base && rec.Failed.Failure != nil:
			r.discard(l)
		case r.retired[base] != nil, rec.Ready != nil && rec.Ready.Base == base, rec.Next != nil && rec.Next.Base == base:
			r.known(l, rec)
		case l.deleted:
			r.discard(l)
		default:
			strange[l.name] = append(strange[l.name], l)
		}
	}
	names := slices.Collect(maps.Keys(r.records))
	names = slices.AppendSeq(names, maps.Keys(strange))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		r.settleVersions(name, strange[name])
	}
	return nil
}

// known checks the manifest of a version that the database knows.
func (r *reconciliation) known(l *lying, rec record) {
	if rec.Ready != nil && rec.Ready.Base == l.base && r.c.filesExist(rec.Ready) || r.retired[l.base] != nil {
		r.dropSources(l)
	}
	switch {
	case l.manifest != nil && l.deleted:
		r.remove = append(r.remove, l.Change.deletedManifest())
	case l.manifest != nil:
	case l.deleted && r.retired[l.base] == nil:
		r.restore = append(r.restore, &change{Base: l.base})
	case l.deleted:
	case r.retired[l.base] != nil:
		r.write = append(r.write, r.retired[l.base])
	case rec.Ready != nil && rec.Ready.Base == l.base:
		r.write = append(r.write, &manifest{Name: l.name, Ready: true, Change: *rec.Ready})
	case rec.Next != nil && rec.Next.Base == l.base:
		r.write = append(r.write, &manifest{Name: l.name, Change: *rec.Next})
	}
}

// settleVersions decides which versions of a name to keep.
func (r *reconciliation) settleVersions(name string, strange []*lying) {
	rec := r.records[name]
	there := rec.Ready != nil && r.c.filesExist(rec.Ready)
	var best *lying // among the built ones
	for _, l := range strange {
		if l.manifest == nil || !l.Ready || l.Change.CopyOf != 0 || there && l.Change.Version <= rec.Ready.Version ||
			best != nil && l.Change.Version < best.Change.Version {
			continue
		}
		if err := r.c.checkFiles(&l.Change); err != nil {
			l.why = err
			continue
		}
		best = l
	}
	if n := rec.Next; n != nil { // the one that was being built may be complete
		if l := r.folder[n.Base]; l != nil && l.manifest != nil && l.Ready && r.c.checkFiles(&l.Change) == nil &&
			(best == nil || l.Change.Version > best.Change.Version) {
			r.promote(name, l)
			best = l
		}
	}
	if best == nil && !there {
		best = r.derive(name, strange, rec)
	}
	ready := rec.Ready
	if best != nil {
		ready = &best.Change
		if r.promoted(name) == nil {
			r.adopt(name, best, rec)
		}
	}
	trusted := there && best == nil // the newest version is the database's
	next := r.nextChange(name, strange, ready, rec)
	for _, l := range strange {
		switch {
		case l == best || l == next:
		case l.intended(), l.manifest != nil && !l.Ready && r.empty(l):
			r.discard(l)
		case l.manifest != nil && l.Ready && r.pinned(name, l.Change.Version) && (l.Change.Version < versionOf(ready) || l.Change.CopyOf != 0) && r.c.checkFiles(&l.Change) == nil:
			r.dropSources(l)
			r.retain = append(r.retain, l.manifest)
			r.adopted[name] = append(r.adopted[name], fmt.Sprintf("version %d, which a batch uses", l.Change.Version))
		case l.manifest != nil && l.Ready && trusted && (l.Change.Version < rec.Ready.Version || l.Change.CopyOf != 0):
			r.discard(l)
		default:
			r.shelter(l, l.reason())
		}
	}
	if rec.Ready != nil && !there && best == nil {
		r.c.found.Missing = append(r.c.found.Missing, name)
	}
}

// reason says why files are not a usable collection.
func (l *lying) reason() string {
	switch {
	case l.manifest == nil:
		return fmt.Sprintf("no version that the database knows, and nothing says what it is (%v)", l.why)
	case l.why != nil:
		return fmt.Sprintf("version %d of collection %s is not whole: %v", l.Change.Version, l.name, l.why)
	}
	return fmt.Sprintf("version %d of collection %s, which the database does not know and another takes the place of", l.Change.Version, l.name)
}

// dropSources removes the sources of a version that is built.
func (r *reconciliation) dropSources(l *lying) {
	is := &change{Base: l.base}
	for _, file := range l.files {
		if !slices.Contains([]string{is.data(), is.ids(), is.columns(), is.folder(), is.manifest(), is.deletedManifest()}, file) {
			r.remove = append(r.remove, file)
		}
	}
}

// discard removes the files of a base, the mark of deletion last.
func (r *reconciliation) discard(l *lying) {
	says := &change{Base: l.base}
	last := []string{says.manifest(), says.deletedManifest()}
	for _, file := range l.files {
		if !slices.Contains(last, file) {
			r.remove = append(r.remove, file)
		}
	}
	for _, file := range last {
		if l.has(file) {
			r.remove = append(r.remove, file)
		}
	}
}

func (r *reconciliation) shelter(l *lying, why string) {
	for _, file := range l.files {
		r.keep[file] = why
	}
}

// promote makes a built version current that the database records as being built, as the
// process that built it would have done.
func (r *reconciliation) promote(name string, l *lying) {
	rec := r.records[name]
	if old := rec.Ready; old != nil && !r.pinned(name, old.Version) {
		if files := r.folder[old.Base]; files != nil {
			r.discard(files)
		}
	}
	r.dropSources(l)
	ch := l.Change
	rec.Ready, rec.Next, rec.Failed = &ch, nil, nil
	r.put[name] = rec
}

// promoted returns the decided record of a name.
func (r *reconciliation) promoted(name string) *record {
	if rec, ok := r.put[name]; ok {
		return &rec
	}
	return nil
}

// supersede removes the files of a version that a newer one replaces, unless it is pinned: to lost+found, or for good if the newer one
// is the folder that was made of it, and has its rows.
func (r *reconciliation) supersede(name string, old, by *change) {
	if l := r.folder[old.Base]; l != nil && r.retired[old.Base] == nil && !r.pinned(name, old.Version) {
		if by.Folder && by.From == old.Version {
			r.discard(l)
			return
		}
		r.shelter(l, fmt.Sprintf("version %d of collection %s, in the place of which a newer one was found", old.Version, name))
	}
}

func (r *reconciliation) pinned(name string, version int64) bool { return r.pins[ref{name, version}] }

// adopt makes a version that was found the current one.
func (r *reconciliation) adopt(name string, l *lying, rec record) {
	how := "found by its own files: the database did not know it"
	if rec.Ready != nil {
		how = fmt.Sprintf("found by its own files: the newest that the database knew was version %d", rec.Ready.Version)
		r.supersede(name, rec.Ready, &l.Change)
	}
	if l.Change.Adopted == "" {
		l.Change.Adopted = how
	}
	r.dropSources(l)
	ch := l.Change
	rec.Ready, rec.Failed = &ch, nil
	if rec.Next != nil && rec.Next.Version <= ch.Version {
		if stale := r.folder[rec.Next.Base]; stale != nil {
			r.shelter(stale, fmt.Sprintf("of version %d of collection %s, and version %d is there", rec.Next.Version, name, ch.Version))
		}
		rec.Next = nil
	}
	r.put[name] = rec
	r.keys = append(r.keys, l.manifest)
	r.adopted[name] = append(r.adopted[name], fmt.Sprintf("version %d, %d rows: %s", ch.Version, ch.Count, how))
}

// nextChange returns the change acknowledged after ready, if the database does not know it
// and all its sources exist.
func (r *reconciliation) nextChange(name string, strange []*lying, ready *change, rec record) *lying {
	if now := r.promoted(name); now != nil {
		rec = *now
	}
	if rec.Next != nil {
		return nil
	}
	var next *lying
	for _, l := range strange {
		if l.manifest != nil && !l.Ready && !l.intended() && l.Change.Version > versionOf(ready) && !r.empty(l) && r.sourced(l) &&
			(l.Change.From == 0 || l.Change.From == versionOf(ready)) && (next == nil || l.Change.Version > next.Change.Version) {
			next = l
		}
	}
	if next == nil {
		return nil
	}
	ch := next.Change
	rec.Ready, rec.Next = ready, &ch
	r.put[name] = rec
	r.keys = append(r.keys, next.manifest)
	r.adopted[name] = append(r.adopted[name], fmt.Sprintf("version %d, to be made: found by its own files", ch.Version))
	return next
}

// sourced reports whether the sources of a change exist, empty that its rows do not: they
// get their final name last.
func (r *reconciliation) sourced(l *lying) bool {
	return !slices.ContainsFunc(l.Change.sources(), func(name string) bool { return !l.has(name) })
}

func (r *reconciliation) empty(l *lying) bool {
	main := l.Change.Drop
	if o := l.Change.Rows; o != nil {
		main = o.File
	}
	return main != "" && !l.has(main) && !l.has(l.Change.data()) // else all it needs lies elsewhere
}

// derive makes a version of the newest collection file without a manifest, as written by
// early releases: its name is taken from the file name, its options from the file.
func (r *reconciliation) derive(name string, strange []*lying, rec record) *lying {
	bare := slices.DeleteFunc(slices.Clone(strange), func(l *lying) bool {
		return l.manifest != nil || l.deleted || !l.has(l.base+dataSuffix)
	})
	slices.SortFunc(bare, func(a, b *lying) int { return cmp.Compare(r.age(a), r.age(b)) })
	for _, l := range slices.Backward(bare) {
		ch, err := r.c.deduce(l)
		if err != nil {
			l.why = err
			continue
		}
		ch.Version = max(lastNumber(r.tx, name), r.numbers[name], versionOf(rec.Ready)) + 1
		r.numbers[name] = ch.Version
		ch.Adopted = "found by its file alone, which has no manifest: the version, and when it was made, are guesses"
		l.manifest = &manifest{Name: name, Ready: true, Change: *ch}
		r.write = append(r.write, l.manifest)
		return l
	}
	return nil
}

// age returns the time when a base's collection file was written.
func (r *reconciliation) age(l *lying) int64 {
	info, err := os.Stat(filepath.Join(r.c.dir, l.base+dataSuffix))
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}
