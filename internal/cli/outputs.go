package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Stdio is the path that means standard input or output.
const Stdio = "-"

// RefuseFolders refuses outputs whose names are those of folders, which are never
// overwritten.
func RefuseFolders(paths ...string) error {
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return fmt.Errorf("%s: is a directory", path)
		}
	}
	return nil
}

// RefuseExisting refuses outputs that exist.
func RefuseExisting(force bool, paths ...string) error {
	if err := RefuseFolders(paths...); err != nil {
		return err
	}
	if force {
		return nil
	}
	for _, path := range paths {
		_, err := os.Lstat(path)
		if err == nil {
			return fmt.Errorf("%s: %w; --overwrite overwrites it", path, fs.ErrExist)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
