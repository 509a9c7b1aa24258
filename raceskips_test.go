package thresher_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReasonsOfRaceSkips: what a test says of being left out under the race detector is a string that a reader sees
// there, and the tests that it names, which the detector watches in its place, are tests of its package that are not left out.
func TestReasonsOfRaceSkips(t *testing.T) {
	named := regexp.MustCompile(`\bTest[A-Z]\w*`)
	count := 0
	for _, dir := range append(packages(t), ".") {
		tests, reasons := map[string]bool{}, map[string]string{} // whether a test is never left out; why others are
		for _, f := range testFiles(t, dir) {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") {
					continue
				}
				name := fn.Name.Name
				tests[name] = true
				ast.Inspect(fn, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok || len(call.Args) != 2 {
						return true
					}
					if of, ok := call.Fun.(*ast.SelectorExpr); !ok || of.Sel.Name != "Skip" || !isNamed(of.X, "race") {
						return true
					}
					count++
					reason, ok := call.Args[1].(*ast.BasicLit)
					if !ok || reason.Kind != token.STRING {
						t.Errorf("%s in %s: the reason is no string constant", name, dir)
						return true
					}
					text, err := strconv.Unquote(reason.Value)
					if err != nil || text == "" {
						t.Errorf("%s in %s: reason %s, %v", name, dir, reason.Value, err)
					}
					tests[name], reasons[name] = false, text
					return true
				})
			}
		}
		for name, reason := range reasons {
			for _, other := range named.FindAllString(reason, -1) {
				if watched, ok := tests[other]; !ok {
					t.Errorf("%s in %s is left out for %s, which does not exist", name, dir, other)
				} else if !watched {
					t.Errorf("%s in %s is left out for %s, which is left out itself", name, dir, other)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("found %d tests only that are left out", count)
	}
}

func isNamed(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

// testFiles parses the tests of a folder.
func testFiles(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}
