package thresher_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestModuleRenamed: .ci/module changes what is the module's path, in go.mod, imports and texts that name packages, and
// leaves what only looks like it.
func TestModuleRenamed(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh here, by which make runs it")
	}
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":       "module thresher\n\ngo 1.26.0\n\nrequire thresherlike v1.0.0\n",
		"bench/go.mod": "module thresher/bench\n\nrequire (\n\tthresher v0.0.0\n)\n\nreplace thresher => ../\n",
		"cpu/cpu.go":   "package cpu\n\nimport (\n\t_ \"thresher/cpu/scan\"\n)\n\nvar program, folder = \"thresher\", \"thresher/costs\"\nvar code = \"import (\\n\\\"thresher/cpu\\\"\\n)\"\n",
		"x_test.go":    "package x_test\n\nimport (\n\t\"thresher\"\n)\n\nconst room = \"thresher/cpu\"\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "thresher", "example.org/a b", "/x.y/z", "example.org/"} {
		if said, err := exec.Command("sh", ".ci/module", bad, dir).CombinedOutput(); err == nil {
			t.Errorf("%q is taken: %s", bad, said)
		}
	}
	if said, err := exec.Command("sh", ".ci/module", "example.org/you/thresher", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for file, want := range map[string]string{
		"go.mod":       "module example.org/you/thresher\n\ngo 1.26.0\n\nrequire thresherlike v1.0.0\n",
		"bench/go.mod": "module example.org/you/thresher/bench\n\nrequire (\n\texample.org/you/thresher v0.0.0\n)\n\nreplace example.org/you/thresher => ../\n",
		"cpu/cpu.go":   "package cpu\n\nimport (\n\t_ \"example.org/you/thresher/cpu/scan\"\n)\n\nvar program, folder = \"thresher\", \"thresher/costs\"\nvar code = \"import (\\n\\\"example.org/you/thresher/cpu\\\"\\n)\"\n",
		"x_test.go":    "package x_test\n\nimport (\n\t\"example.org/you/thresher\"\n)\n\nconst room = \"example.org/you/thresher/cpu\"\n",
	} {
		if got := read(t, filepath.Join(dir, file)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}
