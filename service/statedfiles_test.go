package service

import (
	"bytes"
	"compress/gzip"
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
	var csv, jsonl strings.Builder // which do not say how many rows they have
	for j := range 3 {
		row := asJSON(t, queries[j*dim:(j+1)*dim])
		fmt.Fprintln(&csv, strings.Trim(row, "[]"))
		fmt.Fprintf(&jsonl, `{"vector":%s}`+"\n", row)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write([]byte(csv.String())); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	var wanted api.Recall
	s.do("POST", recallFilms, whole).want(200).into(&wanted)
	for name, content := range map[string][]byte{"asked.csv": []byte(csv.String()), "asked.jsonl": []byte(jsonl.String()), "asked.csv.gz": packed.Bytes()} {
		var r api.Recall
		s.do("POST", recallFilms, fmt.Sprintf(`{"queries_file_id":%q,"answers":[%s]}`, s.upload(name, content, "page"), lists[1:])).want(200).into(&r)
		if d := cmp.Diff(wanted, r, cmpopts.IgnoreFields(api.RecallReport{}, "TookMS")); d != "" {
			t.Errorf("queries of %s: %s", name, d)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*stated*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}

	answers := s.upload("found.jsonl", []byte(lines), "page")
	odd := s.upload("odd.npy", npy(queries[:5], 5), "page")
	cut := s.upload("cut.jsonl", []byte(lines[:len(lines)-9]), "page")
	narrow := s.upload("narrow.csv", []byte("1.5,2\n3,4\n"), "page")
	word := s.upload("word.csv", []byte(csv.String()+"1,2,x"+strings.Repeat(",0", dim-3)+"\n"), "page")
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
		{`{"queries_file_id":"` + narrow + `","answers":[[1]]}`, "wrong-dimension", "queries_file_id", 400},
		{`{"queries_file_id":"` + word + `","answers":[[1]]}`, "not-finite", "queries_file_id", 400},
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

// TestStatedFilesOfTooManyQueries: files of more queries than a request may have are refused, whether they say so or only reading tells,
// and so are those whose rows would take more memory than a body may.
func TestStatedFilesOfTooManyQueries(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Queries, o.Limits.Body = 100, 2048 })
	s.do("PUT", "/v1/collections/films?wait&metric=ip", `{"source":{"vectors":[[1,0,0,0,0,0,0,0],[0,1,0,0,0,0,0,0]]}}`, "Content-Type", jsonType).want(201)
	ask := func(name string, content []byte) string {
		p := s.do("POST", recallFilms, `{"queries_file_id":"`+s.upload(name, content, "page")+`","answers":[[0]]}`).problem(400, "over-limit")
		if p.Field != "queries_file_id" {
			t.Errorf("%s: field %q, %s", name, p.Field, p.Detail)
		}
		return p.Detail
	}
	var rows bytes.Buffer
	zip := gzip.NewWriter(&rows)
	if _, err := zip.Write(bytes.Repeat([]byte("1,0,0,0,0,0,0,0\n"), 101)); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	if why := ask("q.csv.gz", rows.Bytes()); !strings.Contains(why, "more than 100 queries") {
		t.Error(why)
	}
	rows.Reset()
	zip.Reset(&rows)
	if _, err := zip.Write(npy(make([]float32, 80*8), 8)); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	if why := ask("q.npy.gz", rows.Bytes()); !strings.Contains(why, "2560 bytes") {
		t.Error(why)
	}
}
