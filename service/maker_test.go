package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seen lists the ids of a page of files or batches that the current token sees, following pages
// of one item.
func (s *site) seen(list string) (ids []string) {
	s.t.Helper()
	for after := ""; ; {
		var page struct {
			Data    []struct{ ID string }
			HasMore bool `json:"has_more"`
		}
		s.do("GET", list+"?limit=1"+after, nil).want(200).into(&page)
		for _, one := range page.Data {
			ids = append(ids, one.ID)
		}
		if !page.HasMore {
			return ids
		}
		if len(page.Data) == 0 {
			s.t.Fatalf("an empty page of %s that others follow", list)
		}
		after = "&after=" + page.Data[0].ID
	}
}

// TestMakersSeeTheirFiles: a token that may not write sees the files, batches and outputs that
// it made itself, also after restarts and without the database; tokens that may write see all.
func TestMakersSeeTheirFiles(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, guarded)
	s.token = "w-secret"
	s.fill()
	batch := func() (file string, j job) {
		t.Helper()
		file = s.upload("in.jsonl", requests(3, map[int]bool{1: true}), "batch")
		s.do("POST", "/v1/batches", map[string]any{"input_file_id": file, "endpoint": "/v1/collections/films/search"}).want(200).into(&j)
		return file, s.over(j.ID)
	}
	ours, our := batch()
	s.token = "a-secret"
	theirs, their := batch()
	if all := s.seen("/v1/files"); len(all) != 6 || len(s.seen("/v1/batches")) != 2 {
		t.Errorf("a token that may write sees the files %v", all)
	}
	check := func() {
		t.Helper()
		s.demote("another")
		for token, sees := range map[string]bool{"r-secret": false, "a-secret": true} {
			s.token = token
			if files, batches := s.seen("/v1/files"), s.seen("/v1/batches"); sees && (len(files) != 3 || len(batches) != 1) || !sees && len(files)+len(batches) > 0 {
				t.Errorf("%s sees %v and %v", token, files, batches)
			}
			for _, id := range []string{ours, *our.Output, *our.Error} {
				for _, path := range []string{"/v1/files/" + id, "/v1/files/" + id + "/content", "/v1/files?after=" + id} {
					s.do("GET", path, nil).problem(404, "unknown-file")
				}
			}
			for _, path := range []string{"/v1/batches/" + our.ID, "/v1/batches?after=" + our.ID} {
				s.do("GET", path, nil).problem(404, "unknown-batch")
			}
			if !sees {
				s.do("GET", "/v1/files/"+theirs, nil).problem(404, "unknown-file")
				continue
			}
			for _, id := range []string{theirs, *their.Output, *their.Error} {
				s.do("GET", "/v1/files/"+id, nil).want(200)
				s.do("GET", "/v1/files/"+id+"/content", nil).want(200)
			}
			if text := string(s.do("GET", "/v1/batches/"+their.ID, nil).want(200).body); !strings.Contains(text, `"pulls":-1,"dense_pulls":-1,"saving":0`) {
				t.Errorf("a reader learns what its batch cost: %s", text)
			}
		}
		s.token = "w-secret"
		if files := s.seen("/v1/files"); len(files) != 6 {
			t.Errorf("a token that may write sees %v", files)
		}
		if text := string(s.do("GET", "/v1/batches/"+their.ID, nil).want(200).body); strings.Contains(text, `"pulls":-1`) {
			t.Errorf("pulls are withheld: %s", text)
		}
	}
	check()
	s.stopAll()
	s = startIn(t, dir, guarded)
	check()
	s.stopAll()
	if err := os.Remove(filepath.Join(dir, metaName)); err != nil {
		t.Fatal(err)
	}
	s = startIn(t, dir, guarded)
	check()
}

// TestFilesWithoutMaker: what was made without tokens is seen by those alone that may write.
func TestFilesWithoutMaker(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	id := s.upload("old", []byte("x"), "batch")
	s.do("GET", "/v1/files/"+id+"/content", nil).want(200)
	s.stopAll()
	s = startIn(t, dir, guarded)
	s.do("GET", "/v1/files/"+id, nil, bearer("r-secret")...).problem(404, "unknown-file")
	s.do("GET", "/v1/files/"+id, nil, bearer("w-secret")...).want(200)
}

// TestKeysBelongToTokens: one Idempotency-Key of two tokens is two keys.
func TestKeysBelongToTokens(t *testing.T) {
	s := start(t, guarded)
	s.token = "w-secret"
	s.fill()
	file := s.upload("in.jsonl", requests(1, nil), "batch")
	for path, body := range map[string]any{
		"/v1/notes":   map[string]any{"text": "x"},
		"/v1/batches": map[string]any{"input_file_id": file, "endpoint": "/v1/collections/films/search"},
	} {
		ids := map[string]bool{}
		for range 2 {
			for _, token := range []string{"w-secret", "a-secret"} {
				s.token = token
				var made struct{ ID string }
				s.do("POST", path, body, "Idempotency-Key", "k").into(&made)
				ids[made.ID] = true
			}
		}
		if len(ids) != 2 || ids[""] {
			t.Errorf("%s: %v", path, ids)
		}
	}
}
