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
		"go.mod":       "module older\n\ngo 1.26.0\n\nrequire olderlike v1.0.0\n",
		"bench/go.mod": "module older/bench\n\nrequire (\n\tolder v0.0.0\n)\n\nreplace older => ../\n",
		"cpu/cpu.go":   "package cpu\n\nimport (\n\t_ \"older/cpu/scan\"\n)\n\nvar program, folder = \"older\", \"older/costs\"\nvar code = \"import (\\n\\\"older/cpu\\\"\\n)\"\n",
		"x_test.go":    "package x_test\n\nimport (\n\t\"older\"\n)\n\nconst room = \"older/cpu\"\n",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "older", "example.org/a b", "/x.y/z", "example.org/"} {
		if said, err := exec.Command("sh", ".ci/module", bad, dir).CombinedOutput(); err == nil {
			t.Errorf("%q is taken: %s", bad, said)
		}
	}
	if said, err := exec.Command("sh", ".ci/module", "example.org/you/older", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for file, want := range map[string]string{
		"go.mod":       "module example.org/you/older\n\ngo 1.26.0\n\nrequire olderlike v1.0.0\n",
		"bench/go.mod": "module example.org/you/older/bench\n\nrequire (\n\texample.org/you/older v0.0.0\n)\n\nreplace example.org/you/older => ../\n",
		"cpu/cpu.go":   "package cpu\n\nimport (\n\t_ \"example.org/you/older/cpu/scan\"\n)\n\nvar program, folder = \"older\", \"older/costs\"\nvar code = \"import (\\n\\\"example.org/you/older/cpu\\\"\\n)\"\n",
		"x_test.go":    "package x_test\n\nimport (\n\t\"example.org/you/older\"\n)\n\nconst room = \"example.org/you/older/cpu\"\n",
	} {
		if got := read(t, filepath.Join(dir, file)); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}
