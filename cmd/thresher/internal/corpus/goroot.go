package corpus

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// errNoGo says that no Go tree with sources was found.
var errNoGo = errors.New("no Go source tree found")

// FindGoroot returns the Go tree of the machine: $GOROOT, or else the go command's. The error
// wraps errNoGo if neither contains sources.
func FindGoroot(ctx context.Context) (string, error) {
	if root := os.Getenv("GOROOT"); root != "" && hasSources(root) {
		return root, nil
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("%w: go env GOROOT: %w", errNoGo, err)
	}
	root := strings.TrimSpace(string(out))
	if !hasSources(root) {
		return "", fmt.Errorf("%w: %s has no src/fmt", errNoGo, root)
	}
	return root, nil
}

func hasSources(root string) bool {
	info, err := os.Stat(filepath.Join(root, "src", "fmt"))
	return err == nil && info.IsDir()
}

// Read parses the library under goroot/src: every exported name that has a doc comment, of
// every importable package. Files for all systems and architectures are read, so the entries
// depend on the release of Go only.
func Read(ctx context.Context, goroot string) (*Corpus, error) {
	// Some distributions make src a symbolic link, which WalkDir would not follow.
	src, err := filepath.EvalSymlinks(filepath.Join(goroot, "src"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoGo, err)
	}
	files, err := sourceFiles(src)
	if err != nil {
		return nil, fmt.Errorf("list Go sources: %w", err)
	}
	entries, err := parseAll(ctx, src, files)
	if err != nil {
		return nil, err
	}
	return &Corpus{Version: version(goroot), Source: filepath.Join(goroot, "src"), Entries: tidy(entries)}, nil
}

// version returns the first line of goroot/VERSION, which may be missing in trees built from
// a checkout.
func version(goroot string) string {
	b, err := os.ReadFile(filepath.Join(goroot, "VERSION"))
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return "go (release unknown)"
	}
	return line
}

// skipped reports folders without importable library code, and two whose comments are
// thousands of variations of a few sentences: system call numbers and generated vector
// instructions.
func skipped(rel string) bool {
	switch rel {
	case "cmd", "syscall", "simd":
		return true
	}
	base := filepath.Base(rel)
	return base == "vendor" || base == "testdata" || base == "internal" ||
		(rel != "." && (base[0] == '_' || base[0] == '.'))
}

// sourceFiles lists Go files below src, relative to it, in lexical order.
func sourceFiles(src string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped(rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() && strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") {
			files = append(files, rel)
		}
		return nil
	})
	return files, err
}

// parseAll parses the files on all cores. Files that do not parse are left out.
func parseAll(ctx context.Context, src string, files []string) ([]Entry, error) {
	found := make([][]Entry, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(src, files[i]), nil,
					parser.ParseComments|parser.SkipObjectResolution)
				if err != nil || f.Name.Name == "main" {
					continue
				}
				found[i] = fileEntries(filepath.ToSlash(filepath.Dir(files[i])), f)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var all []Entry
	for _, f := range found {
		all = append(all, f...)
	}
	return all, nil
}

// fileEntries collects the comments of a file's exported names. A comment on a group of
// constants or variables belongs to the first exported one without its own comment.
func fileEntries(pkg string, f *ast.File) []Entry {
	var out []Entry
	add := func(name string, groups ...*ast.CommentGroup) {
		for _, g := range groups {
			if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
				out = append(out, Entry{Package: pkg, Name: name, Text: text})
				return
			}
		}
	}
	add("", f.Doc)
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if name, ok := funcName(d); ok {
				add(name, d.Doc)
			}
		case *ast.GenDecl:
			group := d.Doc
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						add(s.Name.Name, s.Doc, group)
						group = nil
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() {
						add(s.Names[0].Name, s.Doc, group, s.Comment)
						group = nil
					}
				}
			}
		}
	}
	return out
}

// funcName returns Func or Type.Method; false if a program cannot name it.
func funcName(d *ast.FuncDecl) (string, bool) {
	if !d.Name.IsExported() {
		return "", false
	}
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name, true
	}
	recv := d.Recv.List[0].Type
	for {
		switch t := recv.(type) {
		case *ast.StarExpr:
			recv = t.X
		case *ast.ParenExpr:
			recv = t.X
		case *ast.IndexExpr:
			recv = t.X
		case *ast.IndexListExpr:
			recv = t.X
		case *ast.Ident:
			return t.Name + "." + d.Name.Name, t.IsExported()
		default:
			return "", false
		}
	}
}
