package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/service/durable"
)

// manifest is what lies beside a version's files and says all that its record says, so that
// it can be used by whoever lost the database or has an older one.
type manifest struct {
	Name string `json:"name"`
	// Ready says that the version is made; before that the change is what it is to be made of.
	Ready  bool   `json:"ready"`
	Change change `json:"change"`
	// The idempotency key that the change was asked for under, and what it was asked for.
	Key         string `json:"key,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

const manifestKind = "version"

// manifest is the name of the version's manifest, and gone the one that it has while what it
// describes is being deleted.
func (c *change) manifest() string        { return c.Base + ".version" }
func (c *change) deletedManifest() string { return c.Base + ".gone" }

// writeManifest writes m, durably.
func (c *Catalog) writeManifest(m *manifest) error {
	return c.o.disk.PutNote(filepath.Join(c.dir, m.Change.manifest()), manifestKind, m)
}

// readManifest reads the manifest of a base.
func (c *Catalog) readManifest(base string) (*manifest, error) {
	m := &manifest{Change: change{Base: base}}
	if err := durable.Note(filepath.Join(c.dir, m.Change.manifest()), manifestKind, m); err != nil {
		return nil, err
	}
	if m.Change.Base != base || checkName(m.Name) != nil || m.Change.Version < 1 {
		return nil, fmt.Errorf("%s: %w: it is that of version %d of %q", base, durable.ErrNote, m.Change.Version, clip(m.Name))
	}
	return m, nil
}

// markReady has the manifest of a version that was made say so. The key that it was asked for
// under is as before.
func (c *Catalog) markReady(name string, ch *change) error {
	m := manifest{Name: name, Ready: true, Change: *ch}
	if before, err := c.readManifest(ch.Base); err == nil {
		m.Key, m.Fingerprint = before.Key, before.Fingerprint
	}
	return c.writeManifest(&m)
}

// markDeleted has the manifests of versions say that these are being deleted; unmarkDeleted takes that
// back. A manifest that is not there, or says so already, is left alone.
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

func (c *Catalog) renameFile(from, to string) error {
	from = filepath.Join(c.dir, from)
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return c.o.disk.Rename(from, filepath.Join(c.dir, to))
}
