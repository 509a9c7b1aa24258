package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const remedy = "run `make kernels` and commit what it writes"

// TestManifestIsOfTheTree checks without a compiler that sources, manifest and
// PTX of this tree match.
func TestManifestIsOfTheTree(t *testing.T) {
	set, err := readManifest(embedded)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range set.Modules {
		listed = append(listed, m.Name)
		text, err := PTX(m.Name)
		if err != nil {
			t.Errorf("%v: %s", err, remedy)
			continue
		}
		if m.Sources[0] != m.Name+".cu" {
			t.Errorf("%s is listed as compiled from %s", m.Name, m.Sources[0])
		}
		if got := sumOfSums(t, m.Sources); got != m.SourcesSHA256 {
			t.Errorf("%s.ptx was compiled from other contents of %v: %s", m.Name, m.Sources, remedy)
		}
		declared := map[string][]string{}
		for _, e := range m.Entries {
			of := make([]string, len(e.Params))
			for i, p := range e.Params {
				of[i] = hostTypeOf(t, p).ptx
			}
			declared[e.Name] = of
		}
		if diff := cmp.Diff(entriesOf(text), declared, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("parameters in %s.ptx (-) and in the manifest (+): %s\n%s", m.Name, remedy, diff)
		}
		if want := "\n.version " + m.PTXVersion + "\n"; !strings.Contains(string(text), want) {
			t.Errorf("%s.ptx has no line %q", m.Name, want)
		}
	}
	if diff := cmp.Diff(listed, Names()); diff != "" {
		t.Errorf("modules of the manifest (-) and PTX files (+): %s\n%s", remedy, diff)
	}
	sources, err := fs.Glob(os.DirFS("."), "*.cu")
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sources {
		sources[i] = strings.TrimSuffix(s, ".cu")
	}
	if diff := cmp.Diff(sources, listed); diff != "" {
		t.Errorf("sources (-) and modules of the manifest (+): %s\n%s", remedy, diff)
	}
}

// TestHeadersAreListed checks that the manifest lists every header of the folder
// that a kernel includes; otherwise a change of it would be missed.
func TestHeadersAreListed(t *testing.T) {
	include := regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"/]+)"`)
	set, err := readManifest(embedded)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range set.Modules {
		for _, source := range m.Sources {
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range include.FindAllSubmatch(text, -1) {
				if name := string(match[1]); !slices.Contains(m.Sources, name) {
					t.Errorf("%s includes %s, which the manifest does not list for %s: %s", source, name, m.Name, remedy)
				}
			}
		}
	}
}

// TestPlainBinariesDoNotCarryThem checks that gpu, the only package that may
// import this one, does so under its build tag only.
func TestPlainBinariesDoNotCarryThem(t *testing.T) {
	p, err := build.Default.ImportDir("../gpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.Imports, "thresher/kernels") {
		t.Error("gpu imports thresher/kernels without the tag cuda")
	}
}

// sumOfSums returns the output of `sha256sum files | sha256sum`.
func sumOfSums(t *testing.T, files []string) string {
	t.Helper()
	all := sha256.New()
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256(text), f)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// entriesOf parses the .entry lines, a name, then one .param on each line: the types of the parameters.
func entriesOf(ptx []byte) map[string][]string {
	found, last := map[string][]string{}, ""
	for line := range strings.Lines(string(ptx)) {
		if _, rest, ok := strings.Cut(line, ".entry "); ok {
			last, _, _ = strings.Cut(strings.TrimSpace(rest), "(")
			found[last] = nil
		} else if rest, ok := strings.CutPrefix(line, "\t.param "); ok && strings.Contains(line, " "+last+"_param_") {
			of, _, _ := strings.Cut(rest, " ")
			found[last] = append(found[last], of)
		}
	}
	return found
}

func TestWhatDoesNotMatchIsRefused(t *testing.T) {
	const ptx = ".version 8.0\n"
	other := strings.Repeat("0", 64)
	manifest := func(name, sum string) []byte {
		return fmt.Appendf(nil, `{"compiler":"c","flags":[],"modules":[{"name":%q,"ptx_sha256":%q}]}`, name, sum)
	}
	right := fmt.Sprintf("%x", sha256.Sum256([]byte(ptx)))
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  string // in the error, "" for none
	}{
		{"as written", fstest.MapFS{"manifest.json": {Data: manifest("copy", right)}, "copy.ptx": {Data: []byte(ptx)}}, ""},
		{"one byte more", fstest.MapFS{"manifest.json": {Data: manifest("copy", right)}, "copy.ptx": {Data: []byte(ptx + "\n")}}, "copy.ptx has SHA-256 "},
		{"of other sources", fstest.MapFS{"manifest.json": {Data: manifest("copy", other)}, "copy.ptx": {Data: []byte(ptx)}}, "manifest.json lists " + other},
		{"no text", fstest.MapFS{"manifest.json": {Data: manifest("copy", right)}}, "copy.ptx: file does not exist"},
		{"not listed", fstest.MapFS{"manifest.json": {Data: manifest("scan", right)}, "copy.ptx": {Data: []byte(ptx)}}, `manifest.json lists no module "copy"`},
		{"no manifest", fstest.MapFS{"copy.ptx": {Data: []byte(ptx)}}, "manifest.json: file does not exist"},
		{"cut short", fstest.MapFS{"manifest.json": {Data: manifest("copy", right)[:40]}, "copy.ptx": {Data: []byte(ptx)}}, "manifest.json: unexpected EOF"},
		{"of a later version", fstest.MapFS{"manifest.json": {Data: []byte(`{"signature":"x"}`)}, "copy.ptx": {Data: []byte(ptx)}}, `manifest.json: json: unknown field "signature"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readPTX(c.files, "copy")
			switch {
			case c.want == "" && (err != nil || string(got) != ptx):
				t.Fatalf("got %q, %v", got, err)
			case c.want != "" && err == nil:
				t.Fatalf("no error, want one with %q", c.want)
			case c.want != "" && !strings.Contains(err.Error(), c.want):
				t.Fatalf("error %q, want one with %q", err, c.want)
			}
		})
	}
}
