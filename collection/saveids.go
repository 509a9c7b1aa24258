package collection

import (
	"errors"
	"io/fs"
	"os"

	"thresher/dataset"
	"thresher/internal/atomicfile"
)

// SaveIDs writes the ids of the collection file at path, one a row, to the file beside it that dataset.SavedIDs
// reads, and makes it durable. With nil ids it removes such a file, which is that of a collection that was there.
func SaveIDs(path string, ids *dataset.IDs) error {
	beside := path + dataset.SavedIDsSuffix
	if ids == nil {
		if err := os.Remove(beside); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	out, err := atomicfile.Create(beside, 0o644)
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := dataset.WriteSavedIDs(out, path, ids); err != nil {
		return err
	}
	return out.Commit(true)
}
