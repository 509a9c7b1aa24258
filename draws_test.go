package thresher_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"thresher/internal/race"
)

// testingRooms exist for tests: their own files draw as tests do.
var testingRooms = []string{"backend/backendtest", "internal/crashtest", "internal/vectors", "e2e/load"}

// seeded are what a test may use of math/rand/v2: generators that it seeds, and types. All other
// functions draw from the process's own seed, which nobody knows.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Source", "Zipf"}

var constraintPattern = regexp.MustCompile(`(?m)^//go:build (.*)$`)

// unseeded returns where a file draws at random without a seed that is the same in every run.
func unseeded(fset *token.FileSet, f *ast.File) (found []string) {
	report := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: ", fset.Position(n.Pos()))+fmt.Sprintf(format, args...))
	}
	names := map[string]string{} // of packages in this file
	for _, imp := range f.Imports {
		of := strings.Trim(imp.Path.Value, `"`)
		name := path.Base(of)
		switch of {
		case "math/rand/v2":
			name = "rand"
		case "math/rand", "testing/quick":
			report(imp, "%s: properties are rapid's, other draws are math/rand/v2's", of)
		}
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = of
	}
	// member returns which name of which package an expression is.
	member := func(e ast.Expr) (of, name string) {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return "", ""
		}
		p, ok := s.X.(*ast.Ident)
		if !ok || p.Obj != nil { // a variable
			return "", ""
		}
		return names[p.Name], s.Sel.Name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if of, name := member(e); of == "math/rand/v2" && !slices.Contains(seeded, name) {
				report(n, "rand.%s draws from a seed of the process's own", name)
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		of, name := member(call.Fun)
		if of != "math/rand/v2" && of != "thresher/internal/vectors" && of != "thresher/internal/philox" {
			return true
		}
		for _, arg := range call.Args {
			ast.Inspect(arg, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					if of, now := member(e); of == "time" && now == "Now" {
						report(n, "the seed of %s is the time", name)
					}
				}
				return true
			})
		}
		return true
	})
	return found
}

// TestTestsDrawFromFixedSeeds: a test passes or fails alike in every run. Where the package
// internal/draws is imported, its variable asks for other draws; math/rand/v2 has seeds.
func TestTestsDrawFromFixedSeeds(t *testing.T) {
	race.Skip(t, "one goroutine")
	const rapid, draws = "pgregory.net/rapid", "thresher/internal/draws"
	count := 0
	for _, dir := range append(packages(t), ".") {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		uses, fixes := map[string]string{}, map[string]bool{} // by build constraint
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !slices.Contains(testingRooms, dir) {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range unseeded(fset, f) {
				t.Error(found)
			}
			constraint := strings.Join(constraintPattern.FindStringSubmatch(read(t, file)), "")
			for _, imp := range f.Imports {
				switch strings.Trim(imp.Path.Value, `"`) {
				case rapid:
					uses[constraint] = file
				case draws:
					fixes[constraint] = true
				}
			}
		}
		for constraint, file := range uses {
			count++
			if dir != "internal/draws" && !fixes[""] && !fixes[constraint] {
				t.Errorf("%s imports rapid: a test file of %s must import %s, blank if it needs nothing of it", file, dir, draws)
			}
		}
	}
	if count < 20 {
		t.Errorf("found %d packages only that use rapid", count)
	}
}

func TestUnseeded(t *testing.T) {
	const header = "package p\nimport (\n\"math/rand/v2\"\n\"time\"\n\"thresher/internal/vectors\"\n)\n"
	for source, want := range map[string]string{
		header + "var x = rand.IntN(3)":                                                "rand.IntN",
		header + "var f = rand.Float64":                                                "rand.Float64",
		header + "var r = rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))":     "the time",
		header + "var r = vectors.Rand(uint64(time.Now().Unix()))":                     "the time",
		"package p\nimport \"testing/quick\"\nvar c quick.Config":                      "testing/quick",
		"package p\nimport old \"math/rand\"\nvar x = old.Int()":                       "math/rand",
		"package p\nimport d \"math/rand/v2\"\nvar x = d.Perm(3)":                      "rand.Perm",
		header + "var r = rand.New(rand.NewPCG(1, 2)); var x = r.IntN(3)":              "",
		header + "func f(rand *rand.Rand) int { return rand.IntN(3) }":                 "",
		header + "var z = time.Now(); var x = vectors.Gaussian(vectors.Rand(1), 2, 3)": "",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p_test.go", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(unseeded(fset, f), "\n")
		if (found != "") != (want != "") || !strings.Contains(found, want) {
			t.Errorf("%s\nfound %q, want %q", source, found, want)
		}
	}
}
