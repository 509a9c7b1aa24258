package servicetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Route is a row of a table of routes.
type Route struct {
	Method, Pattern string
	Params          []string // of the query
	Open            bool     // to everybody, without a token
}

// bodied are the deletions that have a body.
var bodied = []string{"DELETE /v1/collections/{name}/rows", "DELETE /v1/collections/{name}/slates/users"}

// CheckRoutes compares a table of routes with the document in both directions: paths, methods, parameters of path and
// query, bodies, and who may call. Of the document it looks at the paths that are in own.
func (d *Description) CheckRoutes(t *testing.T, table []Route, own func(path string) bool) {
	t.Helper()
	served := map[string]bool{}
	for _, r := range table {
		path := strings.TrimSuffix(r.Pattern, "{$}")
		name := r.Method + " " + path
		if served[name] {
			t.Errorf("%s is in the table twice", name)
		}
		served[name] = true
		item, _ := d.Tree["paths"].(map[string]any)[path].(map[string]any)
		op, _ := item[strings.ToLower(r.Method)].(map[string]any)
		if op == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		query, inPath := d.parameters(item, op)
		if want := slices.Sorted(slices.Values(r.Params)); !slices.Equal(want, query) {
			t.Errorf("%s: query parameters %v are served, %v described", name, want, query)
		}
		for part := range strings.SplitSeq(path, "/") {
			if p, ok := strings.CutPrefix(part, "{"); ok && !slices.Contains(inPath, strings.TrimSuffix(p, "}")) {
				t.Errorf("%s: path parameter %s is not described", name, part)
			}
		}
		if _, everybody := op["security"]; everybody != r.Open {
			t.Errorf("%s: open to everybody %v in the table, %v as described", name, r.Open, everybody)
		}
		_, body := op["requestBody"]
		if takes := r.Method == "PUT" || r.Method == "POST" && !strings.HasSuffix(path, "/cancel") || slices.Contains(bodied, name); body != takes {
			t.Errorf("%s: takes a body %v, described %v", name, takes, body)
		}
	}
	for path, item := range d.Tree["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" && own(path) && !served[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is described and not served", method, path)
			}
		}
	}
}

// parameters returns the names of an operation's parameters, sorted: in the query, and in the path.
func (d *Description) parameters(item, op map[string]any) (query, path []string) {
	for _, holder := range []map[string]any{item, op} {
		list, _ := holder["parameters"].([]any)
		for _, node := range list {
			_, p := d.Follow("", node)
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

// CheckWhole fails the test unless references resolve, schemas compile, examples satisfy their schemas, names are
// unique, and every component is used.
func (d *Description) CheckWhole(t *testing.T) {
	t.Helper()
	if v, _ := d.Tree["openapi"].(string); !strings.HasPrefix(v, "3.1.") {
		t.Errorf("openapi %q", v)
	}
	for name := range d.Tree["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := d.Schema("/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	w := &walk{t: t, d: d, used: map[string]bool{}, ids: map[string]bool{}, linked: map[string]bool{}}
	w.visit("", d.Tree)
	for id := range w.linked {
		if !w.ids[id] {
			t.Errorf("a link leads to the operation %s, which is not there", id)
		}
	}
	for kind, all := range d.Tree["components"].(map[string]any) {
		for name := range all.(map[string]any) {
			if ref := "#/components/" + kind + "/" + name; kind != "securitySchemes" && !w.used[ref] {
				t.Errorf("%s is not used", ref)
			}
		}
	}
}

// walk visits the nodes of a document.
type walk struct {
	t                 *testing.T
	d                 *Description
	used, ids, linked map[string]bool // references, ids of operations, and those to which links lead
}

func (w *walk) visit(pointer string, node any) {
	switch n := node.(type) {
	case map[string]any:
		w.object(pointer, n)
		for k, v := range n {
			if v == nil { // a comma in an unquoted text
				w.t.Errorf("%s/%s: nothing is there", pointer, k)
			}
			w.visit(pointer+"/"+Escape(k), v)
		}
	case []any:
		for i, v := range n {
			w.visit(fmt.Sprint(pointer, "/", i), v)
		}
	}
}

// object checks what an object itself says.
func (w *walk) object(pointer string, n map[string]any) {
	if ref, ok := n["$ref"].(string); ok {
		w.used[ref] = true
		if !w.d.leads(ref) {
			w.t.Errorf("%s: %s leads nowhere", pointer, ref)
		}
	}
	if id, ok := n["operationId"].(string); ok && strings.Contains(pointer, "/links/") {
		w.linked[id] = true
	} else if ok {
		if w.ids[id] {
			w.t.Errorf("operation %s is there twice", id)
		}
		w.ids[id] = true
		if n["summary"] == nil || n["responses"].(map[string]any)["default"] == nil {
			w.t.Errorf("operation %s lacks a summary or default response", id)
		}
	}
	if example, ok := n["example"]; ok && n["schema"] != nil && !strings.HasSuffix(pointer, "ndjson") {
		s, err := w.d.Schema(pointer + "/schema")
		if err == nil {
			err = s.Validate(example)
		}
		if err != nil {
			w.t.Errorf("example at %s: %v", pointer, err)
		}
	}
}

// leads reports whether there is something at a reference.
func (d *Description) leads(ref string) bool {
	at := any(d.Tree)
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		m, ok := at.(map[string]any)
		if !ok || m[part] == nil {
			return false
		}
		at = m[part]
	}
	return true
}
