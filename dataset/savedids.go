package dataset

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// SavedIDsSuffix is what the name of a prepared collection is followed by in the name of the file of its ids, which
// the Python package and the Go library write beside it.
const SavedIDsSuffix = ".ids.npz"

// SavedIDsArray is the array of the ids in that file. The other, collection, has a digest of the collection's header.
const SavedIDsArray = "ids"

// savedHeader is how many bytes at the start of a collection the digest is of.
const savedHeader = 1 << 14

// SavedIDs reads the ids of the n atoms of the prepared collection at path from the file that lies beside it, by row;
// nil if there is none. Ids of another collection, twice the same, or of another number are an error. Errors
// are of type *Error.
func SavedIDs(path string, n int) (*IDs, error) {
	name := path + SavedIDsSuffix
	src, err := openSource(name, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer src.Close()
	entries, err := listNPZ(src)
	if err != nil {
		return nil, err
	}
	if err := ofCollection(src, entries, path); err != nil {
		return nil, err
	}
	e, err := chooseArray(name, entries, []string{SavedIDsArray})
	if err != nil {
		return nil, err
	}
	if e == nil {
		return nil, fail(name, "npz holds no array %s; it holds %s", SavedIDsArray, listed(entryNames(entries)))
	}
	ids, err := e.ids(src, n)
	if err != nil {
		return nil, err
	}
	if err := CheckKept(name, ids); err != nil {
		return nil, err
	}
	return ids, CheckUnique(name, ids)
}

// ofCollection refuses ids that were not saved with the collection at path.
func ofCollection(src *source, entries []npzEntry, path string) error {
	name := src.name
	e, err := chooseArray(name, entries, []string{"collection"})
	if err != nil {
		return err
	}
	if e == nil {
		return fail(name, "npz holds no array collection, which says whose ids these are; it holds %s", listed(entryNames(entries)))
	}
	said, err := e.text(src)
	if err != nil {
		return located(name+":collection", -1, err)
	}
	digest, err := CollectionDigest(path)
	if err != nil {
		return err
	}
	if digest != said {
		return fail(name, "has the ids of another collection than %s; save both again, or move this file away to use row numbers", path)
	}
	return nil
}

// CollectionDigest returns the SHA-256, in hexadecimal, of the header of the collection at path, by which files that lie
// beside it and runs over it know it: the header begins with its own checksum and has those of all other bytes in use, so that
// files of the same digest hold the same collection, if they are not damaged. Errors are of type *Error.
func CollectionDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", located(path, -1, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, savedHeader)); err != nil {
		return "", located(path, -1, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// ids reads an array of n ids.
func (e *npzEntry) ids(src *source, n int) (*IDs, error) {
	a := e.array(src)
	if len(e.header.shape) != 1 || e.header.shape[0] != int64(n) {
		return nil, fail(a.name, "ids are one a vector, an array of shape (%d,); this one's is %v", n, e.header.shape)
	}
	if err := a.checkIDs(); err != nil {
		return nil, located(a.name, -1, err)
	}
	if err := a.open(src, e); err != nil {
		return nil, err
	}
	var ids IDsBuilder
	for row := range n {
		id, err := a.id()
		if err != nil {
			return nil, failAt(a.name, int64(row), -1, "%w", err)
		}
		ids.Add(id)
	}
	return ids.IDs(), a.finish(fmt.Sprintf("%d ids", n))
}

// WriteSavedIDs writes the ids of the prepared collection at path, one an atom, as the file that lies beside it has
// them: as int64 while all are whole numbers that fit, else as uint64 if all are whole numbers, else as texts.
func WriteSavedIDs(out io.Writer, path string, ids *IDs) error {
	if err := CheckKept(path, ids); err != nil {
		return err
	}
	if err := CheckUnique(path, ids); err != nil {
		return err
	}
	digest, err := CollectionDigest(path)
	if err != nil {
		return err
	}
	var form idForm
	n := int64(ids.Len())
	for row := range n {
		id := ids.Text(row)
		form.see(id)
		form.texts = form.texts || id == noID
	}
	t := tableOf([]field[string]{{form.column(SavedIDsArray, false), func(c *tableCell, id *string) { c.text = *id }}}, func(do func(id *string) error) error {
		for row := range n {
			id := ids.Text(row)
			if err := do(&id); err != nil {
				return err
			}
		}
		return nil
	})
	t.rows = n
	w := npzWriter{zip.NewWriter(out)}
	if err := w.columns(t); err != nil {
		return err
	}
	if err := w.whole("collection", fact{typ: Text, text: digest}.array()); err != nil {
		return err
	}
	return w.z.Close()
}

// noID stands for no atom among uint64.
const noID = "18446744073709551615"
