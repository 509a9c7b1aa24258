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

// sourceBody says where vectors lie, or lists them: exactly one of Path, FileID and
// Vectors. IDs names those that are listed.
type sourceBody struct {
	Path    string      `json:"path"`
	FileID  string      `json:"file_id"`
	Vectors *vectorList `json:"vectors"`
	IDs     *idList     `json:"ids"`
}

// check says whether the body is of one source.
func (b *sourceBody) check() error {
	given := 0
	if b != nil {
		for _, set := range []bool{b.Path != "", b.FileID != "", b.Vectors != nil} {
			if set {
				given++
			}
		}
	}
	switch {
	case given != 1:
		return problem.New(problem.InvalidValue, "source names one path or one file_id, or lists vectors").In("source")
	case b.Vectors != nil && len(b.Vectors.rows) == 0:
		return problem.New(problem.InvalidValue, "vectors is empty").In(fieldVectors)
	case b.Vectors == nil && b.IDs != nil:
		return problem.New(problem.InvalidValue, "a list of ids belongs to vectors that are listed; ids beside source names a column").In("source.ids")
	}
	return nil
}

// source is where the vectors of a request come from: its body, or what its JSON
// body, read into body, names.
func (s *Server) source(r *request, body any, named func() (*sourceBody, *Columns)) (catalog.Source, error) {
	var src catalog.Source
	media, err := s.bodyType(r.Request)
	if err != nil {
		return src, err
	}
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
		if err := s.decodeSource(r, body); err != nil {
			return src, err
		}
		from, c := named()
		if err := from.check(); err != nil {
			return src, err
		}
		src.Path, src.File, columns = from.Path, from.FileID, c
		if from.Vectors != nil {
			src.Rows, src.Dim = from.Vectors.rows, from.Vectors.dim
			if from.IDs != nil {
				src.IDs = &from.IDs.keys
			}
		}
	default:
		return src, unsupported(r.Request, append(vectorTypes(), jsonType)...)
	}
	if err := r.params.either("column", columns.Column, &src.Column); err != nil {
		return src, err
	}
	return src, r.params.either("ids", columns.IDs, &src.IDColumn)
}

// decodeSource reads the JSON body of a request, which may list vectors: its memory is
// that of the bodies of searches.
func (s *Server) decodeSource(r *request, v any) error {
	in, err := s.newInput(r)
	if err != nil {
		return err
	}
	defer in.close()
	text, err := in.all()
	if err != nil {
		return err
	}
	return unmarshal(text, v)
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
