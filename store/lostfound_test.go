package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMovedFilesAreListed(t *testing.T) {
	data := t.TempDir()
	folder := filepath.Join(data, "files")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	f := LostFoundOf(data)
	for _, content := range []string{"one", "two", "three"} {
		if err := os.WriteFile(filepath.Join(folder, "a"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Move(Disk{}, filepath.Join(folder, "a"), "nobody knows it"); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a": "one", "a.1": "two", "a.2": "three"} {
		if got, err := os.ReadFile(filepath.Join(data, "lost+found", "files", name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	text, err := os.ReadFile(f.List())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var last Moved
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if len(lines) != 3 || last.From != filepath.Join("files", "a") || last.To != filepath.Join("lost+found", "files", "a.2") || last.Why == "" {
		t.Error(string(text))
	}
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("four"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := f.Keep(Disk{}, filepath.Join(folder, "a"), "damaged"); err != nil || m.To != filepath.Join("lost+found", "files", "a.3") {
		t.Error(m, err)
	}
	for _, path := range []string{filepath.Join(folder, "a"), filepath.Join(data, "lost+found", "files", "a.3")} {
		if got, err := os.ReadFile(path); err != nil || string(got) != "four" {
			t.Errorf("%s holds %q, %v", path, got, err)
		}
	}
	if _, err := f.Move(Disk{}, filepath.Join(t.TempDir(), "a"), ""); err == nil {
		t.Error("a file of elsewhere was moved")
	}
}
