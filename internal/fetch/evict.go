package fetch

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"thresher/internal/filelock"
)

// usersName is the folder of a cache in which each Cache that is open has a file with the names of the entries that it uses, which
// it holds locked. The lock of the folder is shared by those who write there, and held alone by who evicts.
const usersName = "users"

// goneSuffix ends the name of an entry that is being removed.
const goneSuffix = ".gone"

// unlockedAge is for how long entries are kept on systems without locks, which do not tell who uses them.
const unlockedAge = 24 * time.Hour

// hold keeps entries from being evicted until Close, and notes that they are used now. A cache in which nothing can be written is
// used all the same: nobody evicts there.
func (c *Cache) hold(ctx context.Context, entries []*cached) error {
	c.holding.Lock()
	defer c.holding.Unlock()
	dir := filepath.Join(c.folder, usersName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil // whoever writes an entry says why
	}
	gate, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer gate.Close() // which unlocks it
	if err := filelock.Share(ctx, gate); err != nil {
		return ctx.Err()
	}
	if c.held == nil {
		own, err := os.CreateTemp(dir, "*")
		if err != nil {
			return nil
		}
		if taken, err := filelock.Try(own); err != nil || !taken {
			return errors.Join(err, own.Close())
		}
		c.held = own
	}
	var names strings.Builder
	now := time.Now()
	for _, e := range entries {
		names.WriteString(e.id + "\n")
		os.Chtimes(filepath.Join(c.folder, e.id, stateName), now, now) //nolint:errcheck // of one that is new there is none yet
	}
	c.held.WriteString(names.String()) //nolint:errcheck // on a full disk what is there is used all the same
	return nil
}

// release lets others evict what hold was called for.
func (c *Cache) release() {
	c.holding.Lock()
	defer c.holding.Unlock()
	if c.held != nil {
		os.Remove(c.held.Name()) //nolint:errcheck // what stays is unlocked, and goes with the next eviction
		c.held.Close()
		c.held = nil
	}
}

// Evict removes the entries that were used the longest ago, until what is left has at most limit bytes, but none that a process
// fetches, or that an open Cache has fetched or found. It returns how many bytes are gone.
func (c *Cache) Evict(ctx context.Context, limit int64) (removed int64, err error) {
	dir := filepath.Join(c.folder, usersName)
	gate, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // nothing was fetched
	}
	if err != nil {
		return 0, err
	}
	defer gate.Close()
	if err := filelock.Wait(ctx, gate); err != nil {
		return 0, err
	}
	used, err := usedBy(dir)
	if err != nil {
		return 0, err
	}
	all, total, err := c.kept()
	if err != nil {
		return 0, err
	}
	for _, k := range all {
		if total-removed <= limit || ctx.Err() != nil {
			break
		}
		if used[k.id] || !filelock.Supported && time.Since(k.last) < unlockedAge {
			continue
		}
		gone, failed := c.removeEntry(k.id)
		if gone {
			removed += k.bytes
		}
		err = errors.Join(err, failed)
	}
	return removed, cmp.Or(ctx.Err(), err)
}

// usedBy returns the entries that are named by files of dir which a process holds, and removes the other files.
func usedBy(dir string) (map[string]bool, error) {
	users, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, user := range users {
		if !filelock.Supported {
			break
		}
		path := filepath.Join(dir, user.Name())
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) { // it has ended just now
			continue
		}
		if err != nil {
			return nil, err
		}
		free, err := filelock.Try(file)
		if err == nil && free { // it has died
			err = os.Remove(path)
		}
		if err = errors.Join(err, file.Close()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if free {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for id := range strings.FieldsSeq(string(text)) {
			used[id] = true
		}
	}
	return used, nil
}

// isEntry reports whether a name is one that newEntry gives: a cache may lie in a folder that has something else, too.
func isEntry(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 16
}

// keptEntry is an entry that can be evicted.
type keptEntry struct {
	id    string
	bytes int64
	last  time.Time // it was used
}

// kept returns the entries, those first that were used the longest ago, and how many bytes they have. What is left of entries
// that were being removed goes.
func (c *Cache) kept() (all []keptEntry, total int64, err error) {
	names, err := os.ReadDir(c.folder)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		id, gone := strings.CutSuffix(name.Name(), goneSuffix)
		if !isEntry(id) {
			continue
		}
		if gone {
			err = errors.Join(err, os.RemoveAll(filepath.Join(c.folder, name.Name())))
			continue
		}
		info, failed := os.Stat(filepath.Join(c.folder, name.Name(), stateName))
		if failed != nil {
			continue // no entry, or not yet
		}
		k := keptEntry{id: name.Name(), last: info.ModTime()}
		walked := filepath.WalkDir(filepath.Join(c.folder, k.id), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				k.bytes += info.Size()
			}
			return err
		})
		if walked != nil && !errors.Is(walked, fs.ErrNotExist) {
			err = errors.Join(err, walked)
			continue
		}
		all, total = append(all, k), total+k.bytes
	}
	slices.SortFunc(all, func(a, b keptEntry) int { return a.last.Compare(b.last) })
	return all, total, err
}

// RemoveOthers removes the former versions of a collection from the cache, as far as no process fetches them. What reads them goes
// on where files can be removed while they are open.
func (c *Cache) RemoveOthers(of *Set) error {
	if of.Entry == "" {
		return nil
	}
	own, err := c.stateOf(of.Entry)
	if err != nil {
		return err
	}
	all, err := os.ReadDir(c.folder)
	if err != nil {
		return err
	}
	var failed error
	for _, e := range all {
		if id, gone := strings.CutSuffix(e.Name(), goneSuffix); gone && isEntry(id) {
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(c.folder, e.Name())))
			continue
		}
		other, err := c.stateOf(e.Name())
		if e.Name() == of.Entry || err != nil || len(other.URLs) == 0 || other.URLs[0] != own.URLs[0] {
			continue // of others
		}
		_, err = c.removeEntry(e.Name())
		failed = errors.Join(failed, err)
	}
	return failed
}

// Remove removes what Fetch returned, of one collection, from the cache, unless a process fetches it: it is damaged, or not wanted.
func (c *Cache) Remove(s *Set) error {
	if s.Entry == "" {
		return nil
	}
	_, err := c.removeEntry(s.Entry)
	return err
}

// removeEntry removes an entry unless a process holds its lock, and reports whether it did.
func (c *Cache) removeEntry(id string) (bool, error) {
	dir := filepath.Join(c.folder, id)
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if taken, err := filelock.Try(lock); err != nil || !taken {
		return false, err
	}
	gone := dir + goneSuffix
	if err := errors.Join(os.RemoveAll(gone), os.Rename(dir, gone)); err != nil { // so that nobody takes the rest for whole
		return false, err
	}
	return true, os.RemoveAll(gone)
}
