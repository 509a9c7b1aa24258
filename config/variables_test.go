package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMisspeltVariables(t *testing.T) {
	for _, c := range []struct{ name, meant string }{
		{"THRESHER_METRC", "THRESHER_METRIC"},
		{"THRESHER_DELAT", "THRESHER_DELTA"},
		{"THRESHER_LOGLEVEL", "THRESHER_LOG_LEVEL"},
		{"THRESHER_TOKEN_FIL", "THRESHER_TOKEN_FILE"},
		{"THRESHER_THREAD", "THRESHER_THREADS"},
		{"THRESHER_LIB_CUDA", "THRESHER_LIBCUDA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			unset(t)
			t.Setenv(c.name, "1")
			_, err := Load(Sources{})
			want := c.name + ": no such variable; is " + c.meant + " meant? (environment " + c.name + ")"
			var invalid *InvalidError
			if !errors.As(err, &invalid) || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

// Variables that nothing here reads are told, those that orchestrators and tests set are not, and an empty one is not set.
func TestUnknownVariables(t *testing.T) {
	unset(t)
	for _, name := range []string{
		"THRESHER_HOME", "THRESHER_X", "THRESHER_SERVICE_HOST", "THRESHER_SERVICE_PORT", "THRESHER_SERVICE_PORT_HTTP", "THRESHER_PORT",
		"THRESHER_PORT_8080_TCP", "THRESHER_PORT_8080_TCP_ADDR", "THRESHER_BATCH_SERVICE_HOST", "THRESHER_TEST_CHILD", "THRESHER_DRAWS",
	} {
		t.Setenv(name, "1")
	}
	t.Setenv("THRESHER_METRC", "")
	c, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"THRESHER_HOME", "THRESHER_X"}, c.Unknown); d != "" {
		t.Error(d)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "bc", 1}, {"abc", "abxc", 1}, {"abcd", "badc", 2}, {"kitten", "sitting", 3},
	} {
		if got := mistakes(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d mistakes, want %d", c.a, c.b, got, c.want)
		}
		if got := mistakes(c.b, c.a); got != c.want {
			t.Errorf("%q and %q: %d mistakes, want %d", c.b, c.a, got, c.want)
		}
	}
}

// Every variable that a source names is a setting or listed, or a program would refuse what another part of it reads.
func TestVariablesOfSourcesAreKnown(t *testing.T) {
	known := slices.Clone(otherVariables)
	for _, s := range settings() {
		known = append(known, s.variable())
	}
	named := regexp.MustCompile(`\bTHRESHER_[A-Z0-9_]*[A-Z0-9]\b`)
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "build", "node_modules", "shared"}, d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Dir(path) == filepath.Join("..", "config") || !slices.Contains([]string{".go", ".py", ".sh"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range named.FindAllString(string(text), -1) {
			seen++
			if !slices.Contains(known, name) && !ofTests.MatchString(name) && !ofOrchestrators.MatchString(name) {
				t.Errorf("%s: %s is neither a setting nor in otherVariables", strings.TrimPrefix(path, "../"), name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Errorf("found %d names of variables in the sources", seen)
	}
}
