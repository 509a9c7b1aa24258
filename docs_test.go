package thresher_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"thresher/internal/race"
)

// placeholders stand for any file in what the pages say of all files of a kind.
var placeholders = []string{"verb_noun.go", "file.cu", "kernels/NAME.cu"}

// documents are the pages whose links and names are checked.
func documents(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	for _, folder := range []string{"docs", "choice/docs"} {
		if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") {
				pages = append(pages, path)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	linkPattern     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	testPattern     = regexp.MustCompile("`(Test[A-Z]\\w*|Benchmark[A-Z]\\w*)`|-(?:run|bench) '?\\^?(Test[A-Z]\\w*|Benchmark[A-Z]\\w*)")
	declaredPattern = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
	goNamePattern   = regexp.MustCompile("`([a-z][a-z0-9]*)\\.([A-Z]\\w*)((?:\\.[A-Z]\\w*)?)")
	sourcePattern   = regexp.MustCompile("`([\\w.][\\w./-]*\\.(?:go|py|cu|cuh|sh|yaml))`")
)

// anchor is the name by which a heading is linked to.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestLinks finds links of the documentation to files and headings that do not exist.
func TestLinks(t *testing.T) {
	race.Skip(t, "one goroutine")
	for _, page := range documents(t) {
		for _, m := range linkPattern.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, name, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link %s: %v", page, m[1], err)
				continue
			}
			if name == "" {
				continue
			}
			headings := headingPattern.FindAllStringSubmatch(read(t, target), -1)
			if !slices.ContainsFunc(headings, func(h []string) bool { return anchor(h[1]) == name }) {
				t.Errorf("%s: link %s: no such heading in %s", page, m[1], target)
			}
		}
	}
}

// TestNamesInDocuments finds tests, benchmarks, source files and names of Go packages that
// the documentation names and that do not exist. A source file is named by its path from
// the root or its base name.
func TestNamesInDocuments(t *testing.T) {
	race.Skip(t, "one goroutine")
	declared, sources := map[string]bool{}, map[string]bool{}
	packages := map[string]string{} // their code, by the last part of their path
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path == "build" || path != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		slashed := filepath.ToSlash(path)
		sources[slashed], sources[filepath.Base(path)] = true, true
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range declaredPattern.FindAllStringSubmatch(read(t, path), -1) {
				declared[m[1]] = true
			}
		} else if strings.HasSuffix(path, ".go") {
			name := filepath.Base(filepath.Dir(path))
			if name == "." {
				name = "thresher"
			}
			packages[name] += read(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range documents(t) {
		text := read(t, page)
		for _, m := range testPattern.FindAllStringSubmatch(text, -1) {
			if name := m[1] + m[2]; !declared[name] {
				t.Errorf("%s: there is no %s", page, name)
			}
		}
		for _, m := range goNamePattern.FindAllStringSubmatch(text, -1) {
			code, ours := packages[m[1]]
			for _, name := range strings.Split(m[2]+m[3], ".") {
				if ours && !regexp.MustCompile(`\b`+name+`\b`).MatchString(code) {
					t.Errorf("%s: %s%s: package %s has no %s", page, m[1]+"."+m[2], m[3], m[1], name)
				}
			}
		}
		for _, m := range sourcePattern.FindAllStringSubmatch(text, -1) {
			if !sources[m[1]] && !slices.Contains(placeholders, m[1]) {
				t.Errorf("%s: there is no file %s", page, m[1])
			}
		}
	}
}
