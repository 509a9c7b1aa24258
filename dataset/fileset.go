package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// FileSet are the files that a name stands for, which are read one after the other as one.
type FileSet struct {
	Name  string     // as given
	Files []PartFile // at least one
}

// PartFile is one of a FileSet.
type PartFile struct {
	Path string
	// Keys are what the names of its folders say of its rows, the outermost first, as Hive, Spark and
	// pyarrow write partitions: country=de/year=2024.
	Keys []PartitionKey
}

// PartitionKey is what the name of a folder says of all rows of the files in it.
type PartitionKey struct {
	Name, Value string
	Null        bool // the rows have no value; Value is empty
}

// hiveNull is the value by which a folder is called whose rows have none.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// FindFiles returns the files that name stands for: the file of this name; those in the folder of this name
// and in its folders; those that match a pattern (filepath.Glob), also of folders; or those of several names,
// separated by commas. A file or folder that exists is meant, whatever characters its name has.
//
// The files of a folder or a pattern are in the order of their names, in which numbers are compared as such:
// part-2 comes before part-10. Those that begin with a point or an underscore, such as _SUCCESS, are left out.
// Several files have one format; for what is none of vectors there is no room in a folder. Errors are of type
// *Error.
func FindFiles(name string) (*FileSet, error) {
	paths, err := namedFiles(name, true)
	if err != nil {
		return nil, located(name, -1, err)
	}
	return FileSetOf(name, paths)
}

// FileSetOf returns the set of files that were found otherwise, as in object storage, under a name.
func FileSetOf(name string, paths []string) (*FileSet, error) {
	set := &FileSet{Name: name}
	for _, path := range paths {
		set.Files = append(set.Files, PartFile{Path: path, Keys: PartitionKeys(path)})
	}
	return set, set.check()
}

// Paths returns the paths of the files.
func (s *FileSet) Paths() []string {
	paths := make([]string, len(s.Files))
	for i := range s.Files {
		paths[i] = s.Files[i].Path
	}
	return paths
}

// namedFiles returns the paths of the files that name stands for; several says that it may be a list.
func namedFiles(name string, several bool) ([]string, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return filesIn(name)
	case err == nil || name == "-":
		return []string{name}, nil
	case several && strings.Contains(name, ","):
		return listedFiles(name)
	case strings.ContainsAny(name, "*?["):
		return matchedFiles(name)
	}
	return []string{name}, nil // opening it says what is wrong
}

// listedFiles returns the files of names that are separated by commas, in that order.
func listedFiles(names string) (all []string, err error) {
	for name := range strings.SplitSeq(names, ",") {
		switch name {
		case "":
			return nil, errors.New("a name between commas is empty")
		case "-":
			return nil, errors.New("standard input cannot be one of several files")
		}
		paths, err := namedFiles(name, false)
		if err != nil {
			return nil, located(name, -1, err)
		}
		all = append(all, paths...)
	}
	return all, nil
}

// matchedFiles returns the files that match a pattern, and those in the folders that do.
func matchedFiles(pattern string) (all []string, err error) {
	if strings.Contains(pattern, "**") {
		return nil, errStars
	}
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil, errPattern
	}
	slices.SortFunc(matches, comparePaths)
	for _, path := range matches {
		if isAside(filepath.Base(path)) {
			continue
		}
		paths, err := namedFiles(path, false)
		if err != nil {
			return nil, located(path, -1, err)
		}
		all = append(all, paths...)
	}
	if len(all) == 0 {
		return nil, errNoMatch
	}
	return all, nil
}

// filesIn returns the files in a folder and in its folders.
func filesIn(folder string) (all []string, err error) {
	if changes(folder) {
		return nil, Changing(folder)
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == folder:
			return nil
		case isAside(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case isAside(entry.Name()), entry.IsDir():
			return nil
		}
		info, err := os.Stat(path) // of what a link leads to
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return fail(path, "is a link to a folder, and such links are not followed")
		case !info.Mode().IsRegular():
			return fail(path, "is no plain file")
		}
		all = append(all, path)
		return mayBePart(path, filepath.Join(folder, "*.parquet"))
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoFiles
	}
	slices.SortFunc(all, comparePaths)
	return all, nil
}

// changes reports whether path is a folder of package segments/folder: its manifest is there, and a log or a segment.
func changes(path string) bool {
	if _, err := os.Stat(filepath.Join(path, "manifest.json")); err != nil {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		number, kind, _ := strings.Cut(e.Name(), ".")
		_, err := strconv.ParseUint(number, 10, 64)
		return err == nil && (kind == "log" || kind == "thresher")
	})
}

// Changing is the error of a folder of vectors that change where files of vectors are read.
func Changing(name string) error {
	return fmt.Errorf("is a folder of vectors that change, which the commands of thresher read as it is; elsewhere one file of them is opened: thresher build --vectors %s --metric NAME --out FILE.thresher makes it, with --columns all of a folder that has columns", name)
}

var (
	errNoFiles = errors.New("the folder has no files of vectors")
	errNoMatch = errors.New("no file matches the pattern")
	errPattern = errors.New("the pattern is malformed")
	errStars   = errors.New("no pattern has **; the name of a folder stands for all files in it and in its folders")
)

// mayBePart refuses a file of a folder that has no format of vectors by its name; pattern is one that leaves such files out.
func mayBePart(path, pattern string) error {
	if strings.HasSuffix(path, ".thresher") {
		return fail(path, "is a prepared collection, in a folder whose files are read as one collection of vectors; prepared collections are searched one by one, or together by thresher.ray or thresher.spark; a pattern such as %s names the vectors among them", pattern)
	}
	if f, _ := FormatOf(path); f == Unknown || codecOf(f).answersOnly {
		return fail(path, "is of no format of vectors by its name, in a folder whose files are read as one; a pattern such as %s names those that are meant", pattern)
	}
	return nil
}

// FilesAmong returns which files FindFiles reads of a folder that is elsewhere, as in object storage, in their order. names are all
// files in it and in its folders, relative to it, with slashes. folder is its name in errors, which are of type *Error.
func FilesAmong(folder string, names []string) ([]string, error) {
	chosen, err := partsAmong(folder, names, 0)
	if err == nil && len(chosen) == 0 {
		err = errNoFiles
	}
	return chosen, located(folder, -1, err)
}

// MatchesAmong returns which of names, all files of a place elsewhere, FindFiles reads for a pattern, in their order. Pattern and
// names are relative to the same folder and have slashes; shown is what errors call the pattern. They are of type *Error.
func MatchesAmong(shown, pattern string, names []string) ([]string, error) {
	if strings.Contains(pattern, "**") {
		return nil, located(shown, -1, errStars)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, located(shown, -1, errPattern)
	}
	depth := strings.Count(pattern, "/") + 1
	var files, within []string
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) < depth || isAside(parts[depth-1]) {
			continue
		}
		if ok, _ := path.Match(pattern, strings.Join(parts[:depth], "/")); !ok { // was tried
			continue
		}
		if len(parts) == depth {
			files = append(files, name)
		} else {
			within = append(within, name)
		}
	}
	within, err := partsAmong(shown, within, depth)
	if err == nil && len(files)+len(within) == 0 {
		err = errNoMatch
	}
	if err != nil {
		return nil, located(shown, -1, err)
	}
	files = append(files, within...)
	slices.SortFunc(files, comparePaths)
	return files, nil
}

// partsAmong returns the names of files of vectors in a folder, below its folders of this depth.
func partsAmong(folder string, names []string, depth int) (chosen []string, err error) {
	folder = strings.TrimSuffix(folder, "/")
	for _, name := range names {
		if slices.ContainsFunc(strings.Split(name, "/")[depth:], isAside) {
			continue
		}
		if err := mayBePart(folder+"/"+name, folder+"/*.parquet"); err != nil {
			return nil, err
		}
		chosen = append(chosen, name)
	}
	slices.SortFunc(chosen, comparePaths)
	return chosen, nil
}

// isAside reports whether writers of tables give such names to what is no part of a table.
func isAside(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// check refuses several files of which one is there twice, or of another format than the first.
func (s *FileSet) check() error {
	if len(s.Files) == 1 {
		return nil
	}
	first, gzipped := FormatOf(s.Files[0].Path)
	seen := map[string]bool{}
	for _, f := range s.Files {
		format, zipped := FormatOf(f.Path)
		switch {
		case seen[filepath.Clean(f.Path)]:
			return fail(f.Path, "is named twice, so that its vectors would be there twice")
		case format != first:
			return fail(f.Path, "is %s by its name, %s is %s: files that are read as one have one format", formatName(format), s.Files[0].Path, formatName(first))
		case zipped != gzipped && format == Unknown:
			return fail(f.Path, "of two files without a known extension one is compressed")
		}
		seen[filepath.Clean(f.Path)] = true
	}
	return nil
}

func formatName(f Format) string { return cmp.Or(string(f), "of no known format") }

// PartitionKeys returns what the folders in a path say of the rows of the file, the outermost first.
func PartitionKeys(path string) (keys []PartitionKey) {
	for folder := range strings.SplitSeq(filepath.ToSlash(filepath.Dir(path)), "/") {
		name, text, ok := strings.Cut(folder, "=")
		if !ok || name == "" {
			continue
		}
		key := PartitionKey{Name: unescaped(name), Value: unescaped(text)}
		if text == hiveNull {
			key.Value, key.Null = "", true
		}
		keys = append(keys, key)
	}
	return keys
}

// unescaped returns text, in which characters that names of files cannot have are written as %2F.
func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// comparePaths orders paths by their folders and names, one after the other.
func comparePaths(a, b string) int {
	return slices.CompareFunc(strings.Split(filepath.ToSlash(a), "/"), strings.Split(filepath.ToSlash(b), "/"), compareNames)
}

// compareNames orders names as people count: digits that follow one another are compared as one number.
func compareNames(a, b string) int {
	whole := cmp.Compare(a, b) // of names that differ in leading zeros alone
	for a != "" && b != "" {
		x, y := leadingDigits(a), leadingDigits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), whole)
}

func leadingDigits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
