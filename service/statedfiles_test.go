package service

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"thresher/service/api"
)

// TestStatedFiles: queries and answers of stored files are answered as the same in the body, in forms that have scores and in
// forms that have none; temporary names of the files are gone afterwards.
func TestStatedFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := start(t, nil)
	rows := s.fill()
	queries := gaussian(31, 3*dim)
	lists, lines := "", ""
	var ivecs bytes.Buffer
	for j := range 3 {
		order, scores := ranked(rows, queries[j*dim:(j+1)*dim])
		order = append(order[:3:3], order[7+j])
		lists += "," + idsText(order...)
		lines += fmt.Sprintf(`{"query":%d,"ids":%s,"scores":[%v,%v,%v,%v]}`+"\n", j, idsText(order...), scores[order[0]], scores[order[1]], scores[order[2]], scores[order[3]])
		ivecs.Write([]byte{4, 0, 0, 0})
		for _, id := range order {
			ivecs.Write([]byte{byte(id), byte(id >> 8), byte(id >> 16), 0})
		}
	}
	asked := s.upload("queries.npy", npy(queries, dim), "page")
	whole := statedBody(t, queries, "["+lists[1:]+"]", "")
	for _, verb := range []string{recallFilms, certifyFilms} {
		recall := func(body string) (r api.Recall, c api.Certified) {
			t.Helper()
			a := s.do("POST", verb, body).want(200)
			if a.into(&r); verb == certifyFilms {
				a.into(&c)
			}
			return r, c
		}
		wanted, proven := recall(whole)
		for name, content := range map[string][]byte{"found.jsonl": []byte(lines), "found.ivecs": ivecs.Bytes()} {
			r, c := recall(fmt.Sprintf(`{"queries_file_id":%q,"answers_file_id":%q}`, asked, s.upload(name, content, "page")))
			if d := cmp.Diff(wanted, r, cmpopts.IgnoreFields(api.RecallReport{}, "TookMS", "Scores")); d != "" {
				t.Errorf("%s, %s: %s", verb, name, d)
			}
			if d := cmp.Diff(proven.Summary, c.Summary, cmpopts.IgnoreFields(api.CertifiedSummary{}, "Scores")); d != "" {
				t.Errorf("%s, %s: %s", verb, name, d)
			}
			if verb == recallFilms && (r.Scores != nil) != (name == "found.jsonl") || r.Scores != nil && r.Scores.Wrong > 0 {
				t.Errorf("%s: scores %+v", name, r.Scores)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*stated*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}

	answers := s.upload("found.jsonl", []byte(lines), "page")
	odd := s.upload("odd.npy", npy(queries[:5], 5), "page")
	cut := s.upload("cut.jsonl", []byte(lines[:len(lines)-9]), "page")
	broken := s.upload("broken.npy", []byte("no matrix"), "page")
	for _, c := range []struct {
		body, kind, field string
		status            int
	}{
		{`{"queries_file_id":"file-none","answers":[[1]]}`, "unknown-file", "queries_file_id", 404},
		{`{"queries_file_id":"` + asked + `","answers_file_id":"file-none"}`, "unknown-file", "answers_file_id", 404},
		{`{"queries_file_id":"` + asked + `"}`, "invalid-value", "answers", 400},
		{`{"queries_file_id":"","answers":[[1]]}`, "invalid-value", "queries_file_id", 400},
		{`{"queries_file_id":3,"answers":[[1]]}`, "invalid-value", "queries_file_id", 400},
		{`{"queries":[[1,0,0,0,0,0,0,0]],"queries_file_id":"` + asked + `","answers":[[1]]}`, "invalid-value", "queries_file_id", 400},
		{`{"queries_file_id":"` + asked + `","answers_file_id":"` + answers + `","answers":[[1]]}`, "invalid-value", "answers_file_id", 400},
		{`{"queries_file_id":"` + odd + `","answers":[[1]]}`, "wrong-dimension", "queries_file_id", 400},
		{`{"queries_file_id":"` + broken + `","answers":[[1]]}`, "malformed-body", "queries_file_id", 400},
		{`{"queries_file_id":"` + asked + `","answers_file_id":"` + broken + `"}`, "malformed-body", "answers_file_id", 400},
		{`{"queries_file_id":"` + asked + `","answers_file_id":"` + cut + `"}`, "malformed-body", "answers_file_id", 400},
	} {
		if p := s.do("POST", recallFilms, c.body).problem(c.status, c.kind); p.Field != c.field || strings.Contains(p.Detail, os.TempDir()) {
			t.Errorf("%s: field %q, %s", c.body, p.Field, p.Detail)
		}
	}
}

// TestStatedFilesAreTheMakers: a token that may only read sees no files of others.
func TestStatedFilesAreTheMakers(t *testing.T) {
	s := start(t, guarded)
	const w, r = "Bearer w-secret", "Bearer r-secret"
	s.do("PUT", "/v1/collections/films?wait&metric=ip", `{"source":{"vectors":[[1,0],[0,1]]}}`, "Content-Type", jsonType, "Authorization", w).want(201)
	body, kind := form(t, [2]string{"purpose", "page"}, [2]string{"file:q.npy", string(npy([]float32{1, 0}, 2))})
	var f api.File
	s.do("POST", "/v1/files", body, "Content-Type", kind, "Authorization", w).want(200).into(&f)
	ask := `{"queries_file_id":"` + f.ID + `","answers":[[0]]}`
	s.do("POST", recallFilms, ask, "Content-Type", jsonType, "Authorization", w).want(200)
	s.do("POST", recallFilms, ask, "Content-Type", jsonType, "Authorization", r).problem(404, "unknown-file")
}
