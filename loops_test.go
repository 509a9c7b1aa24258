package thresher_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// searching are the rooms, with their sub-packages, whose code runs while somebody waits for an answer.
var searching = []string{"backend", "bandit", "batch", "collection", "cpu", "device", "gpu", "segments", "simd"}

// endless are the functions of these rooms with a loop that has no condition, and why it ends all the same. A
// deadline or a cancelled request ends a search only where its loops end or look at their context.
var endless = map[string]string{
	"batch/coalesce.go: Coalescer.beginGroups": "each round takes a group from the queue",
	"batch/coalescerun.go: sharedRun.Finish":   "looks at its context; each round releases a member of the run",
	"collection/build.go: builder.each":        "looks at its context; each round takes the next items of n",
	"collection/source.go: readRows":           "looks at its context; reads at most MaxAtoms rows",
	"cpu/topk/buckets.go: buckets.sink":        "each round goes down a level of the heap",
	"cpu/finishing.go: scratch.scoreRounds": "visitTiles looks at the context; each round scores at least one arm of " +
		"each query left",
	"cpu/threads/helpers.go: Helpers.help":         "a helper leaves after a while without a queue, which the run that offers it withdraws",
	"cpu/threads/helpers.go: Helpers.take":         "each round but the last, another goroutine took or freed a core",
	"cpu/threads/pieces.go: Pieces.takePiece":      "each round but the last, another goroutine took one of the pieces",
	"cpu/threads/crew.go: Crew.eachOfThreads":      "checkpoint looks at the context; each round takes the next of n",
	"cpu/topk/floats.go: lift":                     "each round goes down a level of the heap",
	"cpu/topk/best.go: sink":                       "each round goes down a level of the heap",
	"gpu/device/stream.go: poll":                   "looks at its context, which alone can end a wait for the device",
	"gpu/arena.go: largestArena":                   "each round halves the number of lists, down to one",
	"gpu/backend.go: Backend.Load":                 "looks at its context; each round leaves out a device",
	"gpu/querychunk.go: queryChunk.collectScores":  "looks at its context; each round scores entries of the lists",
	"gpu/querychunk.go: queryChunk.drainLists":     "looks at its context; each round scores entries of the lists",
	"segments/folder/folder.go: open":              "each round but the last, a writer has replaced the manifest",
	"segments/folder/folder.go: Folder.replay":     "each round reads a log that is there",
	"segments/folder/maintain.go: Folder.keepUp":   "looks at its context",
	"segments/folder/maintain.go: Folder.Maintain": "looks at its context; each round makes fewer segments, or codes rows that waited",
	"segments/listed.go: CheckDistinct":            "each round takes a row of a segment",
	"segments/upkeep.go: Set.Maintain":             "looks at its context; each round makes fewer segments, or codes rows that waited",
}

// loopsWithoutCondition returns the places of a file's loops that have no condition, by function. A goto, which
// may make a loop of its own, is such a place too.
func loopsWithoutCondition(fset *token.FileSet, f *ast.File) map[string][]token.Position {
	found := map[string][]token.Position{}
	for _, d := range f.Decls {
		name := "" // of no function, but the value of a variable
		if fun, ok := d.(*ast.FuncDecl); ok {
			name = functionName(fun)
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if repeats(n) {
				found[name] = append(found[name], fset.Position(n.Pos()))
			}
			return true
		})
	}
	return found
}

// repeats reports whether n is a loop without a condition, or with one that is the word true, or a goto.
func repeats(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ForStmt:
		word, ok := n.Cond.(*ast.Ident)
		return n.Cond == nil || ok && word.Name == "true"
	case *ast.BranchStmt:
		return n.Tok == token.GOTO
	}
	return false
}

// functionName returns the name of a function, for a method after that of its type.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	return fmt.Sprintf("%s.%s", of, f.Name.Name)
}

// TestLoopsEnd: a loop of a search has a condition, or it is the only one of its function that has none, and
// endless says why it ends. All files count, whatever their build constraints.
func TestLoopsEnd(t *testing.T) {
	seen, files, fset := map[string]bool{}, 0, token.NewFileSet()
	for _, dir := range packages(t) {
		if !slices.ContainsFunc(searching, func(room string) bool { return dir == room || strings.HasPrefix(dir, room+"/") }) {
			continue
		}
		for path, f := range sources(t, fset, dir) {
			files++
			for name, places := range loopsWithoutCondition(fset, f) {
				key := filepath.ToSlash(path) + ": " + name
				seen[key] = true
				switch {
				case endless[key] == "":
					t.Errorf("%v: a loop without a condition: give it one, or say in loops_test.go (%q) why it ends", places[0], key)
				case len(places) > 1:
					t.Errorf("%s has %d loops without a condition, %v: its reason can speak of one", key, len(places), places)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(endless)) {
		if !seen[key] {
			t.Errorf("%s has no loop without a condition: take it from the list", key)
		}
	}
	if files < 200 {
		t.Errorf("read %d files only of %v", files, searching)
	}
}

func TestLoopsWithoutCondition(t *testing.T) {
	for source, want := range map[string]string{
		"func f() { for { } }":                                         "f",
		"func f() { for i := 0; ; i++ { } }":                           "f",
		"func f() { for true { } }":                                    "f",
		"func f() { for range 3 { go func() { for { } }() } }":         "f",
		"func f() { again: goto again }":                               "f",
		"func (x *t) f() { for { } }":                                  "t.f",
		"func (x t[A, B]) f() { for { } }":                             "t.f",
		"func (x *t[A]) f() { for { } }":                               "t.f",
		"var f = func() { for { } }":                                   "",
		"func f(n int) { for n > 0 { n-- }; for ; n < 9; n++ { } }":    "none",
		"func f(c chan int) { for range c { }; for i := range 3 { } }": "none",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", "package p\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		for name := range loopsWithoutCondition(fset, f) {
			got = name
		}
		if got != want {
			t.Errorf("%s: a loop in %q, want %q", source, got, want)
		}
	}
}
