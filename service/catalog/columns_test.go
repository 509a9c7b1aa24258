package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
	"thresher/service/api"
	"thresher/service/problem"
)

// TestSavedColumnsBeside: the columns of a prepared collection are in a file beside it, of which some can be chosen;
// those of another collection, and damage, are refused without the path on this machine.
func TestSavedColumnsBeside(t *testing.T) {
	root := t.TempDir()
	f := newFolder(t, Options{Roots: []string{root}})
	path := filepath.Join(root, "c.thresher")
	col, err := collection.Create(t.Context(), path, &memorySource{data: vectors(0, 3, 4), dim: 4}, false, &collection.Options{Metric: collection.Cosine})
	if err != nil {
		t.Fatal(err)
	}
	bytes := col.Bytes()
	if err := col.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(names ...string) (p *problem.Problem) {
		t.Helper()
		if _, err := create("none", Source{Path: "c.thresher", Columns: names}, CreateOptions{})(f.c); !errors.As(err, &p) || p.Field != "columns" {
			t.Fatalf("%q: %v", names, err)
		}
		return p
	}
	if p := refused(columns.All); !strings.Contains(p.Detail, "no file c.thresher.columns lies beside it") {
		t.Errorf("no columns: %v", p)
	}
	kept, err := columns.New(columns.Of("year", []int{1, 2, 3}), columns.Of("lang", []string{"a", "b", "a"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := columns.Save(path, kept); err != nil {
		t.Fatal(err)
	}
	year, lang := api.Column{Name: "year", Type: "int64"}, api.Column{Name: "lang", Type: "text"}
	for _, x := range []struct {
		names []string
		want  []api.Column
	}{{nil, []api.Column{year, lang}}, {[]string{columns.All}, []api.Column{year, lang}}, {[]string{"lang"}, []api.Column{lang}}} {
		i := f.ready(create("c", Source{Path: "c.thresher", Columns: x.names}, CreateOptions{Replace: true})(f.c))
		if !slices.Equal(i.Columns, x.want) || i.Bytes <= bytes {
			t.Errorf("%q: %+v", x.names, i)
		}
	}
	e, err := columns.Parse("lang = 'a'")
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.c.Use("c", 0)
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := v.RowsFor(e, "filter"); err != nil || !slices.Equal(rows, []int64{0, 2}) {
		t.Errorf("rows %v %v", rows, err)
	}
	v.Release()
	if p := refused("yeer"); !strings.Contains(p.Detail, `c.thresher has no column "yeer"`) {
		t.Errorf("a column that is not there: %v", p)
	}
	text, err := os.ReadFile(path + columns.SavedSuffix)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	write(t, path+columns.SavedSuffix, text)
	if p := f.failed(create("none", Source{Path: "c.thresher"}, CreateOptions{})(f.c)); !strings.Contains(p.Detail, "damaged") || strings.Contains(p.Detail, root) {
		t.Errorf("damage: %v", p)
	}
}

// TestAllColumnsThatAreHeld: of all columns of a file those that cannot be kept are left out with a warning, as by the command line; one that is named is
// refused.
func TestAllColumnsThatAreHeld(t *testing.T) {
	f := newFolder(t, Options{})
	body := func() *strings.Reader {
		return strings.NewReader(`{"id":1,"v":[1,2],"none":null,"year":3,"wide":1}
{"id":2,"v":[3,4],"none":null,"year":null,"wide":18446744073709551615}
`)
	}
	i := f.ready(create("c", Source{Body: body(), Format: dataset.JSONL, Columns: []string{columns.All}}, CreateOptions{Metric: "ip"})(f.c))
	if want := []api.Column{{Name: "year", Type: "int64"}}; !slices.Equal(i.Columns, want) {
		t.Errorf("columns %+v, want %+v", i.Columns, want)
	}
	if text := strings.Join(i.Warnings, "\n"); !strings.Contains(text, `column "none": it has no values`) || !strings.Contains(text, `not kept of the body: wide`) || strings.Contains(text, f.dir) {
		t.Errorf("warnings %q", i.Warnings)
	}
	f.close()
	f.open()
	if again, err := f.c.Get("c"); err != nil || !slices.Equal(again.Warnings, i.Warnings) || !slices.Equal(again.Columns, i.Columns) {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
	for _, name := range []string{"none", "wide"} {
		i, err := create("d", Source{Body: body(), Format: dataset.JSONL, Columns: []string{name}}, CreateOptions{Metric: "ip"})(f.c)
		if err == nil {
			if p := f.failed(i, nil); !strings.Contains(p.Detail, name) {
				t.Errorf("%s: %v", name, p)
			}
		}
	}
}
