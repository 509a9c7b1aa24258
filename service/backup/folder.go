package backup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"thresher/internal/atomicfile"
	"thresher/service/api"
	"thresher/store"
)

// descriptionName is the file of a backup that describes it. Without it a folder is no backup.
const descriptionName = "backup.json"

// description is the content of descriptionName.
type description struct {
	Format int `json:"format"` // descriptionFormat
	api.Backup
}

// descriptionFormat rises with a change that makes an older program restore something wrongly.
const descriptionFormat = 1

// nameTime is the layout of the time in the name of a backup.
const nameTime = "20060102T150405.000Z"

// namePattern matches the names of backups, and of those that are being made or removed.
func namePattern() *regexp.Regexp {
	return regexp.MustCompile(`^(\.?)backup-\d{8}T\d{6}\.\d{3}Z(\.new|\.old)?$`)
}

// folder is that of backups.
type folder struct{ dir string }

// begin makes the folder of a new backup, under its temporary name.
func (f folder) begin(at time.Time) (name, path string, err error) {
	for ; ; at = at.Add(time.Millisecond) {
		name = "backup-" + at.UTC().Format(nameTime)
		path = filepath.Join(f.dir, "."+name+".new")
		if _, err := os.Lstat(filepath.Join(f.dir, name)); err == nil {
			continue
		}
		err = os.Mkdir(path, 0o700)
		if !errors.Is(err, fs.ErrExist) {
			return name, path, store.Full(err)
		}
	}
}

// finish describes a backup and gives it its name.
func (f folder) finish(path string, b api.Backup) error {
	text, err := json.MarshalIndent(description{descriptionFormat, b}, "", "  ")
	if err != nil {
		return err
	}
	out, err := os.OpenFile(filepath.Join(path, descriptionName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return store.Full(err)
	}
	_, err = out.Write(append(text, '\n'))
	if err = errors.Join(err, out.Sync(), out.Close(), atomicfile.FlushFolder(path)); err != nil {
		return store.Full(err)
	}
	if err := os.Rename(path, filepath.Join(f.dir, b.Name)); err != nil {
		return store.Full(err)
	}
	return atomicfile.FlushFolder(f.dir)
}

// read reads the description of a backup.
func read(dir string) (api.Backup, error) {
	text, err := os.ReadFile(filepath.Join(dir, descriptionName))
	if errors.Is(err, fs.ErrNotExist) {
		return api.Backup{}, fmt.Errorf("%s is no backup: it has no %s, which a backup gets when it is complete", dir, descriptionName)
	}
	if err != nil {
		return api.Backup{}, err
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil || d.Format < 1 {
		return api.Backup{}, fmt.Errorf("%s: %s does not describe a backup", dir, descriptionName)
	}
	if d.Format > descriptionFormat {
		return api.Backup{}, fmt.Errorf("%s is a backup of format %d, made by thresher %s; this program reads formats up to %d", dir, d.Format, d.Program, descriptionFormat)
	}
	return d.Backup, nil
}

// list returns the complete backups, the newest first. Other folders are ignored.
func (f folder) list() ([]api.Backup, error) {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pattern := namePattern()
	var all []api.Backup
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || !pattern.MatchString(e.Name()) {
			continue
		}
		if b, err := read(filepath.Join(f.dir, e.Name())); err == nil {
			b.Name = e.Name()
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b api.Backup) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.Name, a.Name))
	})
	return all, nil
}

// sweep removes what backups and removals that were killed have left.
func (f folder) sweep() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	pattern := namePattern()
	for _, e := range entries {
		if parts := pattern.FindStringSubmatch(e.Name()); parts == nil || parts[1] == "" || parts[2] == "" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// retain removes the backups that are older than the newest keep without damage, and returns their
// names; 0 keeps all.
func (f folder) retain(keep int) (removed []string, err error) {
	if keep < 1 {
		return nil, nil
	}
	all, err := f.list()
	if err != nil {
		return nil, err
	}
	whole := 0
	for _, b := range all {
		if whole == keep {
			if err := f.remove(b.Name); err != nil {
				return removed, err
			}
			removed = append(removed, b.Name)
		} else if len(b.Damaged) == 0 {
			whole++
		}
	}
	return removed, nil
}

// remove removes a backup; one that is killed leaves nothing that looks like a backup.
func (f folder) remove(name string) error {
	gone := filepath.Join(f.dir, "."+name+".old")
	if err := os.Rename(filepath.Join(f.dir, name), gone); err != nil {
		return err
	}
	return errors.Join(atomicfile.FlushFolder(f.dir), os.RemoveAll(gone))
}
