package catalog

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thresher/collection"
	"thresher/segments/folder"
)

// lying is what the folder contains of one base.
type lying struct {
	base, name string
	files      []string
	deleted    bool
	*manifest        // nil if there is none, or a damaged one
	why        error // why there is no manifest
}

func (l *lying) has(name string) bool { return slices.Contains(l.files, name) }

// scan lists the folder by bases.
func (c *Catalog) scan() (map[string]*lying, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	all := map[string]*lying{}
	version := versionFile()
	for _, e := range entries {
		if !e.Type().IsRegular() && !(e.IsDir() && strings.HasSuffix(e.Name(), folderSuffix)) {
			continue
		}
		parts := version.FindStringSubmatch(e.Name())
		if parts == nil {
			continue // not a file of the catalog
		}
		l := all[parts[1]]
		if l == nil {
			l = &lying{base: parts[1], name: parts[2]}
			all[l.base] = l
		}
		l.files = append(l.files, e.Name())
	}
	for _, l := range all {
		l.deleted = l.has((&change{Base: l.base}).deletedManifest())
		if l.manifest, l.why = c.readManifest(l.base); l.manifest != nil {
			l.name = l.manifest.Name
		}
	}
	return all, nil
}

// filesExist reports whether a version's files exist with the right sizes.
func (c *Catalog) filesExist(ch *change) bool {
	if ch.Folder {
		return folder.Is(filepath.Join(c.dir, ch.folder()))
	}
	if _, err := collection.Stat(filepath.Join(c.dir, ch.data())); err != nil {
		return false
	}
	if ch.Columns != nil {
		if _, err := os.Stat(filepath.Join(c.dir, ch.columns())); err != nil {
			return false
		}
	}
	if ch.IDs == RowNumbers {
		return true
	}
	_, err := os.Stat(filepath.Join(c.dir, ch.ids()))
	return err == nil
}

// checkFiles reads all files of a version and returns what is wrong with them.
func (c *Catalog) checkFiles(ch *change) error {
	if ch.Folder {
		return folder.Check(context.Background(), filepath.Join(c.dir, ch.folder()))
	}
	col, err := collection.Open(filepath.Join(c.dir, ch.data()))
	if err != nil {
		return err
	}
	n := col.N
	if err := col.Close(); err != nil {
		return err
	}
	if ch.Columns != nil {
		if _, err := readColumns(filepath.Join(c.dir, ch.columns()), rowNumbers(n)); err != nil {
			return err
		}
	}
	if ch.IDs == RowNumbers {
		return nil
	}
	ids, err := readIDs(filepath.Join(c.dir, ch.ids()))
	if err != nil {
		return err
	}
	if ids.n != n {
		return fmt.Errorf("%w: %d ids of %d rows", errIDs, ids.n, n)
	}
	return nil
}

// deduce derives a change from the contents of a version's files.
func (c *Catalog) deduce(l *lying) (*change, error) {
	ch := &change{Base: l.base, IDs: RowNumbers}
	path := filepath.Join(c.dir, ch.data())
	col, err := collection.Open(path)
	if err != nil {
		return nil, err
	}
	defer col.Close()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	ch.CreatedAt, ch.Seed = info.ModTime().UTC(), col.Seed
	ch.Metric, ch.Basis, ch.Dim = col.Metric.String(), col.Basis.String(), col.Dim
	ch.Count, ch.NextID, ch.Bytes = int64(col.N), int64(col.N), col.Bytes()
	ch.keptAs(col)
	if l.has(ch.columns()) {
		kept, err := readColumns(filepath.Join(c.dir, ch.columns()), rowNumbers(col.N))
		if err != nil {
			return nil, err
		}
		ch.Columns, ch.Bytes = kept.Fields(), ch.Bytes+kept.Bytes()
	}
	if !l.has(ch.ids()) {
		return ch, nil
	}
	ids, err := readIDs(filepath.Join(c.dir, ch.ids()))
	if err != nil {
		return nil, err
	}
	if ids.n != col.N {
		return nil, fmt.Errorf("%w: %d ids of %d rows", errIDs, ids.n, col.N)
	}
	b := newIDsBuilder(Integers, 0)
	for row := range int64(ids.n) {
		if ids.kind == Integers {
			b.addInt(ids.Int(row))
		}
	}
	ch.IDs, ch.NextID, ch.Bytes = ids.kind, b.next, ch.Bytes+ids.bytes()
	return ch, nil
}
