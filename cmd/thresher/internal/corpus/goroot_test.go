package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes a small Go tree and returns its root.
func tree(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"VERSION": "go9.9\ntime 2030-01-01T00:00:00Z\n",
		"src/fmt/a.go": `// Package fmt is about the forms of written things.
package fmt

// Print writes its operands, each in its default form.
//
//go:noinline
func Print() {}

// print has a comment too, which no program can look up by name.
func print() {}

// Too short.
func Short() {}

// A Pen is what the operands of Print are written with.
type Pen[T any] struct{}

// Ink reports how much ink is left in the pen.
func (p *Pen[T]) Ink() int { return 0 }

type nib struct{}

// Ink of a hidden type is hidden with its type as well.
func (nib) Ink() {}

// The widths that a pen can have, in tenths of millimetres.
const (
	hairline = iota
	Fine     // thin lines, as in the drawings of an architect
	Broad
)
`,
		// A name that another file has too, and a text that another name has.
		"src/fmt/b.go": `package fmt

// Print writes its operands on another system, in the same form.
func Print() {}

// Ink reports how much ink is left in the pen.
func Left() {}
`,
		"src/fmt/broken.go":       "package fmt\n// Broken does not parse and is left out of it all.\nfunc Broken( {",
		"src/fmt/a_test.go":       "package fmt\n\n// Tested is only for tests and so not of the library.\nfunc Tested() {}\n",
		"src/fmt/internal/in.go":  "package internal\n\n// In is for the library itself and so not importable.\nfunc In() {}\n",
		"src/fmt/testdata/t.go":   "package testdata\n\n// Data is for the tests and so not importable either.\nfunc Data() {}\n",
		"src/cmd/c.go":            "package cmd\n\n// Cmd belongs to the commands and not to the library.\nfunc Cmd() {}\n",
		"src/vendor/v.go":         "package vendor\n\n// Vendor is another's code and not of the library.\nfunc Vendor() {}\n",
		"src/syscall/s.go":        "package syscall\n\n// Syscall number one of the many system calls there are.\nfunc Call() {}\n",
		"src/path/generate.go":    "package main\n\n// Main is a program and not part of the library.\nfunc Main() {}\n",
		"src/path/deep/README.md": "// not Go at all, whatever it says in here",
	}
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRead(t *testing.T) {
	root := tree(t)
	got, err := Read(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	want := &Corpus{Version: "go9.9", Source: filepath.Join(root, "src"), Entries: []Entry{
		{"fmt", "", "Package fmt is about the forms of written things."},
		{"fmt", "Fine", "The widths that a pen can have, in tenths of millimetres."},
		{"fmt", "Left", "Ink reports how much ink is left in the pen."},
		{"fmt", "Pen", "A Pen is what the operands of Print are written with."},
		{"fmt", "Print", "Print writes its operands on another system, in the same form."},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
}

func TestReadFollowsALinkedSource(t *testing.T) {
	root := tree(t)
	link := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "src"), filepath.Join(link, "src")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	got, err := Read(context.Background(), link)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Entries) != 5 || got.Version != "go (release unknown)" {
		t.Errorf("%d entries of %q, want 5 of an unknown release", len(got.Entries), got.Version)
	}
}

func TestReadErrors(t *testing.T) {
	if _, err := Read(context.Background(), t.TempDir()); !errors.Is(err, errNoGo) {
		t.Errorf("empty folder: %v, want errNoGo", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, tree(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestLoadPrefersTheTreeAtHand(t *testing.T) {
	root := tree(t)
	t.Setenv("GOROOT", root)
	if got, err := FindGoroot(context.Background()); err != nil || got != root {
		t.Errorf("FindGoroot: %q, %v; want %q", got, err, root)
	}
	c, err := Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if c.Version != "go9.9" || c.Source == "" {
		t.Errorf("loaded %s from %q, want the tree", c.Version, c.Source)
	}
}

func TestLoadFallsBackToTheExtract(t *testing.T) {
	t.Setenv("GOROOT", t.TempDir()) // without sources
	t.Setenv("PATH", t.TempDir())   // without a go command
	if _, err := FindGoroot(context.Background()); !errors.Is(err, errNoGo) {
		t.Errorf("FindGoroot: %v, want errNoGo", err)
	}
	c, err := Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if c.Source != "" || len(c.Entries) < 5000 {
		t.Errorf("%d entries from %q, want the extract", len(c.Entries), c.Source)
	}
}
