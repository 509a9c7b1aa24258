package thresher_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A surface is where users meet names: flags, JSON, Python or Go. words maps each word of its names to one of the
// names.
type surface struct {
	name   string
	words  map[string]string
	former int // names that are marked as former ones, of which no word is taken
}

// add adds the words of a name, such as min_score, min-score or MinScore.
func (s *surface) add(name string) {
	for _, w := range wordsOf(name) {
		if _, ok := s.words[w]; !ok {
			s.words[w] = name
		}
	}
}

// joints are where words of a name in capitals meet: before a capital that follows a small letter or digit, and before the last
// capital of several.
var joints = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

// wordsOf splits a name.
func wordsOf(name string) []string {
	name = strings.ReplaceAll(name, "IDs", "Ids")
	name = joints.ReplaceAllString(joints.ReplaceAllString(name, "${1}${3}_${2}${4}"), "${1}${3}_${2}${4}")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

// flagFiles are the files of the commands that search, judge answers and build.
var flagFiles = []string{"search", "certify", "truth", "graph", "pairs", "join", "pursuit", "recall", "merge", "verify", "build", "vector_flags", "query_goals", "score_limits", "reading_flags"}

// flags collects the flags that calls such as fs.StringVar(&f.out, "out", ..) define, and those of settings.
func flags(t *testing.T) *surface {
	s := &surface{name: "flags", words: map[string]string{}}
	named := constants(t, filepath.Join("cmd", "thresher"))
	for _, file := range flagFiles {
		for _, call := range callsOf(t, filepath.Join("cmd", "thresher", file+".go")) {
			name := calledName(call)
			switch {
			case strings.HasSuffix(name, "Var") && len(call.Args) > 2 || strings.HasSuffix(name, "VarP"):
				if name, ok := call.Args[1].(*ast.Ident); ok {
					s.add(named[name.Name])
				}
				s.add(textOf(call.Args[1]))
			case name == "addSettings" || name == "searchSettings":
				for _, a := range call.Args {
					s.add(textOf(a))
				}
			}
		}
	}
	return s
}

// constants are the constants of a package that are texts.
func constants(t *testing.T, dir string) map[string]string {
	found := map[string]string{}
	for _, f := range sources(t, token.NewFileSet(), dir) {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for i, value := range spec.(*ast.ValueSpec).Values {
					found[spec.(*ast.ValueSpec).Names[i].Name] = textOf(value)
				}
			}
		}
	}
	return found
}

func callsOf(t *testing.T, path string) (calls []*ast.CallExpr) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			calls = append(calls, c)
		}
		return true
	})
	return calls
}

func calledName(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// textOf is a literal text, "" if e is none.
func textOf(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		text, _ := strconv.Unquote(l.Value)
		return text
	}
	return ""
}

// schemas are those of searches, of what they search, and of answers.
var schemas = []string{"Source", "CollectionSpec", "RowsSpec", "Deletion", "Collection", "Row", "Search", "Goal", "Stated", "ScoreCheck", "Recall", "Certified",
	"SearchOptions", "Published", "Answer", "Result", "Guarantee", "Certificate", "Round", "BatchSpec", "BatchGoals"}

// members collects the members of JSON objects of the API.
func members(t *testing.T) *surface {
	s := &surface{name: "HTTP", words: map[string]string{}}
	text, err := os.ReadFile("service/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas map[string]map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	for _, name := range schemas {
		if api.Components.Schemas[name] == nil {
			t.Errorf("openapi.yaml has no schema %s", name)
		}
		s.addProperties(api.Components.Schemas[name])
	}
	return s
}

// addProperties adds the names of all properties of a schema, at any depth, but former ones, which are deprecated.
func (s *surface) addProperties(node any) {
	switch node := node.(type) {
	case map[string]any:
		if properties, ok := node["properties"].(map[string]any); ok {
			for name, property := range properties {
				if property, ok := property.(map[string]any); ok && property["deprecated"] == true {
					s.former++
					continue
				}
				s.add(name)
			}
		}
		for _, child := range node {
			s.addProperties(child)
		}
	case []any:
		for _, child := range node {
			s.addProperties(child)
		}
	}
}

var (
	// pythonHeads are the heads of public functions, classes and methods, and the attributes of classes.
	pythonHeads = regexp.MustCompile(`(?ms)^(?:    )?(?:async def|def|class) ([a-z]\w*|[A-Z]\w*|__init__)\b(?:\((.*?)\)(?: -> [^\n]*)?)?:$`)
	pythonField = regexp.MustCompile(`(?m)^    ([a-z]\w*): `)
	// pythonFormer are names that the package warns of: the first arguments of former and renamed, and those of limits.
	pythonFormer = regexp.MustCompile(`(?:\bformer|\brenamed)\(f?"([a-z_]+)|_BEFORE = .*\("([a-z]+)", "([a-z]+)"\)$`)
	parameter    = regexp.MustCompile(`(?:^|[(,]\s*)\*{0,2}([a-z]\w*)\s*(?::|,|=|$)`)
)

// arguments collects the names of Python's functions, their arguments, and attributes of results.
func arguments(t *testing.T) *surface {
	s := &surface{name: "Python", words: map[string]string{}}
	texts := map[string]string{}
	former := map[string]bool{"": true}
	for _, file := range []string{"_index", "_collection", "_searches", "_knn", "_joins", "_tables", "_compare", "_merge", "_answer", "_certified", "_result", "_range_result", "_limits"} {
		text, err := os.ReadFile("python/src/thresher/" + file + ".py")
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
		for line := range strings.Lines(string(text)) {
			for _, m := range pythonFormer.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				former[m[1]], former[m[2]], former[m[3]] = true, true, true
			}
		}
	}
	delete(texts, "_limits")
	s.former = len(former) - 1
	add := func(name string) {
		if !former[name] {
			s.add(name)
		}
	}
	for _, text := range texts {
		for _, m := range pythonHeads.FindAllStringSubmatch(text, -1) {
			if m[1] != "__init__" {
				add(m[1])
			}
			for _, p := range parameter.FindAllStringSubmatch(m[2], -1) {
				add(p[1])
			}
		}
		for _, m := range pythonField.FindAllStringSubmatch(text, -1) {
			add(m[1])
		}
	}
	return s
}

// exported collects the exported names of the library and of tasks, and those of package batch that the library passes on.
func exported(t *testing.T) *surface {
	s := &surface{name: "Go", words: map[string]string{}}
	for _, dir := range []string{".", "tasks"} {
		for _, f := range sources(t, token.NewFileSet(), dir) {
			s.addExported(f, nil)
		}
	}
	for _, f := range sources(t, token.NewFileSet(), "batch") {
		s.addExported(f, []string{"Request", "QueryGoal", "Certificate", "Stats"})
	}
	return s
}

// addExported adds the exported names of a file; of types, if some are given, those and their fields alone.
func (s *surface) addExported(f *ast.File, types []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if types == nil && d.Name.IsExported() {
				s.add(d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if types == nil && spec.Name.IsExported() || slices.Contains(types, spec.Name.Name) {
						s.add(spec.Name.Name)
						s.addFields(spec.Type)
					}
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						if types == nil && n.IsExported() {
							s.add(n.Name)
						}
					}
				}
			}
		}
	}
}

// addFields adds the exported fields of a struct, and the methods of an interface.
func (s *surface) addFields(e ast.Expr) {
	var fields *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		fields = e.Fields
	case *ast.InterfaceType:
		fields = e.Methods
	default:
		return
	}
	for _, field := range fields.List {
		for _, n := range field.Names {
			if n.IsExported() {
				s.add(n.Name)
			}
		}
	}
}

// listedWords are in the paragraph of docs/architecture.md that begins so.
var listedWords = regexp.MustCompile(`(?m)^Names consist of: ` + "`([^`]*)`")

// TestVocabulary: the names on the four surfaces consist of the words that docs/architecture.md lists, so that one
// thing has one name everywhere, and each word is in a name. Former names are taken, but say so.
func TestVocabulary(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	list := listedWords.FindSubmatch(page)
	if list == nil {
		t.Fatal("docs/architecture.md has no list of words")
	}
	words := strings.Fields(string(list[1]))
	if !slices.IsSorted(words) {
		t.Error("the list of words is not in order")
	}
	used := map[string]bool{}
	for _, s := range []*surface{flags(t), members(t), arguments(t), exported(t)} {
		if len(s.words) < 40 {
			t.Errorf("%s: only %d words were found", s.name, len(s.words))
		}
		for _, w := range slices.Sorted(maps.Keys(s.words)) {
			used[w] = true
			if !slices.Contains(words, w) {
				t.Errorf("%s: %s has the word %s, which docs/architecture.md does not list", s.name, s.words[w], w)
			}
		}
		if want := map[string]int{"HTTP": 4, "Python": 4}[s.name]; s.former < want {
			t.Errorf("%s: only %d former names were found", s.name, s.former)
		}
	}
	for _, w := range words {
		if !used[w] {
			t.Errorf("no name has the word %s, which docs/architecture.md lists", w)
		}
	}
}
