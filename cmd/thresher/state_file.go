package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// linkedFile is the file that a symbolic link stands for, so that what replaces it does
// not replace the link; any other path is itself.
func linkedFile(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // whoever opens it has the error
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%s: is a link: %w", path, err)
	}
	return target, nil
}
