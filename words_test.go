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
)

// common are names of types that more than two rooms have, for they mean one thing in
// all of them.
var common = map[string]string{
	"Algorithm": "how duels or slates are decided, and as the service names it",
	"Answer":    "to one query, by a backend, by the engine and as the service writes it",
	"Backend":   "the contract and those that fulfil it",
	"Guarantee": "what is promised of an answer or a tournament",
	"Info":      "what is known of a thing without reading it whole",
	"Options":   "what a constructor takes",
	"Outcome":   "what came of one run of a simulation or a test",
	"Result":    "what came of one item of work",
	"Source":    "where vectors or random numbers come from",
	"run":       "one batch on its way through a backend, or one tournament's",
	"state":     "of what goes on, between its steps",
}

// TestWords: one word, one meaning. No type's name is in more than two rooms, here
// the folders below the root and below choice/ that are part of the product, but for those in common.
func TestWords(t *testing.T) {
	rooms := map[string]map[string]bool{} // by type name
	for _, dir := range packages(t) {
		room, rest, _ := strings.Cut(dir, "/")
		if room == "choice" {
			if room, _, _ = strings.Cut(rest, "/"); room == "serve" {
				room = "service" // whose objects and words it has
			}
		}
		if room == "cmd" || room == "bench" || room == "e2e" {
			continue
		}
		for _, f := range sources(t, token.NewFileSet(), dir) {
			for _, d := range f.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.TYPE {
					continue
				}
				for _, s := range g.Specs {
					name := s.(*ast.TypeSpec).Name.Name
					if rooms[name] == nil {
						rooms[name] = map[string]bool{}
					}
					rooms[name][room] = true
				}
			}
		}
	}
	if len(rooms) < 100 {
		t.Fatalf("found %d types only", len(rooms))
	}
	for _, name := range slices.Sorted(maps.Keys(rooms)) {
		in := slices.Sorted(maps.Keys(rooms[name]))
		if _, ok := common[name]; !ok && len(in) > 2 {
			t.Errorf("type %s is in %s: one word, one meaning", name, strings.Join(in, ", "))
		}
	}
	for name := range common {
		if len(rooms[name]) < 3 {
			t.Errorf("%s is in common and in %d rooms", name, len(rooms[name]))
		}
	}
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
