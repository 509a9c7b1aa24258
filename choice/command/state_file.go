package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// linkedFile resolves a symbolic link, so that replacing the file does not replace the
// link. Other paths are returned unchanged.
func linkedFile(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // opening it reports the error
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%s: is a link: %w", path, err)
	}
	return target, nil
}
