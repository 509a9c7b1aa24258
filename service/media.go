package service

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"thresher/dataset"
	"thresher/service/problem"
)

// Media types.
const (
	jsonType = "application/json"
	npyType  = "application/x-npy"
	npzType  = "application/x-npz"
	csvType  = "text/csv"
	safeType = "application/x-safetensors"
	binType  = "application/octet-stream"
	formType = "application/x-www-form-urlencoded"
)

// mediaType returns the media type of a request's body, without parameters; "" if there is
// none or it cannot be parsed.
func mediaType(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func unsupported(r *http.Request, want ...string) error {
	got := r.Header.Get("Content-Type")
	if got == "" {
		return problem.New(problem.UnsupportedMedia, "the body has no Content-Type, and its first bytes match none; send one of %s", strings.Join(want, ", ")).
			In("Content-Type").Within(want)
	}
	return problem.New(problem.UnsupportedMedia, "the body is %q", got).In("Content-Type").Within(want)
}

// vectorTypes lists the media types of vectors.
func vectorTypes() []string {
	return []string{npyType, npzType, csvType, "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file", "application/x-ndjson"}
}

// formatOf returns the format of a media type of vectors, Unknown for other types.
func formatOf(media string) dataset.Format {
	switch media {
	case npyType:
		return dataset.NPY
	case npzType:
		return dataset.NPZ
	case csvType:
		return dataset.CSV
	case safeType:
		return dataset.SafeTensors
	case "application/vnd.apache.parquet", "application/parquet", "application/x-parquet":
		return dataset.Parquet
	case "application/vnd.apache.arrow.stream":
		return dataset.ArrowStream
	case "application/vnd.apache.arrow.file":
		return dataset.Arrow
	case "application/x-ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines":
		return dataset.JSONL
	}
	return dataset.Unknown
}

// bodyType returns the media type of a request's body. If the client sends none, or a generic
// one, it is inferred from the first bytes; "" if they do not tell. r.Body can then be read
// from its start.
func (s *Server) bodyType(r *http.Request) (string, error) {
	switch media := mediaType(r); media {
	case "", binType, formType:
	default:
		return media, nil
	}
	b := bufio.NewReaderSize(r.Body, dataset.SniffLen)
	head, err := b.Peek(dataset.SniffLen)
	if err != nil && err != io.EOF {
		return "", unread(err)
	}
	r.Body = peeked{b, r.Body}
	format := dataset.Sniff(head)
	if text := bytes.TrimLeft(head, " \t\r\n"); format == dataset.JSONL && text[0] == '{' {
		return jsonType, nil // a JSON line would begin so, too
	}
	for _, media := range append(vectorTypes(), safeType) {
		if formatOf(media) == format && format != dataset.Unknown {
			return media, nil
		}
	}
	return "", nil
}

// peeked is a body whose first bytes have been inspected.
type peeked struct {
	io.Reader
	io.Closer
}

// accepted returns the first of offers, best first, to which the header Accept gives the
// greatest weight.
func accepted(r *http.Request, offers ...string) (string, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return offers[0], nil
	}
	best, most := "", 0.
	for _, offer := range offers {
		if q := weight(accept, offer); q > most {
			best, most = offer, q
		}
	}
	if best == "" {
		return "", problem.New(problem.NotAcceptable, "the answer is one of %s", strings.Join(offers, ", ")).In("Accept").Within(offers)
	}
	return best, nil
}

// weight returns the weight of the most specific range of an Accept header that contains the
// media type; 0 if there is none.
func weight(accept, media string) float64 {
	class, _, _ := strings.Cut(media, "/")
	at, q := -1, 0.
	for item := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		specific := -1
		switch kind {
		case media:
			specific = 2
		case class + "/*":
			specific = 1
		case "*/*":
			specific = 0
		}
		if specific <= at {
			continue
		}
		at, q = specific, 1
		if text, ok := params["q"]; ok {
			if q, err = strconv.ParseFloat(text, 64); err != nil {
				q = 0
			}
		}
	}
	return q
}
