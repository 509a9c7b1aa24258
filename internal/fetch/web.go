package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// web is web servers.
type web struct {
	client *http.Client
}

func openWeb(transport http.RoundTripper) *web {
	return &web{&http.Client{Transport: transport, CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case to.URL.Scheme == "http" && !isLoopback(to.URL.Hostname()):
			return fmt.Errorf("it leads to http://%s, and only https is followed", to.URL.Host)
		case len(via) >= 10:
			return errors.New("it leads from one address to the next without an end")
		}
		return nil
	}}}
}

// do sends a request.
func (w *web) do(ctx context.Context, method string, l *location, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.key, nil)
	if err != nil {
		return nil, &Error{URL: l.shown, Err: withoutURL(err)}
	}
	r.Header = header
	r.Header.Set("User-Agent", "thresher")
	r.Header.Set("Accept-Encoding", "identity") // sizes and offsets are those of the file
	answer, err := w.client.Do(r)
	if err != nil {
		return nil, &Error{URL: l.shown, Err: withoutURL(err)}
	}
	return answer, nil
}

// stat asks by HEAD, and servers that refuse it, as those of addresses that are signed for GET do, for the first byte.
func (w *web) stat(ctx context.Context, l location) (object, error) {
	answer, err := w.do(ctx, http.MethodHead, &l, http.Header{})
	if err != nil {
		return object{}, err
	}
	answer.Body.Close()
	size := answer.ContentLength
	switch answer.StatusCode {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if answer, err = w.do(ctx, http.MethodGet, &l, http.Header{"Range": {"bytes=0-0"}}); err != nil {
			return object{}, err
		}
		answer.Body.Close()
		if size = answer.ContentLength; answer.StatusCode == http.StatusPartialContent {
			size = wholeSize(answer.Header)
		}
	}
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPartialContent {
		return object{}, refused(&l, answer.StatusCode, "")
	}
	o := object{location: l, from: w, size: size, sums: sums{}, asked: true}
	o.tag, o.weak = strings.CutPrefix(answer.Header.Get("ETag"), "W/")
	o.tag = strings.Trim(o.tag, `"`)
	if at, err := http.ParseTime(answer.Header.Get("Last-Modified")); err == nil {
		o.modified = at
	}
	o.sums.ofHeader(answer.Header)
	return o, nil
}

// wholeSize returns the size of the file of which a part is answered, -1 if it is not stated.
func wholeSize(h http.Header) int64 {
	_, whole, _ := strings.Cut(h.Get("Content-Range"), "/")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		return n
	}
	return -1
}

// list fails: web servers have no lists.
func (w *web) list(_ context.Context, l location, _ func(object) error) error {
	return &Error{URL: l.shown, Err: errors.New("a web server has no list of files")}
}

func (w *web) open(ctx context.Context, o *object, offset int64) (io.ReadCloser, int64, error) {
	h := http.Header{}
	if offset > 0 {
		h.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	if o.tag != "" && !o.weak {
		h.Set("If-Match", `"`+o.tag+`"`)
	} else if !o.modified.IsZero() {
		h.Set("If-Unmodified-Since", o.modified.UTC().Format(http.TimeFormat))
	}
	answer, err := w.do(ctx, http.MethodGet, &o.location, h)
	if err != nil {
		return nil, 0, err
	}
	from := int64(0)
	switch answer.StatusCode {
	case http.StatusPartialContent:
		from = offset
	case http.StatusOK:
	default:
		answer.Body.Close()
		return nil, 0, refused(&o.location, answer.StatusCode, "")
	}
	if tag := strings.Trim(strings.TrimPrefix(answer.Header.Get("ETag"), "W/"), `"`); tag != "" && o.tag != "" && tag != o.tag { // of a server that does not compare
		answer.Body.Close()
		return nil, 0, &Error{URL: o.shown, Err: errChanged}
	}
	return answer.Body, from, nil
}

// patience is how long the header of an answer may take, and how long a body may stand still.
const patience = time.Minute
