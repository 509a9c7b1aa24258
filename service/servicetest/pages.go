package servicetest

import (
	"path"
	"regexp"
	"slices"
	"testing"
)

// What a file of the web page may not have, by its extension, and how it refers to others.
var (
	forbidden = map[string]*regexp.Regexp{
		".html": regexp.MustCompile(`(?i)\s(on\w+|style)=|<style|javascript:|https?://`),
		".js":   regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://[^w]|(window|globalThis)\.\w+ =`),
		".css":  regexp.MustCompile(`@import|url\(`),
	}
	referred = regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
	imported = regexp.MustCompile(`(?m)^import .* from "\./([^"]+)";$`)
	script   = regexp.MustCompile(`(?s)<script[^>]*>(.*?)</script>`)
)

// CheckPages finds, without a browser, violations of the policy of content in files of the web page, by the path at
// which each is served, references to files that are neither among them nor elsewhere, and files to which nothing
// refers but the roots.
func CheckPages(t *testing.T, files map[string]string, elsewhere func(at string) bool, roots ...string) {
	t.Helper()
	used := map[string]bool{}
	for at, text := range files {
		ext := path.Ext(at)
		if at == "/" {
			ext = ".html"
		}
		if bad := forbidden[ext]; bad != nil && bad.MatchString(text) {
			t.Errorf("%s has %q", at, bad.FindString(text))
		}
		for _, m := range script.FindAllStringSubmatch(text, -1) {
			if m[1] != "" {
				t.Errorf("%s has an inline script", at)
			}
		}
		var names []string
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			names = append(names, "/web/"+m[1])
		}
		if ext == ".html" {
			for _, m := range referred.FindAllStringSubmatch(text, -1) {
				if m[1] != "openapi.yaml" {
					names = append(names, path.Join(path.Dir(at), m[1]))
				}
			}
		}
		for _, name := range names {
			used[name] = true
			if _, ok := files[name]; !ok && !elsewhere(name) {
				t.Errorf("%s refers to %s, which does not exist", at, name)
			}
		}
	}
	for at := range files {
		if !used[at] && !slices.Contains(roots, at) {
			t.Errorf("nothing refers to %s", at)
		}
	}
}
