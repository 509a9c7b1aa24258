package dataset

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// inFolder makes a folder with files the current one; those without content are empty.
func inFolder(t *testing.T, files map[string][]byte) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, data := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func named(names ...string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = nil
	}
	return files
}

func slashed(paths []string) []string {
	for i := range paths {
		paths[i] = filepath.ToSlash(paths[i])
	}
	return paths
}

func TestFindFiles(t *testing.T) {
	inFolder(t, named("part-10.parquet", "part-2.parquet", "part-02.parquet", "d/b/x.parquet", "d/a/y.parquet", "d/b-1/z.parquet", "d/_SUCCESS", "d/.x.crc",
		"d/_delta/0.json", "d/.git/config", "one,two.npy", "q[1].npy"))
	for name, want := range map[string][]string{
		"part-2.parquet":        {"part-2.parquet"},
		"part-*.parquet":        {"part-02.parquet", "part-2.parquet", "part-10.parquet"},
		"d":                     {"d/a/y.parquet", "d/b/x.parquet", "d/b-1/z.parquet"},
		"d/?":                   {"d/a/y.parquet", "d/b/x.parquet"},
		"part-10.parquet,d/b*":  {"part-10.parquet", "d/b/x.parquet", "d/b-1/z.parquet"},
		"one,two.npy":           {"one,two.npy"},
		"q[1].npy":              {"q[1].npy"},
		"missing.npy":           {"missing.npy"},
		"-":                     {"-"},
		"d/*/x.parquet,d/*/y.*": {"d/b/x.parquet", "d/a/y.parquet"},
	} {
		set, err := FindFiles(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := gocmp.Diff(want, slashed(set.Paths())); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestRefusedFiles(t *testing.T) {
	inFolder(t, named("a.npy", "b.npy", "c.fvecs", "mixed/a.npy", "mixed/README.md", "two/a.npy", "two/b.csv", "built/a.npy", "built/a.thresher", "aside/_SUCCESS", "zipped/a.csv", "zipped/b.csv.gz", "shop/3.log", "shop/manifest.json", "other/3.log", "other/a.npy"))
	for name, c := range map[string]struct{ file, want string }{
		"a.npy,":           {"a.npy,", "between commas is empty"},
		"a.npy,-":          {"a.npy,-", "standard input cannot be one of several"},
		"a.npy,b.npy,":     {"a.npy,b.npy,", "is empty"},
		"a.npy,a.npy":      {"a.npy", "named twice"},
		"*.npy,./b.npy":    {"./b.npy", "named twice"},
		"a.npy,c.fvecs":    {"c.fvecs", "is fvecs by its name, a.npy is npy"},
		"two":              {"two/b.csv", "two/a.npy is npy: files that are read as one have one format"},
		"mixed":            {"mixed/README.md", "is of no format of vectors"},
		"built":            {"built/a.thresher", "is a prepared collection, in a folder whose files are read as one collection of vectors; prepared collections are searched one by one"},
		"shop":             {"shop", "thresher build --vectors shop --metric NAME --out FILE.thresher makes it, with --columns all of"},
		"shop/":            {"shop/", "--vectors shop/ --metric"},
		"other":            {"other/3.log", "is of no format of vectors"},
		"aside":            {"aside", "has no files of vectors"},
		"x*.npy":           {"x*.npy", "no file matches"},
		"a.npy,x*.npy":     {"x*.npy", "no file matches"},
		"**/*.npy":         {"**/*.npy", "no pattern has **"},
		"[.npy":            {"[.npy", "malformed"},
		"missing.npy,[[]a": {"[[]a", "no file matches"},
	} {
		_, err := FindFiles(name)
		t.Run(name, func(t *testing.T) { checkError(t, nil, slashedError(err), c.file, -1, -1, c.want) })
	}
	if set, err := FindFiles("zipped"); err != nil || len(set.Files) != 2 {
		t.Errorf("a compressed file beside another: %v, %v", set, err)
	}
}

// slashedError returns err with the separators of Unix.
func slashedError(err error) error {
	if e, ok := err.(*Error); ok {
		own := *e
		own.File = filepath.ToSlash(e.File)
		return &own
	}
	return err
}

func TestPartitionKeys(t *testing.T) {
	inFolder(t, named("t/country=de/year=2024/a.npy", "t/country=a%2Fb/year=__HIVE_DEFAULT_PARTITION__/a.npy", "t/plain/a.npy"))
	set, err := FindFiles("t")
	if err != nil {
		t.Fatal(err)
	}
	want := []PartFile{
		{Path: "t/country=a%2Fb/year=__HIVE_DEFAULT_PARTITION__/a.npy", Keys: []PartitionKey{{Name: "country", Value: "a/b"}, {Name: "year", Null: true}}},
		{Path: "t/country=de/year=2024/a.npy", Keys: []PartitionKey{{Name: "country", Value: "de"}, {Name: "year", Value: "2024"}}},
		{Path: "t/plain/a.npy"},
	}
	for i := range set.Files {
		set.Files[i].Path = filepath.ToSlash(set.Files[i].Path)
	}
	if diff := gocmp.Diff(want, set.Files); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestNaturalOrder(t *testing.T) {
	ordered := []string{"", "a", "a-1", "a0", "a00", "a1", "a1b", "a2", "a10", "a18446744073709551616", "b", "b01x", "b1y", "b2"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got, want := compareNames(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("%q and %q compare as %d, not %d", a, b, got, want)
			}
		}
	}
}
