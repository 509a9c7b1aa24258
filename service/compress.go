package service

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// leastZipped is from how many bytes on an answer is compressed: below, it costs the
// server and the client more time than the network saves.
const leastZipped = 4 << 10

// zippedTypes are the media types whose answers are compressed. Numbers as they lie in
// memory are not among them: they lose a tenth at the most. Nor are the contents of
// files, whose parts are asked for.
func zippedTypes() []string {
	return []string{jsonType, "application/problem+json", "application/yaml", "text/plain", "text/html", "text/css", "text/javascript", "image/svg+xml"}
}

// zipTag ends the ETag of an answer that is compressed: it is another than that of the
// same answer as it is (RFC 9110, 8.8.3).
const zipTag = "-gzip"

// zipped has answers of h compressed for those who ask for it.
func zipped(h http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(leastZipped), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false),
		gzhttp.SuffixETag(zipTag), gzhttp.SetContentType(false),
		gzhttp.ContentTypeFilter(func(kind string) bool {
			kind, _, _ = strings.Cut(kind, ";")
			return slices.Contains(zippedTypes(), strings.TrimSpace(kind))
		}))
	if err != nil {
		return nil, err
	}
	inner := wrap(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tags := r.Header.Get("If-None-Match"); strings.Contains(tags, zipTag+`"`) {
			r.Header.Set("If-None-Match", strings.ReplaceAll(tags, zipTag+`"`, `"`))
		}
		inner(w, r)
	}), nil
}

// pacedWriter is the writer that w passes to, through whatever wraps it.
func pacedWriter(w http.ResponseWriter) *writer {
	for {
		switch x := w.(type) {
		case *writer:
			return x
		case interface{ Unwrap() http.ResponseWriter }:
			w = x.Unwrap()
		default:
			return nil
		}
	}
}
