package thresher_test

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/race"
)

// TestProgram runs the program of the package's documentation as somebody would who copies it.
func TestProgram(t *testing.T) {
	race.Skip(t, "it runs a program that is built without the race detector")
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, program, ok := strings.Cut(file.Doc.Text(), "\tpackage main\n")
	program, _, end := strings.Cut(program, "\n\t}\n\n")
	if !ok || !end {
		t.Fatal("doc.go has no program")
	}
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte("package main\n"+program+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", path).CombinedOutput()
	if want := "recall 0.5000; 0 of 1 answers were right [1 2] these are the true 2 best, beyond chance\n"; err != nil || string(out) != want {
		t.Errorf("%v, output %q, want %q", err, out, want)
	}
}
