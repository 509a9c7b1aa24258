package fetch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"thresher/columns"
	"thresher/dataset"
)

// Set is what a name stands for, on this machine.
type Set struct {
	// Path is the only file, the prepared collection, or the folder of vectors that change; "" if the name stands for
	// several files.
	Path string
	// Files are all files to read, at least one; of a folder of vectors that change nil.
	Files []string
	// URLs are those of the files, by their paths here; files of this machine have none.
	URLs map[string]string
	// Version identifies the bytes of a collection and of a folder of vectors that change: by the tags that the stores state,
	// the same of copies in other places if these state the same; or, if a store states none that promise the same bytes, by
	// a digest of them. Modified is when the newest file was written, zero if that is not stated.
	Version  string
	Modified time.Time
	// Entry is the folder of the cache that has it, of one collection; Kept says that it was there before.
	Entry string
	Kept  bool
}

// collectionSuffix ends the names of prepared collections.
const collectionSuffix = ".thresher"

// Fetch brings what a name stands for to the cache, unless it is there: an object, those below a prefix, as of a folder, or
// that match a pattern, as dataset.FindFiles has it of this machine; a web page; a collection that is prepared, with its ids
// and columns; a folder of vectors that change; or several files, separated by commas, of which some may be of this machine.
//
// Errors are of type *Error, those of files of this machine of *dataset.Error. If ctx ends, what arrived stays, and the next
// Fetch goes on with it.
func (c *Cache) Fetch(ctx context.Context, name string) (*Set, error) {
	return c.FetchVersion(ctx, name, "")
}

// FetchVersion is Fetch of a collection, or a folder of vectors that change, that must have a Version; "" is any. Another is refused
// before it is fetched if the stores state tags, and else removed again.
func (c *Cache) FetchVersion(ctx context.Context, name, version string) (*Set, error) {
	if names := strings.Split(name, ","); len(names) > 1 {
		return c.fetchList(ctx, names)
	}
	l, err := parse(name)
	if err != nil {
		return nil, err
	}
	from, err := c.source(ctx, &l)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(l.name, collectionSuffix):
		return c.fetchCollection(ctx, from, l, version)
	case l.kind == "http" || l.kind == "https":
	default:
		is, err := c.isFolder(ctx, from, l)
		if err != nil {
			return nil, err
		}
		if is {
			return c.fetchFolder(ctx, from, l, version)
		}
	}
	objects, err := c.find(ctx, from, l)
	if err != nil {
		return nil, err
	}
	set, err := c.fetchFiles(ctx, objects)
	if err == nil && len(set.Files) == 1 {
		set.Path = set.Files[0]
	}
	return set, err
}

// fetchList fetches several names.
func (c *Cache) fetchList(ctx context.Context, names []string) (*Set, error) {
	all := &Set{URLs: map[string]string{}}
	var objects []object // of one with an empty key: that of the name here
	var locals []string
	for _, name := range names {
		switch name {
		case "":
			return nil, fmt.Errorf("%s: a name between commas is empty", Shown(strings.Join(names, ",")))
		case "-":
			return nil, errors.New("standard input cannot be one of several files")
		}
		if !Is(name) {
			set, err := dataset.FindFiles(name)
			if err != nil {
				return nil, err
			}
			for _, path := range set.Paths() {
				objects, locals = append(objects, object{}), append(locals, path)
			}
			continue
		}
		l, err := parse(name)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(l.name, collectionSuffix) {
			return nil, &Error{URL: l.shown, Err: errors.New("a prepared collection cannot be one of several files")}
		}
		from, err := c.source(ctx, &l)
		if err != nil {
			return nil, err
		}
		found, err := c.find(ctx, from, l)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			objects, locals = append(objects, o), append(locals, "")
		}
	}
	var remote []object
	for _, o := range objects {
		if o.from != nil {
			remote = append(remote, o)
		}
	}
	set, err := c.fetchFiles(ctx, remote)
	if err != nil {
		return nil, err
	}
	all.URLs = set.URLs
	for i := range objects {
		if objects[i].from == nil {
			all.Files = append(all.Files, locals[i])
			continue
		}
		all.Files, set.Files = append(all.Files, set.Files[0]), set.Files[1:]
	}
	return all, nil
}

// fetchFiles fetches objects that are files by themselves.
func (c *Cache) fetchFiles(ctx context.Context, objects []object) (*Set, error) {
	var entries []*cached
	set := &Set{URLs: map[string]string{}}
	for _, o := range objects {
		e := newEntry(member{o, fileName(&o.location)})
		entries = append(entries, e)
		path := c.at(e, e.files[0].name)
		set.Files, set.URLs[path] = append(set.Files, path), o.shown
	}
	return set, c.fetch(ctx, entries)
}

// fileName returns the name that an object has below its entry: its own, in the folders that state keys of partitions.
func fileName(l *location) string {
	var kept []string
	dir, base := path.Split(l.name)
	for part := range strings.SplitSeq(dir, "/") {
		if strings.Contains(part, "=") {
			kept = append(kept, part)
		}
	}
	return localName(path.Join(append(kept, base)...))
}

// find returns the objects that a name stands for, in the order of dataset.FindFiles.
func (c *Cache) find(ctx context.Context, from source, l location) ([]object, error) {
	switch {
	case l.kind == "http" || l.kind == "https":
		o, err := from.stat(ctx, l)
		return []object{o}, err
	case l.isPattern():
		return findMatches(ctx, from, l)
	case l.key != "" && !strings.HasSuffix(l.key, "/"):
		o, err := from.stat(ctx, l)
		if err == nil {
			return []object{o}, nil
		}
		if !errors.Is(err, errMissing) {
			return nil, err
		}
		found, other := findBelow(ctx, from, l.at(l.key+"/"))
		var e *Error
		if errors.Is(other, errNothing) || errors.Is(other, errDenied) {
			return nil, err
		}
		if errors.As(other, &e) && e.Status != 0 {
			e.URL = l.shown // without the slash
		}
		return found, other
	}
	return findBelow(ctx, from, l)
}

// errNothing says that no object has a prefix.
var errNothing = errors.New("no object is there")

// findBelow returns the objects below a prefix that ends in a slash, or is empty.
func findBelow(ctx context.Context, from source, l location) ([]object, error) {
	byName := map[string]object{}
	var names []string
	if err := from.list(ctx, l, func(o object) error {
		name := strings.TrimPrefix(o.key, l.key)
		names, byName[name] = append(names, name), o
		return nil
	}); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, &Error{URL: l.shown, Err: errNothing}
	}
	chosen, err := dataset.FilesAmong(l.shown, names)
	if err != nil {
		return nil, asError(&l, err)
	}
	var all []object
	for _, name := range chosen {
		all = append(all, byName[name])
	}
	return all, nil
}

// findMatches returns the objects that match a pattern, and those below the folders that do.
func findMatches(ctx context.Context, from source, l location) ([]object, error) {
	fixed := l.key[:strings.IndexAny(l.key, "*?[")]
	byName := map[string]object{}
	var names []string
	if err := from.list(ctx, l.at(fixed), func(o object) error {
		names, byName[o.key] = append(names, o.key), o
		return nil
	}); err != nil {
		return nil, err
	}
	chosen, err := dataset.MatchesAmong(l.shown, l.key, names)
	if err != nil {
		return nil, asError(&l, err)
	}
	var all []object
	for _, name := range chosen {
		all = append(all, byName[name])
	}
	return all, nil
}

// asError returns an error of dataset, which names a file in another way, as one of a URL.
func asError(l *location, err error) error {
	var e *dataset.Error
	if !errors.As(err, &e) {
		return &Error{URL: l.shown, Err: err}
	}
	return &Error{URL: e.File, Err: e.Err}
}

// manifestName is the file by which package segments/folder knows its folders, and verifiedName the one that those who only read a folder
// write in it, also in that of the cache. It holds for one copy of the files.
const manifestName, verifiedName = "manifest.json", "verified.json"

// isFolder reports whether a folder of vectors that change is at l.
func (c *Cache) isFolder(ctx context.Context, from source, l location) (bool, error) {
	if l.isPattern() || l.key == "" {
		return false, nil
	}
	_, err := from.stat(ctx, l.at(strings.TrimSuffix(l.key, "/")+"/"+manifestName))
	return err == nil, ctx.Err() // whatever else is wrong is found, and said, by looking for l itself
}

// fetchFolder fetches a folder of vectors that change.
func (c *Cache) fetchFolder(ctx context.Context, from source, l location, version string) (*Set, error) {
	l = l.at(strings.TrimSuffix(l.key, "/") + "/")
	var files []member
	if err := from.list(ctx, l, func(o object) error {
		if name := strings.TrimPrefix(o.key, l.key); localName(name) == name && name != verifiedName {
			files = append(files, member{o, name})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return c.fetchWhole(ctx, newEntry(files...), "", version)
}

// fetchCollection fetches a prepared collection, with its ids and columns if it has any.
func (c *Cache) fetchCollection(ctx context.Context, from source, l location, version string) (*Set, error) {
	main, err := from.stat(ctx, l)
	if err != nil {
		return nil, err
	}
	base := localName(l.base())
	files := []member{{main, base}}
	for _, suffix := range []string{dataset.SavedIDsSuffix, columns.SavedSuffix} {
		o, err := from.stat(ctx, l.beside(suffix))
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, member{o, base + suffix})
	}
	return c.fetchWhole(ctx, newEntry(files...), base, version)
}

// fetchWhole fetches an entry of files that are read together; path is what is opened below it, and version the one to have, "" for any.
func (c *Cache) fetchWhole(ctx context.Context, e *cached, path, version string) (*Set, error) {
	set := &Set{Path: c.at(e, path), URLs: map[string]string{}, Version: e.version(), Modified: e.modified(), Entry: e.id}
	for _, f := range e.files {
		set.URLs[c.at(e, f.name)] = f.shown
	}
	if path != "" {
		set.Files = []string{set.Path}
	} else if len(e.files) > 0 {
		set.URLs[set.Path] = strings.TrimSuffix(e.files[0].shown, "/"+e.files[0].name)
	}
	other := func() error {
		return &Error{URL: e.files[0].shown, Err: fmt.Errorf("%w %s, and @%s is asked for", errVersion, set.Version, version)}
	}
	if e.strong() && version != "" && version != set.Version {
		return nil, other()
	}
	set.Kept = e.lasts() && c.isWhole(e)
	if err := c.fetch(ctx, []*cached{e}); err != nil || e.strong() {
		return set, err
	}
	now, err := c.stateOf(e.id)
	if err != nil {
		return nil, c.placed(e, err)
	}
	if set.Version = now.Digest; version == "" || version == set.Version {
		return set, nil
	}
	err = other()
	if !set.Kept {
		_, failed := c.removeEntry(e.id)
		err = errors.Join(err, failed)
	}
	return nil, err
}
