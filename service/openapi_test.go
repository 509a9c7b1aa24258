package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"thresher/batch"
	"thresher/collection"
	"thresher/service/problem"
)

// document is the parsed openapi.yaml.
type document struct {
	tree     map[string]any
	mux      *http.ServeMux // from paths to patterns
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by pointer
}

var readDocument = sync.OnceValues(func() (*document, error) {
	d := &document{mux: http.NewServeMux(), compiled: map[string]*jsonschema.Schema{}}
	var tree any
	joined, err := extensions().describe()
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(joined, &tree); err != nil {
		return nil, err
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	d.tree = parsed.(map[string]any)
	d.compiler = jsonschema.NewCompiler()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource("mem:///openapi.json", parsed); err != nil {
		return nil, err
	}
	for path := range d.tree["paths"].(map[string]any) {
		pattern := path
		if path == "/" {
			pattern = "/{$}"
		}
		d.mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return d, nil
})

func described(t testing.TB) *document {
	t.Helper()
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// schema compiles the schema at a JSON pointer.
func (d *document) schema(pointer string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.compiled[pointer]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile("mem:///openapi.json#" + pointer)
	if err == nil {
		d.compiled[pointer] = s
	}
	return s, err
}

// escaped escapes a name for a JSON pointer.
func escaped(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// follow resolves a $ref of the document.
func (d *document) follow(pointer string, node any) (string, map[string]any) {
	m, _ := node.(map[string]any)
	ref, ok := m["$ref"].(string)
	if !ok {
		return pointer, m
	}
	at := any(d.tree)
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(map[string]any)[part]
	}
	return strings.TrimPrefix(ref, "#"), at.(map[string]any)
}

// operation returns the document's operation for a method of a path, which may be a pattern.
func (d *document) operation(method, path string) (pointer string, op map[string]any) {
	r, err := http.NewRequest("GET", "http://x"+path, nil)
	if err != nil {
		return "", nil
	}
	_, pattern := d.mux.Handler(r)
	pattern = strings.TrimSuffix(pattern, "{$}")
	item, _ := d.tree["paths"].(map[string]any)[pattern].(map[string]any)
	if method == http.MethodHead {
		method = http.MethodGet
	}
	op, _ = item[strings.ToLower(method)].(map[string]any)
	return "/paths/" + escaped(pattern) + "/" + strings.ToLower(method), op
}

// check compares an answer with the document: its status, its media type, and the schema of a
// JSON body.
func (d *document) check(t testing.TB, method, path string, a *answer) {
	t.Helper()
	pointer, op := d.operation(method, path)
	if op == nil || a.status == http.StatusNotModified || method == http.MethodHead {
		return // other tests check the problems of unknown paths and methods
	}
	responses := op["responses"].(map[string]any)
	key := fmt.Sprint(a.status)
	if responses[key] == nil {
		if a.status < 400 {
			t.Errorf("%s %s: status %d is not described", method, path, a.status)
			return
		}
		key = "default"
	}
	at, response := d.follow(pointer+"/responses/"+key, responses[key])
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 {
		if len(a.body) > 0 {
			t.Errorf("%s %s: a body that is not described: %.200s", method, path, a.body)
		}
		return
	}
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if content[media] == nil {
		t.Errorf("%s %s: %d of type %q, described are %v", method, path, a.status, media, slices.Collect(maps.Keys(content)))
		return
	}
	if media != jsonType && media != "application/problem+json" {
		return
	}
	s, err := d.schema(at + "/content/" + escaped(media) + "/schema")
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		t.Errorf("%s %s: %v: %.300s", method, path, err, a.body)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s %s: %v\n%.600s", method, path, err, a.body)
	}
}

// pathOf returns a pattern of the router as the document writes it.
func pathOf(pattern string) string { return strings.TrimSuffix(pattern, "{$}") }

// TestDescriptionIsTheTable compares the table of routes with the document in both
// directions: paths, methods, parameters of path and query, and scopes.
func TestDescriptionIsTheTable(t *testing.T) {
	d := described(t)
	s := &Server{o: Options{Extensions: extensions()}}
	served := map[string]bool{}
	for _, rt := range s.routes() {
		name := rt.method + " " + pathOf(rt.pattern)
		if served[name] {
			t.Errorf("%s is in the table twice", name)
		}
		served[name] = true
		item, _ := d.tree["paths"].(map[string]any)[pathOf(rt.pattern)].(map[string]any)
		op, _ := item[strings.ToLower(rt.method)].(map[string]any)
		if op == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		query, inPath := d.parameters(item, op)
		want := slices.Sorted(slices.Values(rt.params))
		if diff := cmp.Diff(want, query); diff != "" && len(want)+len(query) > 0 {
			t.Errorf("%s: query parameters served, described:\n%s", name, diff)
		}
		for part := range strings.SplitSeq(pathOf(rt.pattern), "/") {
			if p, ok := strings.CutPrefix(part, "{"); ok && !slices.Contains(inPath, strings.TrimSuffix(p, "}")) {
				t.Errorf("%s: path parameter %s is not described", name, part)
			}
		}
		_, everybody := op["security"]
		if everybody != (rt.scope == open) {
			t.Errorf("%s: open to everybody %v in the table, %v as described", name, rt.scope == open, everybody)
		}
		_, body := op["requestBody"]
		listed := []string{"DELETE /v1/collections/{name}/rows", "DELETE /v1/collections/{name}/slates/users"}
		if takes := rt.method == "PUT" || rt.method == "POST" && !strings.HasSuffix(rt.pattern, "/cancel") || slices.Contains(listed, name); body != takes {
			t.Errorf("%s: takes a body %v, described %v", name, takes, body)
		}
	}
	for path, item := range d.tree["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" && !served[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is described and not served", method, path)
			}
		}
	}
}

// parameters returns the names of an operation's parameters, sorted: in the query, and in the
// path.
func (d *document) parameters(item, op map[string]any) (query, path []string) {
	for _, holder := range []map[string]any{item, op} {
		list, _ := holder["parameters"].([]any)
		for _, node := range list {
			_, p := d.follow("", node)
			switch p["in"] {
			case "query":
				query = append(query, p["name"].(string))
			case "path":
				path = append(path, p["name"].(string))
			}
		}
	}
	slices.Sort(query)
	return query, path
}

// TestDescriptionHoldsTogether: references resolve, schemas compile, examples satisfy their
// schemas, and names are unique.
func TestDescriptionHoldsTogether(t *testing.T) {
	d := described(t)
	if v, _ := d.tree["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("openapi %q", v)
	}
	for name := range d.tree["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := d.schema("/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	used := map[string]bool{}
	ids, linked := map[string]bool{}, map[string]bool{}
	var walk func(pointer string, node any)
	walk = func(pointer string, node any) {
		switch n := node.(type) {
		case map[string]any:
			if ref, ok := n["$ref"].(string); ok {
				used[ref] = true
				if !d.leads(ref) {
					t.Errorf("%s: %s leads nowhere", pointer, ref)
				}
			}
			if id, ok := n["operationId"].(string); ok && strings.Contains(pointer, "/links/") {
				linked[id] = true
			} else if ok {
				if ids[id] {
					t.Errorf("operation %s is there twice", id)
				}
				ids[id] = true
				if n["summary"] == nil || n["responses"].(map[string]any)["default"] == nil {
					t.Errorf("operation %s lacks a summary or default response", id)
				}
			}
			if example, ok := n["example"]; ok && n["schema"] != nil && !strings.HasSuffix(pointer, "ndjson") {
				s, err := d.schema(pointer + "/schema")
				if err == nil {
					err = s.Validate(example)
				}
				if err != nil {
					t.Errorf("example at %s: %v", pointer, err)
				}
			}
			for k, v := range n {
				if v == nil { // a comma in an unquoted text
					t.Errorf("%s/%s: nothing is there", pointer, k)
				}
				walk(pointer+"/"+escaped(k), v)
			}
		case []any:
			for i, v := range n {
				walk(fmt.Sprint(pointer, "/", i), v)
			}
		}
	}
	walk("", d.tree)
	for id := range linked {
		if !ids[id] {
			t.Errorf("a link leads to the operation %s, which is not there", id)
		}
	}
	for kind, all := range d.tree["components"].(map[string]any) {
		for name := range all.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; kind != "securitySchemes" && !used[ref] {
				t.Errorf("%s is not used", ref)
			}
		}
	}
}

func (d *document) leads(ref string) bool {
	at := any(d.tree)
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		m, ok := at.(map[string]any)
		if !ok || m[part] == nil {
			return false
		}
		at = m[part]
	}
	return true
}

// TestEveryKindIsDescribed compares the kinds of problems with the document.
func TestEveryKindIsDescribed(t *testing.T) {
	d := described(t)
	var kinds []string
	for _, k := range problem.Kinds() {
		kinds = append(kinds, string(k))
	}
	var listed []string
	for _, k := range d.tree["components"].(map[string]any)["schemas"].(map[string]any)["Kind"].(map[string]any)["enum"].([]any) {
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

// TestNamesOfSearches compares the metrics and methods that there are with the document.
func TestNamesOfSearches(t *testing.T) {
	var methods []string
	for _, m := range batch.Methods() {
		methods = append(methods, string(m))
	}
	schemas := described(t).tree["components"].(map[string]any)["schemas"].(map[string]any)
	for schema, want := range map[string][]string{"Metric": collection.Metrics(), "Method": methods} {
		var listed []string
		for _, name := range schemas[schema].(map[string]any)["enum"].([]any) {
			listed = append(listed, name.(string))
		}
		if diff := cmp.Diff(want, listed, cmpopts.SortSlices(strings.Compare)); diff != "" {
			t.Errorf("%s: %s", schema, diff)
		}
	}
}
