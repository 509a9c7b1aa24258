package servicetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Description is a parsed OpenAPI document. Goroutines may use one at the same time.
type Description struct {
	Tree map[string]any

	mux      *http.ServeMux // from paths to patterns
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by pointer
}

// ParseDescription parses an OpenAPI document, openapi.yaml joined with the parts of extensions.
func ParseDescription(text []byte) (*Description, error) {
	d := &Description{mux: http.NewServeMux(), compiled: map[string]*jsonschema.Schema{}}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return nil, err
	}
	d.Tree = parsed.(map[string]any)
	d.compiler = jsonschema.NewCompiler()
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource("mem:///openapi.json", parsed); err != nil {
		return nil, err
	}
	for path := range d.Tree["paths"].(map[string]any) {
		pattern := path
		if path == "/" {
			pattern = "/{$}"
		}
		d.mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return d, nil
}

// Schema compiles the schema at a JSON pointer.
func (d *Description) Schema(pointer string) (*jsonschema.Schema, error) {
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

// Escape escapes a name for a JSON pointer.
func Escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// Follow resolves a $ref of the document: it returns the pointer and the object that node refers to, or pointer and node.
func (d *Description) Follow(pointer string, node any) (string, map[string]any) {
	m, _ := node.(map[string]any)
	ref, ok := m["$ref"].(string)
	if !ok {
		return pointer, m
	}
	at := any(d.Tree)
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(map[string]any)[part]
	}
	return strings.TrimPrefix(ref, "#"), at.(map[string]any)
}

// operation returns the document's operation for a method of a path, which may be a pattern.
func (d *Description) operation(method, path string) (pointer string, op map[string]any) {
	r, err := http.NewRequest("GET", "http://x"+path, nil)
	if err != nil {
		return "", nil
	}
	_, pattern := d.mux.Handler(r)
	pattern = strings.TrimSuffix(pattern, "{$}")
	item, _ := d.Tree["paths"].(map[string]any)[pattern].(map[string]any)
	if method == http.MethodHead {
		method = http.MethodGet
	}
	op, _ = item[strings.ToLower(method)].(map[string]any)
	return "/paths/" + Escape(pattern) + "/" + strings.ToLower(method), op
}

// Check compares an answer with the document: its status, its media type, and the schema of a
// JSON body.
func (d *Description) Check(t testing.TB, method, path string, a *Answer) {
	t.Helper()
	pointer, op := d.operation(method, path)
	if op == nil || a.Status == http.StatusNotModified || method == http.MethodHead {
		return // other tests check the problems of unknown paths and methods
	}
	responses := op["responses"].(map[string]any)
	key := fmt.Sprint(a.Status)
	if responses[key] == nil {
		if a.Status < 400 {
			t.Errorf("%s %s: status %d is not described", method, path, a.Status)
			return
		}
		key = "default"
	}
	at, response := d.Follow(pointer+"/responses/"+key, responses[key])
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 {
		if len(a.Body) > 0 {
			t.Errorf("%s %s: a body that is not described: %.200s", method, path, a.Body)
		}
		return
	}
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if content[media] == nil {
		t.Errorf("%s %s: %d of type %q, described are %v", method, path, a.Status, media, slices.Collect(maps.Keys(content)))
		return
	}
	if media != jsonType && media != "application/problem+json" {
		return
	}
	s, err := d.Schema(at + "/content/" + Escape(media) + "/schema")
	if err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body))
	if err != nil {
		t.Errorf("%s %s: %v: %.300s", method, path, err, a.Body)
		return
	}
	if err := s.Validate(v); err != nil {
		t.Errorf("%s %s: %v\n%.600s", method, path, err, a.Body)
	}
}
