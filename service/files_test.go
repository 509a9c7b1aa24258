package service

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// form is a multipart body of fields, in order; the field file has a name after its colon.
func form(t testing.TB, fields ...[2]string) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range fields {
		name, file, isFile := strings.Cut(f[0], ":")
		create := func() (io.Writer, error) { return w.CreateFormField(name) }
		if isFile {
			create = func() (io.Writer, error) { return w.CreateFormFile(name, file) }
		}
		part, err := create()
		if err == nil {
			_, err = part.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), w.FormDataContentType()
}

// upload stores a file and returns its id.
func (s *site) upload(name string, content []byte, purpose string) string {
	s.t.Helper()
	body, kind := form(s.t, [2]string{"purpose", purpose}, [2]string{"file:" + name, string(content)})
	var f struct{ ID string }
	s.do("POST", "/v1/files", body, "Content-Type", kind).want(200).into(&f)
	return f.ID
}

func TestFiles(t *testing.T) {
	s := start(t, nil)
	content := []byte(strings.Repeat("0123456789", 100))
	var ids []string
	for range 3 {
		ids = append(ids, s.upload("q.jsonl", content, "batch"))
	}
	var f struct {
		ID, Filename, Purpose string
		Bytes                 int64
	}
	s.do("GET", "/v1/files/"+ids[0], nil).want(200).into(&f)
	if f.ID != ids[0] || f.Filename != "q.jsonl" || f.Purpose != "batch" || f.Bytes != int64(len(content)) {
		t.Errorf("%+v", f)
	}
	a := s.do("GET", "/v1/files/"+ids[0]+"/content", nil).want(200)
	if !bytes.Equal(a.body, content) || !strings.Contains(a.header.Get("Content-Disposition"), "q.jsonl") {
		t.Errorf("%d bytes, %s", len(a.body), a.header.Get("Content-Disposition"))
	}
	part := s.do("GET", "/v1/files/"+ids[0]+"/content", nil, "Range", "bytes=990-", "If-Range", a.header.Get("ETag")).want(206)
	if string(part.body) != "0123456789" {
		t.Errorf("the last ten bytes are %q", part.body)
	}
	s.do("GET", "/v1/files/"+ids[0]+"/content", nil, "If-None-Match", a.header.Get("ETag")).want(304)
	s.do("GET", "/v1/files/"+ids[0]+"/content", nil, "Range", "bytes=5000-").want(416)

	var page struct {
		Data   []struct{ ID string }
		More   bool   `json:"has_more"`
		LastID string `json:"last_id"`
	}
	s.do("GET", "/v1/files?limit=2&order=desc&purpose=batch", nil).want(200).into(&page)
	if len(page.Data) != 2 || !page.More || page.LastID != page.Data[1].ID {
		t.Errorf("%+v", page)
	}
	first := slices.Clone(page.Data)
	s.do("GET", "/v1/files?after="+page.LastID, nil).want(200).into(&page)
	if len(page.Data) != 1 || page.More {
		t.Errorf("%+v", page)
	}
	got := []string{first[0].ID, first[1].ID, page.Data[0].ID}
	slices.Reverse(got)
	if !slices.Equal(got, ids) {
		t.Errorf("listed %v, made %v", got, ids)
	}

	a = s.do("DELETE", "/v1/files/"+ids[0], nil).want(200)
	if !json.Valid(a.body) || !strings.Contains(string(a.body), `"deleted":true`) {
		t.Errorf("%s", a.body)
	}
	s.do("GET", "/v1/files/"+ids[0], nil).problem(404, "unknown-file")
	s.do("GET", "/v1/files/"+ids[0]+"/content", nil).problem(404, "unknown-file")
	s.do("DELETE", "/v1/files/"+ids[0], nil).problem(404, "unknown-file")
}

func TestBadForms(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Upload = 4096 })
	file := [2]string{"file:a.npy", "abc"}
	for name, c := range map[string]struct {
		fields []([2]string)
		status int
		kind   string
		field  string
	}{
		"no file":          {[][2]string{{"purpose", "batch"}}, 400, "invalid-value", "file"},
		"unknown field":    {[][2]string{{"color", "red"}, file}, 400, "unknown-field", "color"},
		"unknown behind":   {[][2]string{file, {"color", "red"}}, 400, "unknown-field", "color"},
		"bad behind":       {[][2]string{file, {"purpose", "a b"}}, 400, "invalid-value", "purpose"},
		"two purposes":     {[][2]string{{"purpose", "batch"}, file, {"purpose", "batch"}}, 400, "invalid-value", "purpose"},
		"two files":        {[][2]string{file, file}, 400, "invalid-value", "file"},
		"bad purpose":      {[][2]string{{"purpose", "a b"}, file}, 400, "invalid-value", "purpose"},
		"endless purpose":  {[][2]string{{"purpose", strings.Repeat("p", 3000)}, file}, 400, "invalid-value", "purpose"},
		"file too large":   {[][2]string{{"file:a", strings.Repeat("x", 5000)}}, 413, "body-too-large", ""},
		"larger than form": {[][2]string{{"file:a", strings.Repeat("x", 5000+formOverhead)}}, 413, "body-too-large", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t)
			body, kind := form(t, c.fields...)
			p := s.do("POST", "/v1/files", body, "Content-Type", kind).problem(c.status, c.kind)
			if c.field != "" && p.Field != c.field {
				t.Errorf("%+v", p)
			}
		})
	}
	whole, kind := form(t, file)
	for _, cut := range []int{5, len(whole) / 2, len(whole) - 3} {
		// Truncated in a part's header, it looks like a form without a file.
		if a := s.do("POST", "/v1/files", whole[:cut], "Content-Type", kind).want(400); cut > len(whole)/2 {
			a.problem(400, "malformed-body")
		}
	}
	s.do("POST", "/v1/files", []byte{}, "Content-Type", kind).problem(400, "malformed-body")
	s.do("POST", "/v1/files", whole, "Content-Type", "multipart/form-data").problem(400, "malformed-body")
	s.do("POST", "/v1/files", whole, "Content-Type", npyType).problem(415, "unsupported-media")
	a := s.do("GET", "/v1/files", nil).want(200)
	if strings.Contains(string(a.body), "file-") {
		t.Errorf("refused files were kept: %s", a.body)
	}
	if left, err := os.ReadDir(filepath.Join(s.o.Dir, "files")); err != nil || len(left) > 0 {
		t.Errorf("refused files lie there still: %v %v", left, err)
	}
}

// TestFileBeforePurpose: forms that contain the file first, and forms that contain nothing
// else.
func TestFileBeforePurpose(t *testing.T) {
	s := start(t, nil)
	file, purpose := [2]string{"file:a.jsonl", "abc"}, [2]string{"purpose", "fine-tune"}
	for _, c := range []struct {
		want   string
		fields [][2]string
	}{
		{"fine-tune", [][2]string{purpose, file}},
		{"fine-tune", [][2]string{file, purpose}},
		{"batch", [][2]string{file}},
	} {
		body, kind := form(t, c.fields...)
		var f struct {
			ID, Filename, Purpose string
			Bytes                 int64
		}
		s.do("POST", "/v1/files", body, "Content-Type", kind).want(200).into(&f)
		if f.Purpose != c.want || f.Filename != "a.jsonl" || f.Bytes != 3 {
			t.Errorf("%v: %+v", c.fields, f)
		}
		if got := s.do("GET", "/v1/files/"+f.ID+"/content", nil).want(200); string(got.body) != "abc" {
			t.Errorf("%v: %q", c.fields, got.body)
		}
	}
}
