package main

import (
	"errors"
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

// createNext makes the file that will replace path. Whoever has the lock is alone with
// its name: what a killed run left, or a link that somebody put there, is removed and
// not written to.
func createNext(path string, mode fs.FileMode) (f *os.File, next string, err error) {
	next = filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	f, err = os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	return f, next, err
}

// syncFolder makes the name path durable, of a file that got it. Systems that lock no
// files flush no folders either.
func syncFolder(path string) error {
	if !locks {
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
