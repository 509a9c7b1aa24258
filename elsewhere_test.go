package thresher_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	reportPattern   = regexp.MustCompile(`^[\w./-]+#\d+( \(\w+\))?(, [\w./-]*#\d+)*$`)
	goTestPattern   = regexp.MustCompile("^`([a-z/]+)` `(Test[A-Z]\\w*)`$")
	pyTestPattern   = regexp.MustCompile("^`(python/tests/test_\\w+\\.py)::(test_\\w+)`$")
	elsewhereHeader = "| report | there | test here |"
)

// testThere tells whether there is the test that a cell of docs/elsewhere.md names: a function of a
// package in Go, or of a file in Python.
func testThere(t *testing.T, name string) bool {
	t.Helper()
	if m := pyTestPattern.FindStringSubmatch(name); m != nil {
		code, err := os.ReadFile(m[1])
		return err == nil && strings.Contains(string(code), "\ndef "+m[2]+"(")
	}
	m := goTestPattern.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	files, err := filepath.Glob(filepath.Join(m[1], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.Contains(read(t, file), "\nfunc "+m[2]+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

// TestElsewhere: each line of docs/elsewhere.md names reports, what went wrong, and tests that exist.
func TestElsewhere(t *testing.T) {
	lines, seen := 0, map[string]bool{}
	for i, line := range strings.Split(read(t, "docs/elsewhere.md"), "\n") {
		if !strings.HasPrefix(line, "|") || line == elsewhereHeader || line == "|---|---|---|" {
			continue
		}
		lines++
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if len(cells) != 3 {
			t.Errorf("docs/elsewhere.md:%d: %d columns", i+1, len(cells))
			continue
		}
		if !reportPattern.MatchString(cells[0]) {
			t.Errorf("docs/elsewhere.md:%d: %q is no list of reports", i+1, cells[0])
		}
		if what := cells[0] + cells[1]; cells[1] == "" || seen[what] {
			t.Errorf("docs/elsewhere.md:%d: says nothing, or what another line says", i+1)
		} else {
			seen[what] = true
		}
		for _, name := range strings.Split(cells[2], "; ") {
			if !testThere(t, name) {
				t.Errorf("docs/elsewhere.md:%d: there is no test %s", i+1, name)
			}
		}
	}
	if lines < 40 {
		t.Errorf("docs/elsewhere.md: %d lines only", lines)
	}
}
