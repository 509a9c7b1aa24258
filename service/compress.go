package service

import (
	"compress/gzip"
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// minZipped is the smallest answer that is compressed, in bytes: below it, compression
// costs the server and the client more time than the network saves.
const minZipped = 4 << 10

// zippedTypes are the media types that are compressed. Binary numbers are not among them,
// because they shrink by a tenth at most, nor are the contents of files, because clients ask
// for ranges of them.
func zippedTypes() []string {
	return []string{jsonType, "application/problem+json", "application/yaml", "text/plain", "text/html", "text/css", "text/javascript", "image/svg+xml"}
}

// zipTag is the suffix of the ETag of a compressed answer, which must differ from that of the
// uncompressed one (RFC 9110, 8.8.3).
const zipTag = "-gzip"

// zipped compresses the answers of h for clients that accept it.
func zipped(h http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(minZipped), gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false),
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

// pacedWriter returns the innermost writer below the wrappers of w.
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
