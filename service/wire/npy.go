package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"thresher/dataset"
	"thresher/service/problem"
)

// DecodeSearchNPY reads queries from an npy matrix, of a type that converts to float32
// without loss of range, and the other fields from query parameters with the names of the
// JSON body: lists are given by repeating the parameter, or with commas. Queries may share
// the body's memory. Errors are of type *problem.Problem.
func DecodeSearchNPY(body []byte, options url.Values, dim int, l Limits) (*Search, error) {
	m, data, ok := plainNPY(body, dim)
	if !ok || l.Origin != nil || l.Float64 || len(floats(data)) == 0 || notFinite(floats(data)) >= 0 {
		return decodeNPY(body, options, dim, l)
	}
	d, err := draftOf(options, dim, l)
	if err != nil {
		return nil, err
	}
	if err := d.Shape(m, int64(dim)); err != nil {
		return nil, err
	}
	if err := d.Rows(floats(data)); err != nil {
		return nil, err
	}
	return d.Search()
}

// decodeNPY is DecodeSearchNPY for any npy body. It copies the queries.
func decodeNPY(body []byte, options url.Values, dim int, l Limits) (*Search, error) {
	d, err := draftOf(options, dim, l)
	if err != nil {
		return nil, err
	}
	queries, err := readNPY(body, d)
	if err != nil {
		return nil, badNPY(err)
	}
	if err := d.Rows(queries); err != nil {
		return nil, err
	}
	d.npy = body
	return d.Search()
}

// draftOf begins a search with options from query parameters.
func draftOf(options url.Values, dim int, l Limits) (*Draft, error) {
	d := NewDraft(dim, l)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if err := d.Text(name, options[name]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// plainNPY returns the rows of a body in the format in which NumPy writes float32: version
// 1.0, little-endian, row-major, of dim columns. ok is false for other and for damaged
// bodies.
func plainNPY(body []byte, dim int) (rows int64, data []byte, ok bool) {
	const fixed = len("\x93NUMPY\x01\x00") + 2
	if len(body) < fixed || string(body[:fixed-2]) != "\x93NUMPY\x01\x00" {
		return 0, nil, false
	}
	end := fixed + int(binary.LittleEndian.Uint16(body[fixed-2:]))
	if len(body) < end {
		return 0, nil, false
	}
	data = body[end:]
	if dim <= 0 || len(data)%(4*dim) != 0 {
		return 0, nil, false
	}
	rows = int64(len(data) / (4 * dim))
	dict := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, dim)
	announced := strings.Replace(strings.TrimRight(string(body[fixed:end]), " \n"), ",),", "),", 1) // some libraries write (2, 3,)
	return rows, data, announced == dict
}

// npyChunk bounds the memory, in bytes of queries, that is allocated because of the header
// alone.
const npyChunk = 1 << 20

// readNPY reads all rows; memory grows with the rows that are present.
func readNPY(body []byte, d *Draft) ([]float32, error) {
	m, err := dataset.NewReader(bytes.NewReader(body), dataset.NPY, "body", &dataset.Options{OneRow: true, Origin: d.limits.Origin, Budget: d.limits.Budget})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return readQueries(m, d)
}

// readQueries reads all rows of a reader, which the caller closes, as the queries of a draft: as many as it claims or, if only reading tells,
// until there are no more or too many.
func readQueries(m dataset.Reader, d *Draft) ([]float32, error) {
	if err := d.Shape(m.Len(), int64(m.Dim())); err != nil {
		return nil, err
	}
	dim := m.Dim()
	if d.limits.Float64 {
		dataset.KeepGiven(m)
	}
	var queries []float32
	for rows := m.Len(); rows != 0; {
		want := max(1, max(npyChunk/4, len(queries))/dim)
		if rows > 0 {
			want = int(min(rows, int64(want)))
		}
		queries = slices.Grow(queries, want*dim)
		n, err := m.Read(queries[len(queries) : len(queries)+want*dim])
		queries = queries[:len(queries)+n*dim]
		if d.limits.Float64 {
			d.s.Queries64 = dataset.AppendGiven(d.s.Queries64, m, queries[len(queries)-n*dim:])
		} else {
			d.changes, d.placed = append(d.changes, dataset.RowChanges(m)...), true
		}
		if rows > 0 {
			rows -= int64(n)
		} else if most := d.limits.Queries; most > 0 && len(queries)/dim > most {
			return nil, problem.New(problem.OverLimit, "more than %d queries; a search may have at most so many", most).In(fieldQueries).Within(most)
		}
		if err == io.EOF && rows <= 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return queries, nil
}

// badNPY returns the problem of a matrix.
func badNPY(err error) error {
	var p *problem.Problem
	var at *dataset.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, dataset.ErrNoRows):
		return problem.New(problem.NoQueries, "queries is empty").In(fieldQueries)
	case !errors.As(err, &at):
		return problem.New(problem.Malformed, "%v", err).Because(err)
	case at.Row >= 0 && at.Column >= 0 && !errors.Is(err, io.ErrUnexpectedEOF):
		return problem.New(problem.NotFinite, "query %d, coordinate %d: %v", at.Row, at.Column, at.Err).At(fieldQueries, int(at.Row))
	case at.Row >= 0:
		return problem.New(problem.Malformed, "query %d: %v", at.Row, at.Err).At(fieldQueries, int(at.Row)).Because(err)
	}
	return problem.New(problem.Malformed, "body: %v", at.Err).In(fieldQueries).Because(err)
}
