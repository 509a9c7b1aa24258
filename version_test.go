package thresher_test

import (
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"thresher/internal/release"
)

// modulePath is the path by which other modules import this one, which `make module` changes.
func modulePath(t *testing.T) string {
	t.Helper()
	first, _, _ := strings.Cut(read(t, "go.mod"), "\n")
	path, ok := strings.CutPrefix(first, "module ")
	if !ok {
		t.Fatalf("go.mod begins %q", first)
	}
	return path
}

// stated are the places beside package release that state the version, each with what is around it. The first
// part of each pattern in parentheses is the version.
var stated = map[string]*regexp.Regexp{
	"python/pyproject.toml":      regexp.MustCompile(`(?m)^version = "(.*)"$`),
	"python/cuda/pyproject.toml": regexp.MustCompile(`(?m)^version = "(.*)"$`),
	"service/openapi.yaml":       regexp.MustCompile(`(?m)^  version: (.*)$`),
	"CITATION.cff":               regexp.MustCompile(`(?m)^version: (.*)$`),
	"CHANGELOG.md":               regexp.MustCompile(`(?m)^## \[v(\d.*)\]`),
}

// TestVersion: what states the version states that of package release; the changelog's newest release is the first of its headings.
func TestVersion(t *testing.T) {
	for file, pattern := range stated {
		m := pattern.FindStringSubmatch(read(t, file))
		if m == nil {
			t.Errorf("%s: no version by %s", file, pattern)
		} else if m[1] != release.Version {
			t.Errorf("%s: version %s, not %s as in internal/release", file, m[1], release.Version)
		}
	}
	if want := `"thresher-cuda==` + release.Version + ";"; !strings.Contains(read(t, "python/pyproject.toml"), want) {
		t.Errorf("python/pyproject.toml has no %s", want)
	}
}

// citation is what of CITATION.cff is checked here. The whole form was compared with the schema of cff 1.2.0.
type citation struct {
	Version    string `yaml:"cff-version"`
	Message    string
	Title      string
	Authors    []map[string]string
	References []struct {
		Type, Title string
		Year        int
		Authors     []map[string]string
	}
}

// TestCitation: the citation has the fields that its form requires, and the four papers.
func TestCitation(t *testing.T) {
	var c citation
	if err := yaml.Unmarshal([]byte(read(t, "CITATION.cff")), &c); err != nil {
		t.Fatal(err)
	}
	if c.Version != "1.2.0" || c.Message == "" || c.Title != "thresher" || len(c.Authors) == 0 || c.Authors[0]["name"] == "" {
		t.Errorf("a required field is missing: %+v", c)
	}
	if len(c.References) != 4 {
		t.Errorf("%d papers, not 4", len(c.References))
	}
	for _, r := range c.References {
		if r.Type == "" || r.Title == "" || r.Year < 2000 || len(r.Authors) == 0 {
			t.Errorf("%+v: a field is missing", r)
		}
		for _, a := range r.Authors {
			if a["family-names"] == "" || a["given-names"] == "" {
				t.Errorf("%s: an author is %v", r.Title, a)
			}
		}
	}
}
