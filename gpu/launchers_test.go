package gpu

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryArgumentIsNamed checks that each launch sets every argument of its kernel: a field that a
// literal leaves out would be zero.
func TestEveryArgumentIsNamed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string][]string{} // of the structures of arguments
	literals := map[*ast.CompositeLit]string{}
	fset := token.NewFileSet()
	for _, file := range files {
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && strings.HasPrefix(filepath.Base(file), "launchers") {
					for _, list := range s.Fields.List {
						for _, name := range list.Names {
							fields[n.Name.Name] = append(fields[n.Name.Name], name.Name)
						}
					}
				}
			case *ast.CompositeLit:
				if of, ok := n.Type.(*ast.Ident); ok {
					literals[n] = of.Name
				}
			}
			return true
		})
	}
	launches := 0
	for l, of := range literals {
		if fields[of] == nil {
			continue
		}
		launches++
		set := map[string]bool{}
		for _, e := range l.Elts {
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				set[pair.Key.(*ast.Ident).Name] = true
			}
		}
		for _, name := range fields[of] {
			if !set[name] {
				t.Errorf("%s: %s lacks %s", fset.Position(l.Pos()), of, name)
			}
		}
	}
	if launches < 30 {
		t.Errorf("found %d launches only", launches)
	}
}
