package client

import (
	"bytes"
	"fmt"
	"io"
)

// uploadBody is head, a file of a known size, and tail.
type uploadBody struct {
	u    *Upload
	file io.ReadCloser
	r    io.Reader
	left int64 // bytes of the file
}

func newUploadBody(u *Upload, file io.ReadCloser, head, tail []byte) *uploadBody {
	b := &uploadBody{u: u, file: file, left: u.Size}
	b.r = io.MultiReader(bytes.NewReader(head), (*fileReader)(b), bytes.NewReader(tail))
	return b
}

func (b *uploadBody) Read(p []byte) (int, error) { return b.r.Read(p) }
func (b *uploadBody) Close() error               { return b.file.Close() }

// fileReader reads the file alone; it must have the announced number of bytes, because the
// length of the whole body is sent first.
type fileReader uploadBody

func (f *fileReader) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.file.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	if f.u.Sent != nil {
		f.u.Sent(f.u.Size - f.left)
	}
	if err == io.EOF && f.left > 0 {
		return n, fmt.Errorf("%s ends %d bytes before its %d", f.u.Name, f.left, f.u.Size)
	}
	if f.left == 0 {
		err = nil
	}
	return n, err
}
