package service

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"thresher/service/problem"
)

// encodings lists the content codings that bodies may have.
func encodings() []string { return []string{"identity", "gzip", "deflate"} }

// decompress makes r.Body decompressed, if the header names a coding. The length is unknown
// in advance; limits apply to the bytes as they are decompressed.
func decompress(w http.ResponseWriter, r *http.Request) error {
	coding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	if coding == "" || coding == "identity" {
		return nil
	}
	coding = strings.TrimPrefix(coding, "x-")
	open := opener(coding)
	if open == nil {
		w.Header().Set("Accept-Encoding", "gzip, deflate") // RFC 9110, section 12.5.3
		return problem.New(problem.UnsupportedMedia, "bodies are accepted uncompressed, in gzip or in deflate, not in %q", coding).
			In("Content-Encoding").Within(encodings())
	}
	r.Body = &unpacked{body: r.Body, coding: coding, open: open}
	r.ContentLength = -1
	return nil
}

// opener returns the decompressor of a coding; nil for an unknown one.
func opener(coding string) func(*bufio.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		return func(b *bufio.Reader) (io.Reader, error) { return gzip.NewReader(b) }
	case "deflate":
		return inflate
	}
	return nil
}

// inflate reads deflate: zlib as RFC 9110 says, or without the zlib header as some clients
// send it.
func inflate(b *bufio.Reader) (io.Reader, error) {
	head, err := b.Peek(2)
	if err == io.EOF && len(head) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if len(head) == 2 && head[0]&15 == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return flate.NewReader(b), nil
}

// unpacked is a decompressed body.
type unpacked struct {
	body   io.ReadCloser
	coding string
	open   func(*bufio.Reader) (io.Reader, error)
	reader io.Reader // nil before the first Read
	err    error
}

func (u *unpacked) Read(p []byte) (n int, err error) {
	if u.reader == nil && u.err == nil {
		if u.reader, u.err = u.open(bufio.NewReader(u.body)); u.err == io.EOF {
			u.err = io.ErrUnexpectedEOF // an empty body is not gzip
		}
	}
	if u.err == nil {
		n, u.err = u.reader.Read(p)
	}
	return n, u.wrong(u.err)
}

func (u *unpacked) Close() error { return u.body.Close() }

// wrong returns the problem of bytes that are invalid in the coding. Errors of receiving them
// are converted elsewhere.
func (u *unpacked) wrong(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum),
		errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary):
		return problem.New(problem.Malformed, "the body is not valid %s: %v", u.coding, err).In("Content-Encoding").Because(err)
	case errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrDeadlineExceeded):
		return problem.New(problem.Malformed, "the body ends in the middle of the %s data", u.coding).In("Content-Encoding").Because(err)
	}
	return err
}
