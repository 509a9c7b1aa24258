package fetch

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// arrived is a file of an entry as it was when all of its bytes were there.
type arrived struct {
	Name     string `json:"name"` // below the folder of the entry's files, with slashes
	Bytes    int64  `json:"bytes"`
	Modified int64  `json:"modified"` // nanoseconds since 1970
	CRC32C   uint32 `json:"crc32c"`
}

// arrivedAt describes a file that has just arrived at path.
func arrivedAt(ctx context.Context, name, path string) (arrived, error) {
	sum, err := crcOf(ctx, path)
	if err != nil {
		return arrived{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return arrived{}, err
	}
	return arrived{name, info.Size(), info.ModTime().UnixNano(), sum}, nil
}

// crcOf returns the CRC-32C of a file.
func crcOf(ctx context.Context, path string) (uint32, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err = io.CopyBuffer(sum, withContext{ctx, file}, make([]byte, 1<<20))
	return sum.Sum32(), err
}

// isAt reports whether the file at path has the size and the time that it arrived with: nobody has written to it since.
func (a *arrived) isAt(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == a.Bytes && info.ModTime().UnixNano() == a.Modified
}

// isDamaged reports whether the file at path has other bytes than those that arrived. One that is not there is not damaged.
func (a *arrived) isDamaged(ctx context.Context, path string) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || info.Size() != a.Bytes || !info.Mode().IsRegular() {
		return true, nil
	}
	sum, err := crcOf(ctx, path)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err != nil || sum != a.CRC32C, nil // a disk that does not give the bytes back is one of the ways
}

// removeChanged removes the file at path if its bytes are others than those that arrived, so that it is fetched again.
func (a *arrived) removeChanged(ctx context.Context, path string) error {
	if a.isAt(path) {
		return nil
	}
	damaged, err := a.isDamaged(ctx, path)
	if err != nil || !damaged {
		return err
	}
	return os.RemoveAll(path)
}

// arrivals are the files of an entry by their names, nil if they are not stated.
func (s *state) arrivals() map[string]arrived {
	if s.Files == nil {
		return nil
	}
	all := make(map[string]arrived, len(s.Files))
	for _, a := range s.Files {
		all[a.Name] = a
	}
	return all
}

// FetchAgain fetches a name once more if reading was, what Fetch returned for it, failed with err because a copy in the cache is
// damaged: it names a file of the cache whose bytes are not those that arrived. Otherwise it returns err.
func (c *Cache) FetchAgain(ctx context.Context, name string, was *Set, err error) (*Set, error) {
	if err == nil || ctx.Err() != nil || !was.isNamedIn(err.Error()) {
		return nil, err
	}
	removed, failed := c.removeDamaged(ctx, was)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	if !removed {
		return nil, err
	}
	return c.Fetch(ctx, name)
}

// isNamedIn reports whether a text names a file of a set, by its path or its URL.
func (s *Set) isNamedIn(text string) bool {
	for path, url := range s.URLs {
		if strings.Contains(text, path) || strings.Contains(text, url) {
			return true
		}
	}
	return false
}

// removeDamaged removes the entries of a set that have files with other bytes than those that arrived, and reports whether
// there are any.
func (c *Cache) removeDamaged(ctx context.Context, s *Set) (removed bool, err error) {
	ids := map[string]bool{s.Entry: s.Entry != ""}
	for path := range s.URLs {
		if below, err := filepath.Rel(c.folder, path); err == nil && filepath.IsLocal(below) {
			id, _, _ := strings.Cut(filepath.ToSlash(below), "/")
			ids[id] = true
		}
	}
	for id, known := range ids {
		own, err := c.stateOf(id)
		if !known || err != nil {
			continue // nothing is known of it
		}
		for _, a := range own.Files {
			damaged, err := a.isDamaged(ctx, filepath.Join(c.folder, id, filesName, filepath.FromSlash(a.Name)))
			if err != nil {
				return removed, err
			}
			if !damaged {
				continue
			}
			gone, err := c.removeEntry(id)
			if err != nil {
				return removed, err
			}
			removed = removed || gone
			break
		}
	}
	return removed, nil
}
