package thresher_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/internal/race"
)

// common are names of types that more than two packages have, for they mean one thing in
// all of them.
var common = map[string]string{
	"Algorithm": "how duels or slates are decided, and as the service names it",
	"Answer":    "to one query, by a backend, by the engine and as the service writes it",
	"Backend":   "the contract and those that fulfil it",
	"Info":      "what is known of a thing without reading it whole",
	"Kind":      "which of the few kinds of its package's things one is",
	"Limits":    "what a request may ask for at most",
	"Options":   "what a constructor takes",
	"Outcome":   "what came of one run of a simulation or a test",
	"Query":     "one query as its package needs it",
	"Result":    "what came of one item of work",
	"Run":       "queries that go through the looks of one plan together, as its package sees them",
	"Set":       "a finite set of its package's things, in their order",
	"Source":    "where vectors or random numbers come from",
	"Store":     "keeps things of one kind in a data folder",
	"Verdict":   "what a comparison or a check came to",
	"call":      "one request of a client and its answer, while they are under way",
	"change":    "one step from a state that was kept to the next",
	"failure":   "why something was not done, in the form in which it is kept or sent",
	"input":     "what a request or a command reads, before it is decoded",
	"record":    "a thing as a database keeps it",
	"request":   "what is asked, while it is answered",
	"scratch":   "memory of one goroutine, used again",
	"search":    "one search on its way, with what it needs",
	"state":     "of what goes on, between its steps",
}

// TestWords: one word, one meaning. No type's name is in more than two packages of the product, but for those in
// common. service/api and choice/serve/choiceapi do not count, which have the objects of other packages as JSON, nor do aliases.
func TestWords(t *testing.T) {
	race.Skip(t, "one goroutine")
	homes := map[string]map[string]bool{} // packages by type name
	for _, dir := range packages(t) {
		if room, _, _ := strings.Cut(dir, "/"); room == "bench" || room == "e2e" || dir == "service/api" || dir == "choice/serve/choiceapi" {
			continue
		}
		for _, f := range sources(t, token.NewFileSet(), dir) {
			for _, name := range typesOf(f) {
				if homes[name] == nil {
					homes[name] = map[string]bool{}
				}
				homes[name][dir] = true
			}
		}
	}
	if len(homes) < 100 {
		t.Fatalf("found %d types only", len(homes))
	}
	for _, name := range slices.Sorted(maps.Keys(homes)) {
		in := slices.Sorted(maps.Keys(homes[name]))
		if _, ok := common[name]; !ok && len(in) > 2 {
			t.Errorf("type %s is in %s: one word, one meaning", name, strings.Join(in, ", "))
		}
	}
	for name := range common {
		if len(homes[name]) < 3 {
			t.Errorf("%s is in common and in %d packages", name, len(homes[name]))
		}
	}
}

// typesOf returns the names of the types that a file declares, without aliases.
func typesOf(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			if spec := s.(*ast.TypeSpec); !spec.Assign.IsValid() {
				names = append(names, spec.Name.Name)
			}
		}
	}
	return names
}

// sources are the parsed files of a package by their paths, whatever their build constraints, without tests.
func sources(t *testing.T, fset *token.FileSet, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if files[path], err = parser.ParseFile(fset, path, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
