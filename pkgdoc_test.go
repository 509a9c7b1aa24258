package thresher_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modules are the folders below the root that are modules of their own and keep the rules of the root's. Others are
// programs for a test or a benchmark alone, which bring their own dependencies.
var modules = []string{"bench", "e2e"}

// packages lists the folders below the root, in its module and in modules, that hold Go files the build sees.
func packages(t *testing.T) []string {
	t.Helper()
	var dirs []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "build") {
				return filepath.SkipDir
			}
			if path != "." && !slices.Contains(modules, filepath.ToSlash(path)) {
				if _, err := fs.Stat(osFS{}, filepath.ToSlash(filepath.Join(path, "go.mod"))); err == nil {
					return filepath.SkipDir
				}
			}
			files, err := filepath.Glob(filepath.Join(path, "*.go"))
			if err == nil && len(files) > 0 && path != "." {
				dirs = append(dirs, filepath.ToSlash(path))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// TestEveryPackageSaysItsJob: the first sentence of a package's doc comment is
// its job, in a file that is no test.
func TestEveryPackageSaysItsJob(t *testing.T) {
	dirs := packages(t)
	if len(dirs) < 10 {
		t.Fatalf("found %d packages only: %v", len(dirs), dirs)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var doc, name string
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			p, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			name = p.Name.Name
			if p.Doc != nil {
				if doc != "" {
					t.Errorf("%s: two files carry a package comment", dir)
				}
				doc = p.Doc.Text()
			}
		}
		if name == "" {
			continue // tests only
		}
		want := "Package " + name + " "
		if name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(doc, want) {
			t.Errorf("%s: the package comment begins %q, not %q", dir, firstLine(doc), want)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
