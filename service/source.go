package service

import (
	"net/http"
	"strings"

	"thresher/dataset"
	"thresher/service/catalog"
	"thresher/service/problem"
)

// sourceParams are the parameters of reading vectors.
func sourceParams() []string { return []string{"column", "ids"} }

// Columns of the vectors and of their ids; formats without columns have none.
type Columns struct {
	Column string `json:"column"`
	IDs    string `json:"ids"`
}

// sourceBody says where vectors lie: exactly one of both.
type sourceBody struct {
	Path   string `json:"path"`
	FileID string `json:"file_id"`
}

// source is where the vectors of a request come from: its body, or what its JSON
// body, read into body, names.
func (s *Server) source(r *request, body any, named func() (*sourceBody, *Columns)) (catalog.Source, error) {
	var src catalog.Source
	media := mediaType(r.Request)
	format := formatOf(media)
	columns := &Columns{}
	switch {
	case format != dataset.Unknown:
		upload, err := s.bodyOf(r.Request, s.o.Limits.Upload)
		if err != nil {
			return src, err
		}
		if r.ContentLength == 0 {
			return src, problem.New(problem.Malformed, "the body is empty")
		}
		src.Body, src.Format = upload, format
	case media == jsonType:
		if err := s.decodeJSON(r.Request, smallJSON, body); err != nil {
			return src, err
		}
		from, c := named()
		if from == nil || (from.Path == "") == (from.FileID == "") {
			return src, problem.New(problem.InvalidValue, "source names one path or one file_id").In("source")
		}
		src.Path, src.File, columns = from.Path, from.FileID, c
	default:
		return src, unsupported(r.Request, append(vectorTypes(), jsonType)...)
	}
	if err := r.params.either("column", columns.Column, &src.Column); err != nil {
		return src, err
	}
	return src, r.params.either("ids", columns.IDs, &src.IDColumn)
}

// either takes a text from the body or from a parameter, whichever is there.
func (p parameters) either(name, body string, dst *string) error {
	text, err := p.one(name)
	if err != nil {
		return err
	}
	if body != "" && text != "" {
		return twice(name)
	}
	*dst = body + text
	return nil
}

func twice(name string) error {
	return problem.New(problem.InvalidValue, "%s is in the body and a parameter", name).In(name)
}

// mostKey bounds an Idempotency-Key, in bytes.
const mostKey = 255

// idempotencyKey is the key of a request as packages know it: the header, that of
// the caller and of the path, so that nobody meets another's; "" without the
// header.
func idempotencyKey(r *request) (string, error) {
	given := r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	key := given[0]
	printable := strings.IndexFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) < 0
	if len(given) > 1 || key == "" || len(key) > mostKey || !printable {
		return "", problem.New(problem.InvalidValue, "an Idempotency-Key is 1 to %d printable ASCII characters", mostKey).In("Idempotency-Key").Within(mostKey)
	}
	return hashed(r.x.who, r.Method, r.URL.Path, key), nil
}

// jsonHeader readies w for a JSON answer.
func jsonHeader(h http.Header) {
	h.Set("Content-Type", jsonType)
	h.Set("Cache-Control", "no-store")
}
