package fetch

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file is fetched once, used again after a HEAD, and fetched anew once it changed.
func TestOneObject(t *testing.T) {
	s, c := openStore(t), newCache(t)
	s.put(map[string]string{"a/x.csv": "one"})
	set := fetched(t, c, "s3://box/a/x.csv")
	wantTexts(t, set.Files, "one")
	if set.Path != set.Files[0] || filepath.Base(set.Path) != "x.csv" || set.URLs[set.Path] != "s3://box/a/x.csv" {
		t.Errorf("%+v", set)
	}
	s.did("GET")
	again := fetched(t, c, "s3://box/a/x.csv")
	if got := s.did("GET"); again.Path != set.Path || len(got) != 0 {
		t.Errorf("it was fetched to %s by %q, and was at %s", again.Path, got, set.Path)
	}
	s.put(map[string]string{"a/x.csv": "two"}) // as long, at the same time
	wantTexts(t, fetched(t, c, "s3://box/a/x.csv").Files, "two")
	wantTexts(t, set.Files, "one") // whoever reads it goes on
}

func TestPrefixesPatternsAndLists(t *testing.T) {
	s, c := openStore(t), newCache(t)
	s.put(map[string]string{
		"t/year=2024/part-2.csv": "2", "t/year=2024/part-10.csv": "10", "t/year=2023/part-1.csv": "1", "t/_SUCCESS": "", "t/.x/y.csv": "no",
		"t/year=2023/": "", "other.csv": "o", "mixed/a.csv": "a", "mixed/readme.txt": "r",
	})
	local := filepath.Join(t.TempDir(), "local.csv")
	writeFile(t, local, "l")
	for name, want := range map[string][]string{
		"s3://box/t":              {"1", "2", "10"},
		"s3://box/t/":             {"1", "2", "10"},
		"s3://box/t/year=2024":    {"2", "10"},
		"s3://box/t/*/part-?.csv": {"1", "2"},
		"s3://box/t/year=*":       {"1", "2", "10"},
		"s3://box/other.csv,s3://box/mixed/a.csv,s3://box/t/year=2024/": {"o", "a", "2", "10"},
		"s3://box/other.csv," + local:                                   {"o", "l"},
		local + ",s3://box/mixed/a.csv":                                 {"l", "a"},
		"S3://box/mixed/*.csv":                                          {"a"},
	} {
		set := fetched(t, c, name)
		wantTexts(t, set.Files, want...)
	}
	set := fetched(t, c, "s3://box/t/year=2023")
	if got := filepath.Base(filepath.Dir(set.Files[0])); got != "year=2023" {
		t.Errorf("the key of the partition is lost: %s", set.Files[0])
	}
	wantError(t, c, "s3://box/mixed", "s3://box/mixed/readme.txt", "no format of vectors")
	wantError(t, c, "s3://box/t/**", "no pattern has **")
	wantError(t, c, "s3://box/nothing-*", "s3://box/nothing-*", "no file matches the pattern")
	wantError(t, c, "s3://box/[", "malformed")
	wantError(t, c, "s3://box/other.csv,", "a name between commas is empty")
}

// What the store says is said, with the URL.
func TestRefusals(t *testing.T) {
	s, c := openStore(t), newCache(t)
	wantError(t, c, "s3://box/none.csv", "s3://box/none.csv: it does not exist: 404")
	wantError(t, c, "s3://absent/none.csv", "s3://absent/none.csv: it does not exist: 404")
	wantError(t, c, "s3://absent/folder/", "s3://absent/folder/", "NoSuchBucket", "404")
	wantError(t, c, "s3://box/empty/", "s3://box/empty/: no object is there")
	wantError(t, c, "s3://box/none.thresher", "s3://box/none.thresher: it does not exist")
	wantError(t, c, "s3:///x.csv", "names no bucket")
	wantError(t, c, "s3://user:password@box/x.csv", "no name of a bucket")
	wantError(t, c, "abfs://box/x.csv", "s3://, gs:// and https://")
	s.answer(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	wantError(t, c, "s3://box/x.csv", "s3://box/x.csv: access is denied: 403")
	wantError(t, c, "s3://box/folder/", "access is denied: 403")
	t.Setenv("AWS_ENDPOINT_URL", "localhost:9000")
	wantError(t, newCache(t), "s3://box/x.csv", "AWS_ENDPOINT_URL", "localhost:9000")
}

// A collection brings its ids and columns along, and is another one if one of them changes.
func TestCollections(t *testing.T) {
	s, c := openStore(t), newCache(t)
	s.put(map[string]string{"c.thresher": "rows", "c.thresher.ids.npz": "ids"})
	set := fetched(t, c, "s3://box/c.thresher")
	wantTexts(t, []string{set.Path, set.Path + ".ids.npz"}, "rows", "ids")
	s.put(map[string]string{"c.thresher.columns": "columns"})
	next := fetched(t, c, "s3://box/c.thresher")
	wantTexts(t, []string{next.Path, next.Path + ".ids.npz", next.Path + ".columns"}, "rows", "ids", "columns")
	if set.Version == next.Version || set.Path == next.Path || set.Version == "" {
		t.Errorf("versions %q and %q, at %s and %s", set.Version, next.Version, set.Path, next.Path)
	}
	s.put(map[string]string{"copy/c.thresher": "rows", "copy/c.thresher.ids.npz": "ids"})
	if copied := fetched(t, c, "s3://box/copy/c.thresher"); copied.Version != set.Version {
		t.Errorf("a copy has version %s, not %s", copied.Version, set.Version)
	}
	s.put(map[string]string{"f/manifest.json": "m", "f/1.segment": "s", "f/deep/x": "x"})
	got := fetched(t, c, "s3://box/f")
	wantTexts(t, []string{filepath.Join(got.Path, "manifest.json"), filepath.Join(got.Path, "1.segment"), filepath.Join(got.Path, "deep", "x")}, "m", "s", "x")
	if got.Files != nil || got.Version == "" {
		t.Errorf("%+v", got)
	}
	wantError(t, c, "s3://box/c.thresher,s3://box/c.thresher", "cannot be one of several")
}

// Google's object storage is asked by the same interface.
func TestGoogle(t *testing.T) {
	s, c := openStore(t), newCache(t)
	s.put(map[string]string{"x.csv": "g"})
	t.Setenv("STORAGE_EMULATOR_HOST", strings.TrimPrefix(s.server.URL, "http://"))
	s.answer(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method == http.MethodGet {
			w.Header().Set("X-Goog-Hash", "crc32c=AAAAAA==,md5=none")
		}
		return false
	})
	wantError(t, c, "gs://box/x.csv", "gs://box/x.csv", "crc32c", "AAAAAA==")
	s.answer(nil)
	wantTexts(t, fetched(t, c, "gs://box/x.csv").Files, "g")
	t.Setenv("STORAGE_EMULATOR_HOST", "")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	wantError(t, newCache(t), "gs://box/x.csv", "GOOGLE_APPLICATION_CREDENTIALS", "none.json")
}

func TestNamesAreSafe(t *testing.T) {
	s, c := openStore(t), newCache(t)
	s.put(map[string]string{"a/..": "1", "k=..\\..:/x?.csv": "2"})
	for _, name := range []string{"s3://box/a/..", "s3://box/k=*/x*.csv"} {
		for _, file := range fetched(t, c, name).Files {
			if rel, err := filepath.Rel(c.Folder(), file); err != nil || !filepath.IsLocal(rel) || strings.ContainsAny(filepath.Base(file), `?:\`) {
				t.Errorf("%s: %s", name, file)
			}
		}
	}
	long := strings.Repeat("x", 300) + ".csv"
	if got := localName("k=v/../" + long); len(got) != maxName || !strings.HasSuffix(got, ".csv") {
		t.Error(cmp.Diff(long, got))
	}
}
