package service

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
)

// packed returns content in a coding; "raw" is deflate without zlib's header.
func packed(t testing.TB, coding string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, flate.DefaultCompression)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCompressedBodies: every route that accepts a body accepts it compressed, with the same
// answer.
func TestCompressedBodies(t *testing.T) {
	s := start(t, nil)
	const dim = 24
	rows := gaussian(1, 40*dim)
	headers := func(coding, kind string) []string {
		if coding == "raw" {
			coding = "deflate"
		}
		return []string{"Content-Type", kind, "Content-Encoding", coding}
	}
	search := []byte(fmt.Sprintf(`{"queries":[[%s1]],"k":3}`, strings.Repeat("0.5,", dim-1)))
	infer := []byte(fmt.Sprintf(`{"inputs":[{"name":"queries","datatype":"FP32","shape":[1,%d],"data":[%s1]}]}`, dim, strings.Repeat("0.5,", dim-1)))
	for _, coding := range []string{"gzip", "deflate", "raw"} {
		name := "/v1/collections/" + coding
		s.do("PUT", name+"?metric=ip&wait", packed(t, coding, npy(rows, dim)), headers(coding, npyType)...).want(201)
		plain := s.do("POST", name+"/search", search, "Content-Type", jsonType).want(200)
		var want, got struct{ Results []struct{ IDs []int } }
		plain.into(&want)
		s.do("POST", name+"/search", packed(t, coding, search), headers(coding, jsonType)...).want(200).into(&got)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", coding, got, want)
		}
		s.do("POST", "/v2/models/"+coding+"/infer", packed(t, coding, infer), headers(coding, jsonType)...).want(200)
		body, kind := form(t, [2]string{"file:a", "abc"})
		var f struct{ Bytes int }
		s.do("POST", "/v1/files", packed(t, coding, body), headers(coding, kind)...).want(200).into(&f)
		if f.Bytes != 3 {
			t.Errorf("%s: stored %d bytes", coding, f.Bytes)
		}
	}
}

// TestCompressedBodiesKeepToLimits: a body that decompresses to more than its limit is
// refused during decompression, and a damaged one is the client's error.
func TestCompressedBodiesKeepToLimits(t *testing.T) {
	s := start(t, func(o *Options) { o.Limits.Body, o.Limits.Upload = 1<<20, 1<<20 })
	const dim = 4
	s.do("PUT", "/v1/collections/c?metric=ip&wait", npy(gaussian(1, 8*dim), dim), "Content-Type", npyType).want(201)
	bomb := make([]byte, 8<<20)
	for _, coding := range []string{"gzip", "deflate"} {
		small := packed(t, coding, bomb)
		if len(small) > 1<<20 {
			t.Fatalf("%d bytes are no bomb", len(small))
		}
		coded := func(kind string) []string { return []string{"Content-Type", kind, "Content-Encoding", coding} }
		s.do("POST", "/v1/collections/c/search", small, coded(jsonType)...).problem(413, "body-too-large")
		s.do("POST", "/v2/models/c/infer", small, coded(jsonType)...).problem(413, "body-too-large")
		s.do("PUT", "/v1/collections/d?metric=ip&wait", packed(t, coding, npy(make([]float32, 1<<20), dim)), coded(npyType)...).problem(413, "body-too-large")
		body, kind := form(t, [2]string{"file:a", string(bomb)})
		s.do("POST", "/v1/files", packed(t, coding, body), coded(kind)...).problem(413, "body-too-large")

		text := packed(t, coding, []byte(`{"queries":[[1,2,3,4]]}`))
		for name, wrong := range map[string][]byte{
			"nothing": {}, "cut": text[:len(text)-6], "one byte": text[:1], "not compressed": []byte(`{"queries":[[1,2,3,4]]}`),
			"damaged": append(append([]byte{}, text[:len(text)-4]...), 1, 2, 3, 4),
		} {
			if p := s.do("POST", "/v1/collections/c/search", wrong, coded(jsonType)...).problem(400, "malformed-body"); !strings.Contains(p.Detail, coding) {
				t.Errorf("%s %s: %s", name, coding, p.Detail)
			}
		}
	}
	a := s.do("POST", "/v1/collections/c/search", []byte("x"), "Content-Type", jsonType, "Content-Encoding", "br")
	if p := a.problem(415, "unsupported-media"); p.Field != "Content-Encoding" || a.header.Get("Accept-Encoding") != "gzip, deflate" {
		t.Errorf("%+v %v", p, a.header)
	}
}
