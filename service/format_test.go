package service

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/store"
)

// A folder of before there were formats gets the number of this program and opens again; what is in it stays.
func TestDataFolderStatesItsFormat(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.stocked()
	s.stopAll()
	path := filepath.Join(dir, formatName)
	if err := os.Remove(path); err != nil { // as an older program leaves it
		t.Fatal(err)
	}
	s = startIn(t, dir, func(o *Options) { o.Release = "v1.2.3" })
	for name, got := range s.everything() {
		if got != want[name] {
			t.Errorf("%s: %s, was %s", name, got, want[name])
		}
	}
	s.stopAll()
	var f folderFormat
	if err := json.Unmarshal(readFile(t, path), &f); err != nil || f.Format != format || f.Program != "v1.2.3" {
		t.Errorf("%s holds %s, %v", formatName, readFile(t, path), err)
	}
}

// A folder that a newer program wrote is refused by the server, the check and the repair, which name that program and change
// nothing.
func TestNewerDataFolderIsRefused(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"newer", `{"format":2,"program":"v9.8.7"}`, "has format 2, written by thresher v9.8.7; this program reads formats up to 1"},
		{"of a newer form", `{"format":3,"program":"v10","more":[1]}`, "has format 3, written by thresher v10"},
		{"no format", `{"program":"v1"}`, "does not state a format"},
		{"cut", `{"form`, "does not state a format"},
		{"empty", ``, "does not state a format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, formatName), []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, opening := Open(t.Context(), Options{Dir: dir})
			_, repairing := extensions().Repair(dir, nil)
			for _, err := range []error{opening, extensions().Check(t.Context(), dir, func(store.Item) {}), repairing} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want one with %q", err, c.want)
				}
				var newer *NewerFormatError
				if errors.As(err, &newer) != strings.Contains(c.want, "has format") {
					t.Errorf("error of type %T", err)
				}
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Errorf("the folder has %v now, %v", entries, err)
			}
		})
	}
}
