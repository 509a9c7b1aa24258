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

	// What is wrong with a file names it as it was sent, and what decides has the API's name.
	unknown := s.upload("unknown.jsonl", []byte(`{"query":0,"ids":[1]}`+"\n"+`{"query":1,"ids":[987654]}`+"\n"+`{"query":2,"ids":[1]}`+"\n"), "page")
	few := s.upload("few.jsonl", []byte(`{"query":0,"ids":[1]}`+"\n"), "page")
	empty := s.upload("empty.jsonl", []byte(`{"query":0,"ids":[]}`+"\n"+`{"query":1,"ids":[]}`+"\n"+`{"query":2,"ids":[]}`+"\n"), "page")
	unclear := s.upload("unclear.csv", []byte("1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0"+"\n"+csv.String()), "page")
	two := s.upload("two.csv", []byte("a,b\n\"[1,2]\",\"[3,4]\"\n"), "page")
	withAnswers := func(id string) string { return fmt.Sprintf(`{"queries_file_id":%q,"answers_file_id":%q}`, asked, id) }
	for _, c := range []struct{ body, field, says string }{
		{withAnswers(unknown), "answers_file_id", "unknown.jsonl: answer 1 (0-based): "},
		{withAnswers(few), "answers_file_id", "few.jsonl: there are 1 answers to 3 queries"},
		{withAnswers(empty), "answers_file_id", "empty.jsonl: every answer is empty"},
		{withAnswers(cut), "answers_file_id", "cut.jsonl: "},
		{`{"queries_file_id":"` + unclear + `","answers":[[1],[1],[1]]}`, "queries_file_id", ": header=no makes it a row, header=yes a header"},
		{`{"queries_file_id":"` + two + `","answers":[[1]]}`, "queries_file_id", "column names one"},
		{`{"queries_file_id":"` + asked + `","header":"yes","answers":[[1]]}`, "queries_file_id", "header yes: format npy has no lines"},
		{`{"queries":[[1,0,0,0,0,0,0,0]],"header":"yes","answers":[[1]]}`, "header", "there is no queries_file_id"},
		{`{"queries_file_id":"` + asked + `","header":1,"answers":[[1]]}`, "header", "header"},
	} {
		a := s.do("POST", recallFilms, c.body)
		var p refused
		if a.into(&p); a.status < 400 || p.Field != c.field || !strings.Contains(p.Detail, c.says) || strings.Contains(p.Detail, "Options.") {
			t.Errorf("%s: status %d, field %q, %s; wanted %q, %q", c.body, a.status, p.Field, p.Detail, c.field, c.says)
		}
	}
	// Which of two readings a file has, and which column has the vectors.
	table := "id,year,vector\n"
	for j := range 3 {
		table += fmt.Sprintf("%d,1990,%q\n", j, asJSON(t, queries[j*dim:(j+1)*dim]))
	}
	for name, c := range map[string][2]string{
		"headed.csv": {"1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0" + "\n" + csv.String(), `,"header":"yes"`},
		"table.csv":  {table, `,"column":"vector"`},
	} {
		var r api.Recall
		s.do("POST", recallFilms, fmt.Sprintf(`{"queries_file_id":%q,"answers":[%s]%s}`, s.upload(name, []byte(c[0]), "page"), lists[1:], c[1])).want(200).into(&r)
		if d := cmp.Diff(wanted, r, cmpopts.IgnoreFields(api.RecallReport{}, "TookMS")); d != "" {
			t.Errorf("queries of %s: %s", name, d)
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

// TestClaimsOfMatricesNameTheSetting: what a body claims beyond a limit names the setting that sets it, and no option of Go.
func TestClaimsOfMatricesNameTheSetting(t *testing.T) {
	s := start(t, nil)
	s.fill()
	body := bytes.Replace(npy([]float32{1, 0}, 2), []byte("(1, 2), }      "), []byte("(1, 5000000), }"), 1)
	if len(body) != len(npy([]float32{1, 0}, 2)) || !bytes.Contains(body, []byte("5000000")) {
		t.Fatalf("%q claims nothing", body)
	}
	a := s.do("POST", "/v1/collections/films/search", body, "Content-Type", npyType)
	var p refused
	if a.into(&p); a.status != 400 || strings.Contains(p.Detail, "Options.") || !strings.Contains(p.Detail, "read_limit") {
		t.Errorf("status %d, %s", a.status, p.Detail)
	}
}
