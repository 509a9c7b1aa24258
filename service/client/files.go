package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"thresher/service/api"
)

// NewKey returns a new random Idempotency-Key.
func NewKey() string { return rand.Text() }

// keyed sets the call's Idempotency-Key to key, or to a new one if that is "".
func (k *call) keyed(key string) *call {
	if key == "" {
		key = NewKey()
	}
	k.set("Idempotency-Key", key)
	return k
}

// Upload is a file to be uploaded. It is read from its start for each attempt, and never held
// in memory.
type Upload struct {
	Name    string // its extension tells the format
	Purpose string // "batch" for the input of a batch
	Size    int64  // bytes
	Open    func() (io.ReadCloser, error)
	// Key is the Idempotency-Key; "" draws one.
	Key string
	// Sent, if not nil, is called with the number of bytes sent so far; a retry begins at 0.
	// It is called from another goroutine.
	Sent func(bytes int64)
}

// UploadOf returns the upload of a file on this machine.
func UploadOf(path, purpose string) (Upload, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Upload{}, err
	}
	if !info.Mode().IsRegular() {
		return Upload{}, fmt.Errorf("%s: not a regular file (%s)", path, info.Mode().Type())
	}
	open := func() (io.ReadCloser, error) { return os.Open(path) }
	return Upload{Name: filepath.Base(path), Purpose: purpose, Size: info.Size(), Open: open}, nil
}

// Upload stores a file on the server.
func (c *Client) Upload(ctx context.Context, u Upload) (api.File, error) {
	head, tail, contentType, err := u.frame()
	if err != nil {
		return api.File{}, err
	}
	k := (&call{method: http.MethodPost, path: []string{"v1", "files"}, length: int64(len(head)) + u.Size + int64(len(tail))}).keyed(u.Key)
	k.set("Content-Type", contentType)
	k.body = func() (io.ReadCloser, error) {
		f, err := u.Open()
		if err != nil {
			return nil, err
		}
		return newUploadBody(&u, f, head, tail), nil
	}
	return answerAs[api.File](ctx, c, k)
}

// File describes a file.
func (c *Client) File(ctx context.Context, id string) (api.File, error) {
	return answerAs[api.File](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "files", id}})
}

// Files lists the files uploaded before the file with id after; limit 0 means the server's
// default.
func (c *Client) Files(ctx context.Context, after string, limit int) (api.Page[api.File], error) {
	return answerAs[api.Page[api.File]](ctx, c, &call{method: http.MethodGet, path: []string{"v1", "files"}, query: Paging(after, limit)})
}

// Paging returns the query of a page of a list: of what comes after an id, "" for the first page, and of at most
// limit entries, 0 for the server's default.
func Paging(after string, limit int) url.Values {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return q
}

// DeleteFile removes a file.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.answer(ctx, &call{method: http.MethodDelete, path: []string{"v1", "files", id}, removes: true}, nil)
}

// Download writes the content of a file to w and returns the number of bytes written. An
// interrupted connection is replaced by one for the rest; w gets every byte once, in order.
func (c *Client) Download(ctx context.Context, id string, w io.Writer) (int64, error) {
	d := &download{c: c, id: id, w: w}
	backoff := c.o.Backoff
	for attempt := 1; ; attempt++ {
		before := d.at
		err := d.part(ctx)
		if err == nil {
			return d.at, nil
		}
		if ctx.Err() != nil {
			return d.at, ended(ctx)
		}
		if d.at > before { // progress resets the attempts
			attempt, backoff = 1, c.o.Backoff
		}
		if !isLost(err) || attempt >= c.o.Attempts {
			return d.at, err
		}
		if err := c.wait(ctx, backoff); err != nil {
			return d.at, err
		}
		backoff = min(2*backoff, c.o.MaxWait)
	}
}

// download is one download over one or more connections.
type download struct {
	c    *Client
	id   string
	w    io.Writer
	at   int64  // bytes written
	etag string // of the file, once known
}

// part writes the bytes of one connection.
func (d *download) part(ctx context.Context) error {
	k := &call{method: http.MethodGet, path: []string{"v1", "files", d.id, "content"}}
	if d.at > 0 {
		k.set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.etag != "" {
			k.set("If-Range", d.etag)
		}
	}
	resp, err := d.c.do(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusPartialContent && d.at > 0 {
		if d.etag != "" && resp.Header.Get("ETag") != d.etag {
			return fmt.Errorf("file %s has changed during the download, at byte %d", d.id, d.at)
		}
		// the server does not support ranges
		if _, err := io.CopyN(io.Discard, resp.Body, d.at); err != nil {
			return &LostError{Server: d.c.base.Host, Err: err}
		}
	}
	d.etag = resp.Header.Get("ETag")
	return d.copy(resp.Body)
}

func (d *download) copy(from io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			written, werr := d.w.Write(buf[:n])
			d.at += int64(written)
			if werr != nil {
				return werr
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return &LostError{Server: d.c.base.Host, Err: err}
		}
	}
}

// frame returns the bytes before and after the file in a multipart body.
func (u *Upload) frame() (head, tail []byte, contentType string, err error) {
	var b frameBuffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("purpose", u.Purpose); err != nil {
		return nil, nil, "", err
	}
	if _, err := w.CreateFormFile("file", u.Name); err != nil {
		return nil, nil, "", err
	}
	head = append(head, b...)
	if err := w.Close(); err != nil {
		return nil, nil, "", err
	}
	return head, b[len(head):], w.FormDataContentType(), nil
}

type frameBuffer []byte

func (b *frameBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
