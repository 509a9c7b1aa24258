package service

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/service/problem"
	"thresher/service/servicetest"
)

// describe parses the document of the API with the extensions of the tests, once.
var describe = sync.OnceValues(func() (*servicetest.Description, error) {
	text, err := extensions().describe()
	if err != nil {
		return nil, err
	}
	return servicetest.ParseDescription(text)
})

func described(t testing.TB) *servicetest.Description {
	t.Helper()
	d, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDescriptionIsTheTable compares the table of routes with the document in both
// directions: paths, methods, parameters of path and query, and scopes.
func TestDescriptionIsTheTable(t *testing.T) {
	var all []servicetest.Route
	for _, rt := range (&Server{o: Options{Extensions: extensions()}}).routes() {
		all = append(all, servicetest.Route{Method: rt.method, Pattern: rt.pattern, Params: rt.params, Open: rt.scope == open})
	}
	described(t).CheckRoutes(t, all, func(string) bool { return true })
}

func TestDescriptionHoldsTogether(t *testing.T) { described(t).CheckWhole(t) }

// TestEveryKindIsDescribed compares the kinds of problems with the document.
func TestEveryKindIsDescribed(t *testing.T) {
	d := described(t)
	var kinds []string
	for _, k := range problem.Kinds() {
		kinds = append(kinds, string(k))
	}
	var listed []string
	for _, k := range d.Tree["components"].(map[string]any)["schemas"].(map[string]any)["Kind"].(map[string]any)["enum"].([]any) {
		listed = append(listed, k.(string))
	}
	if diff := cmp.Diff(kinds, listed); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if !bytes.Contains(text, []byte("`"+k+"`")) {
			t.Errorf("docs/operations.md lacks %s", k)
		}
	}
}

// TestNamesOfSearches compares the metrics, methods and formats of answers that there are with the document.
func TestNamesOfSearches(t *testing.T) {
	var methods, formats []string
	for _, m := range batch.Methods() {
		methods = append(methods, string(m))
	}
	schemas := described(t).Tree["components"].(map[string]any)["schemas"].(map[string]any)
	for _, f := range dataset.FormatsFor(dataset.WholeWritten) {
		formats = append(formats, string(f))
	}
	spec := schemas["BatchSpec"].(map[string]any)["properties"].(map[string]any)
	for name, c := range map[string]struct {
		schema any
		want   []string
	}{
		"Metric": {schemas["Metric"], collection.Metrics()}, "Method": {schemas["Method"], methods}, "output_format": {spec["output_format"], formats},
	} {
		var listed []string
		for _, name := range c.schema.(map[string]any)["enum"].([]any) {
			listed = append(listed, name.(string))
		}
		if diff := cmp.Diff(c.want, listed, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
