package catalog

import (
	"errors"
	"fmt"
	"path/filepath"

	"thresher/store"
)

// manifest is a file next to a version's files that repeats the version's record, so that the
// version can be used if the database is lost or older.
type manifest struct {
	Name string `json:"name"`
	// Ready says that the version is built; before that, Change describes what it is to be
	// built from.
	Ready  bool   `json:"ready"`
	Change change `json:"change"`
	// The idempotency key of the change, and its fingerprint.
	Key         string `json:"key,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

const manifestKind = "version"

// manifest returns the name of the version's manifest; deletedManifest is its name while the
// version is being deleted.
func (ch *change) manifest() string        { return ch.Base + ".version" }
func (ch *change) deletedManifest() string { return ch.Base + ".gone" }

// writeManifest writes m, durably.
func (c *Catalog) writeManifest(m *manifest) error {
	return c.o.disk.PutNote(filepath.Join(c.dir, m.Change.manifest()), manifestKind, m)
}

// readManifest reads the manifest of a base.
func (c *Catalog) readManifest(base string) (*manifest, error) {
	m := &manifest{Change: change{Base: base}}
	if err := store.Note(filepath.Join(c.dir, m.Change.manifest()), manifestKind, m); err != nil {
		return nil, err
	}
	if m.Change.Base != base || checkName(m.Name) != nil || m.Change.Version < 1 {
		return nil, fmt.Errorf("%s: %w: it is that of version %d of %q", base, store.ErrNote, m.Change.Version, clip(m.Name))
	}
	return m, nil
}

// markReady rewrites the manifest of a version that was built. It keeps the idempotency key
// of the change.
func (c *Catalog) markReady(name string, ch *change) error {
	m := manifest{Name: name, Ready: true, Change: *ch}
	if before, err := c.readManifest(ch.Base); err == nil {
		m.Key, m.Fingerprint = before.Key, before.Fingerprint
	}
	return c.writeManifest(&m)
}

// markDeleted renames the manifests of versions that are being deleted; unmarkDeleted undoes
// that. Manifests that are missing or already renamed are skipped.
func (c *Catalog) markDeleted(all []*change) error {
	for _, ch := range all {
		if err := c.renameFile(ch.manifest(), ch.deletedManifest()); err != nil {
			return errors.Join(err, c.unmarkDeleted(all))
		}
	}
	return nil
}

func (c *Catalog) unmarkDeleted(all []*change) error {
	var err error
	for _, ch := range all {
		err = errors.Join(err, c.renameFile(ch.deletedManifest(), ch.manifest()))
	}
	return err
}

// renameFile renames a file, unless it is missing. The version of a manifest may be released, and its
// files removed, at any moment.
func (c *Catalog) renameFile(from, to string) error {
	return c.o.disk.RenameExisting(filepath.Join(c.dir, from), filepath.Join(c.dir, to))
}
