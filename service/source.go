package service

import (
	"net/http"
	"strings"

	"thresher/columns"
	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// sourceParams lists the parameters of reading vectors.
func sourceParams() []string { return []string{"column", "columns", "ids", "header"} }

// sourceBody is the JSON that says where vectors are, or lists them: exactly one of path,
// fileID and vectors. ids has the ids of listed vectors; column and idColumn are the columns
// of the vectors and of their ids.
type sourceBody struct {
	path, fileID     string
	vectors          *vectorList
	ids              *catalog.Keys
	column, idColumn string
	columns          string           // to keep of a file, separated by commas
	values           *columns.Columns // of the vectors
	header           string
	memory           int64 // of all collections, 0 without a limit: more cannot be listed
}

// addMembers adds the members of b to those of a body.
func (b *sourceBody) addMembers(m jsonbody.Members) {
	m["source"] = jsonbody.Optional(jsonbody.Object(jsonbody.Members{
		"path":    jsonbody.Optional(jsonbody.Text("source.path", &b.path)),
		"file_id": jsonbody.Optional(jsonbody.Text("source.file_id", &b.fileID)),
		"vectors": jsonbody.Pointer(fieldVectors, &b.vectors, b.readVectors),
		"columns": jsonbody.Optional(b.readValues),
		"ids":     jsonbody.Pointer("ids", &b.ids, func(name string, keys *catalog.Keys) jsonbody.Reader { return readIDs(name, b.memory, keys) }),
	}))
	m["columns"] = jsonbody.Optional(jsonbody.Text("columns", &b.columns))
	m["column"] = jsonbody.Optional(jsonbody.Text("column", &b.column))
	m["header"] = jsonbody.Optional(jsonbody.Text("header", &b.header))
	m["ids"] = jsonbody.Optional(jsonbody.Text("ids", &b.idColumn))
}

// readValues reads the columns of listed vectors.
func (b *sourceBody) readValues(text []byte, i int) (next int, err error) {
	if next, err = jsonscan.Value(text, i); err != nil {
		return i, err
	}
	if b.values, err = columns.FromJSON(text[i:next]); err != nil {
		return i, problem.New(problem.InvalidValue, "source.%v", err).In("source.columns").Because(err)
	}
	return next, nil
}

// check checks that the body has exactly one source.
func (b *sourceBody) check() error {
	given := 0
	for _, set := range []bool{b.path != "", b.fileID != "", b.vectors != nil} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return problem.New(problem.InvalidValue, "source names one path or one file_id, or lists vectors").In("source")
	case b.vectors != nil && len(b.vectors.rows) == 0:
		return problem.New(problem.InvalidValue, "vectors is empty").In(fieldVectors)
	case b.vectors == nil && b.values != nil:
		return problem.New(problem.InvalidValue, "values of columns require listed vectors; columns next to source names those of a file").In("source.columns")
	case b.vectors == nil && b.ids != nil:
		return problem.New(problem.InvalidValue, "a list of ids requires listed vectors; ids next to source is the name of a column").In("source.ids")
	}
	return nil
}

// source returns the source of a request's vectors: its body, or what its JSON body names,
// which may have other members, too.
func (s *Server) source(r *request, others jsonbody.Members) (catalog.Source, error) {
	var src catalog.Source
	media, err := s.bodyType(r.Request)
	if err != nil {
		return src, err
	}
	format := formatOf(media)
	var body sourceBody
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
		body.memory = s.o.Limits.Memory
		body.addMembers(others)
		if err := s.decodeSource(r, others); err != nil {
			return src, err
		}
		if err := body.check(); err != nil {
			return src, err
		}
		src.Path, src.File = body.path, body.fileID
		if body.vectors != nil {
			src.Rows64, src.Dim, src.IDs = body.vectors.rows, body.vectors.dim, body.ids
			src.Values = body.values
		}
	default:
		return src, unsupported(r.Request, append(vectorTypes(), jsonType)...)
	}
	if err := r.params.either("column", body.column, &src.Column); err != nil {
		return src, err
	}
	var kept string
	if err := r.params.either("columns", body.columns, &kept); err != nil {
		return src, err
	}
	if kept != "" {
		src.Columns = strings.Split(kept, ",")
	}
	if err := r.params.either("header", body.header, &src.Header); err != nil {
		return src, err
	}
	return src, r.params.either("ids", body.idColumn, &src.IDColumn)
}

// decodeSource reads the JSON body of a request, which may list vectors: its memory is
// reserved as that of searches' bodies.
func (s *Server) decodeSource(r *request, members jsonbody.Members) error {
	in, err := s.newInput(r)
	if err != nil {
		return err
	}
	defer in.close()
	text, err := in.all()
	if err != nil {
		return err
	}
	return jsonbody.Decode(text, members)
}

// either sets a text from the body or from a parameter; giving both is an error.
func (p parameters) either(name, body string, dst *string) error {
	text, err := p.parseText(name)
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
	return problem.New(problem.InvalidValue, "%s is both in the body and a parameter", name).In(name)
}

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 255

// idempotencyKey returns the key of a request: the header, scoped by client, method and path;
// "" without the header.
func idempotencyKey(r *request) (string, error) {
	given := r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	key := given[0]
	printable := strings.IndexFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) < 0
	if len(given) > 1 || key == "" || len(key) > maxKey || !printable {
		return "", problem.New(problem.InvalidValue, "Idempotency-Key is %.60q of %d bytes, not 1 to %d printable ASCII characters, given once", key, len(key), maxKey).In("Idempotency-Key").Within(maxKey)
	}
	return extension.Hash(r.x.who, r.Method, r.URL.Path, key), nil
}

// jsonHeader sets the header of a JSON answer.
func jsonHeader(h http.Header) {
	h.Set("Content-Type", jsonType)
	h.Set("Cache-Control", "no-store")
}
