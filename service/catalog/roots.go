package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"thresher/service/problem"
)

// roots are the folders that may contain clients' paths, with links resolved.
type roots []string

// openRoots resolves the links of the folders.
func openRoots(dirs []string) (roots, error) {
	var all roots
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return nil, fmt.Errorf("root %s: %w", dir, err)
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("root %s is not a folder", dir)
		}
		all = append(all, abs)
	}
	return all, nil
}

// resolve returns the regular file named by a client's path: absolute, or relative to the
// first root that contains it. Links are followed and must end in a root. A file outside the
// roots is reported like one that does not exist.
func (r roots) resolve(path string) (string, fs.FileInfo, error) {
	if len(r) == 0 {
		return "", nil, problem.New(problem.Forbidden, "paths are not accepted: no root is configured").In("source.path")
	}
	for _, root := range r {
		at := filepath.Clean(path)
		if !filepath.IsAbs(path) {
			if !filepath.IsLocal(path) {
				break
			}
			at = filepath.Join(root, path)
		}
		if strings.ContainsRune(path, 0) {
			break
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil || !r.contain(real) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil {
			continue
		}
		if !info.Mode().IsRegular() {
			return "", nil, notFile(path, info).In("source.path")
		}
		return real, info, nil
	}
	return "", nil, problem.New(problem.InvalidValue, "there is no file %q under the configured roots", path).In("source.path")
}

// contain reports whether a path without links lies in a root.
func (r roots) contain(path string) bool {
	for _, root := range r {
		rel, err := filepath.Rel(root, path)
		if err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// notFile refuses what is no file that rows are read of.
func notFile(path string, info fs.FileInfo) *problem.Problem {
	if info.IsDir() {
		return problem.New(problem.InvalidValue, "%q is a folder, and rows are those of one file: make the collection of one of its files and PUT or POST the rows of the others, or make one file of all by `thresher build --vectors`", path)
	}
	return problem.New(problem.InvalidValue, "%q is not a regular file (%s)", path, info.Mode().Type())
}
