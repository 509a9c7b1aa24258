package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/store"
)

// stocked fills a server with something of each kind and returns its answers.
func (s *site) stocked() map[string]string {
	s.t.Helper()
	s.do("PUT", "/v1/collections/rows?wait&metric=cosine", npy(gaussian(1, 40*dim), dim), "Content-Type", npyType).want(201)
	s.do("PUT", "/v1/collections/texts?metric=ip&wait&ids=id", strings.NewReader(`{"id":"a","vector":[1,0]}`+"\n"+`{"id":"b","vector":[0,1]}`+"\n"), "Content-Type", "application/x-ndjson").want(201)
	s.do("POST", "/v1/collections/texts/rows?wait&ids=id", strings.NewReader(`{"id":"c","vector":[3,2]}`+"\n"), "Content-Type", "application/x-ndjson").want(200)
	s.do("POST", "/v1/collections/rows/tally?twice", `{}`).want(200)
	s.write("one")
	s.write("another")
	return s.everything()
}

// everything requests everything that a server holds.
func (s *site) everything() map[string]string {
	s.t.Helper()
	got := map[string]string{}
	var list struct {
		Data []struct {
			Name      string
			State     string
			Version   int64
			Count     int64
			Dimension int
		}
	}
	s.do("GET", "/v1/collections", nil).want(200).into(&list)
	for _, c := range list.Data {
		if c.State == "failed" && c.Name == "more" {
			continue // the database is older than its deletion
		}
		var found struct {
			Version int64
			Results json.RawMessage
		}
		body := map[string]any{"queries": [][]float32{gaussian(9, c.Dimension)}, "k": 2, "method": "exact"}
		s.do("POST", "/v1/collections/"+c.Name+"/search", body).want(200).into(&found)
		got["collection "+c.Name] = string(found.Results)
		var t tally
		s.do("GET", "/v1/collections/"+c.Name+"/tally", nil).want(200).into(&t)
		if t.Count > 0 {
			got["tally "+c.Name] = fmt.Sprint(t.Count)
		}
	}
	var all struct {
		Data []struct{ ID, Filename, Purpose, SHA256 string }
	}
	s.do("GET", "/v1/files", nil).want(200).into(&all)
	for _, f := range all.Data {
		got["file "+f.ID] = strings.Join([]string{f.Filename, f.Purpose, f.SHA256}, " ")
	}
	maps.Copy(got, s.written())
	return got
}

// TestRestore: whatever happens to meta.db, every acknowledged collection and file is
// restored with its answers, also from a copy made while the server wrote.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	empty := readFile(t, filepath.Join(dir, metaName))
	want := s.stocked()
	middle := readFile(t, filepath.Join(dir, metaName))
	s.do("PUT", "/v1/collections/more?metric=ip&wait", npy(gaussian(2, 8*dim), dim), "Content-Type", npyType).want(201)
	torn := append(middle[:len(middle)/2:len(middle)/2], readFile(t, filepath.Join(dir, metaName))[len(middle)/2:]...)
	s.do("DELETE", "/v1/collections/more", nil).want(204)
	s.stopAll()
	whole := readFile(t, filepath.Join(dir, metaName))
	for _, c := range []struct {
		name    string
		meta    []byte // nil if it is missing
		damaged bool
	}{
		{"as it was", whole, false},
		{"lost", nil, false},
		{"of no bytes", []byte{}, false},
		{"of before all", empty, false},
		{"cut", whole[:len(whole)/2-100], true},
		{"cut to a page", whole[:4096], true},
		{"garbage", append(append(whole[:8192:8192], []byte(strings.Repeat("garbage!", 1024))...), whole[16384:]...), true},
		{"torn", torn, true}, // or intact, by chance
	} {
		t.Run(c.name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(copied, metaName)
			err := os.Remove(path)
			if c.meta != nil {
				err = os.WriteFile(path, c.meta, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			s := startIn(t, copied, nil)
			defer func() {
				if t.Failed() {
					t.Log(s.log)
				}
			}()
			got := s.everything()
			delete(got, "collection more")
			want := maps.Clone(want)
			if c.name != "as it was" { // notes are in the database alone
				maps.DeleteFunc(want, func(name, _ string) bool { return strings.HasPrefix(name, "note ") && got[name] == "" })
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			var ready struct{ Found map[string]int }
			s.do("GET", "/readyz", nil).want(200).into(&ready)
			if asWas := c.name == "as it was"; asWas != (ready.Found == nil && s.Found()["collections"] == 0) && !c.damaged {
				t.Errorf("%+v", ready.Found)
			}
			if c.damaged && c.name != "torn" && (ready.Found == nil || ready.Found["damaged"] == 0 || !strings.Contains(s.log.String(), "a database was damaged")) {
				t.Errorf("it does not say that the database was damaged: %+v", ready.Found)
			}
			s.stopAll()
			if bad := verdicts(t, copied); bad != "" && !strings.HasPrefix(bad, "missing collection more") {
				t.Error(bad)
			}
		})
	}
}

// verdicts lists what a check finds that is not intact.
func verdicts(t *testing.T, dir string) string {
	t.Helper()
	var bad []string
	n := 0
	err := extensions().Check(t.Context(), dir, func(i store.Item) {
		n++
		if i.Verdict != store.Intact {
			bad = append(bad, string(i.Verdict)+" "+i.Kind+" "+i.Name+" "+i.Detail)
		}
	})
	if err != nil || n < 5 {
		t.Fatal(n, err)
	}
	return strings.Join(bad, "\n")
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestOwnDatabaseIsCut: the check names the damaged database of an extension; after a repair, or a start, all else is
// as it was, and what it keeps can be kept again.
func TestOwnDatabaseIsCut(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.stocked()
	s.stopAll()
	path := filepath.Join(dir, talliesName)
	b := readFile(t, path)
	for _, n := range []int{len(b) / 4, 8200, 5000} {
		if err := os.WriteFile(path, b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		found := 0
		err := extensions().Check(t.Context(), dir, func(i store.Item) {
			if i.Verdict == store.Broken && i.Name == talliesName {
				found++
			}
		})
		if err != nil || found != 1 {
			t.Fatal(found, err)
		}
		if n != 5000 { // then the start does it
			r, err := extensions().Repair(dir, nil)
			if err != nil || len(r.Databases) != 1 || r.Databases[0].Name != talliesName {
				t.Fatal(r, err)
			}
		}
		s := startIn(t, dir, nil)
		got := s.everything()
		for name := range got {
			if got[name] != want[name] && !strings.HasPrefix(name, "tally ") {
				t.Errorf("%s: %s, was %s", name, got[name], want[name])
			}
		}
		s.do("POST", "/v1/collections/rows/tally", `{}`).want(200)
		s.stopAll()
	}
	if _, err := os.Stat(filepath.Join(dir, "lost+found", talliesName+".2")); err != nil {
		t.Error("what was cut is not kept:", err)
	}
}

// TestRepairRefuses: Repair refuses a folder that a server has open, and one that is not a
// data folder.
func TestRepairRefuses(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	if _, err := extensions().Repair(dir, nil); !errors.Is(err, store.ErrInUse) {
		t.Error(err)
	}
	if err := extensions().Check(t.Context(), dir, func(store.Item) {}); !errors.Is(err, store.ErrInUse) {
		t.Error(err)
	}
	s.stopAll()
	for _, dir := range []string{filepath.Join(dir, "no"), filepath.Join(dir, metaName)} {
		_, err := extensions().Repair(dir, nil)
		if cerr := extensions().Check(t.Context(), dir, nil); err == nil || cerr == nil || !strings.Contains(err.Error(), dir) {
			t.Error(err, cerr)
		}
	}
	if _, err := extensions().Repair(filepath.Join(dir, "no"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
