package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// Writer is a file being written. If the disk is full its errors wrap ErrFull.
type Writer struct {
	d    Disk
	f    *os.File
	sum  hash.Hash
	n    int64
	done bool
}

func newWriter(d Disk, f *os.File) *Writer { return &Writer{d: d, f: f, sum: sha256.New()} }

// Path is the file's path.
func (w *Writer) Path() string { return w.f.Name() }

// Bytes is the number of bytes written.
func (w *Writer) Bytes() int64 { return w.n }

// Sum is the SHA-256 of the bytes written, in hexadecimal.
func (w *Writer) Sum() string { return hex.EncodeToString(w.sum.Sum(nil)) }

// Write appends p.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.d.At("write", w.Path()); err != nil {
		return 0, Full(err)
	}
	n, err := w.f.Write(p)
	w.n += int64(n)
	w.sum.Write(p[:n])
	return n, Full(err)
}

// copyBytes is the size of the buffer of Copy.
const copyBytes = 256 << 10

// Copy appends the content of r. Errors of r are wrapped; allow, if not nil, is called before
// each write of n bytes, and refuses it with an error.
func (w *Writer) Copy(ctx context.Context, r io.Reader, allow func(n int64) error) error {
	return copyTo(ctx, r, allow, func(p []byte) error {
		_, err := w.Write(p)
		return err
	})
}

func copyTo(ctx context.Context, r io.Reader, allow func(n int64) error, write func(p []byte) error) error {
	buf := make([]byte, copyBytes)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, rerr := fill(r, buf)
		if n > 0 && allow != nil {
			if err := allow(int64(n)); err != nil {
				return err
			}
		}
		if n > 0 {
			if err := write(buf[:n]); err != nil {
				return err
			}
		}
		if rerr == io.EOF {
			return nil
		}
		if rerr != nil {
			return fmt.Errorf("reading what is to be stored: %w", rerr)
		}
	}
}

// fill reads until buf is full or r fails. Unlike io.ReadFull it returns r's errors
// unchanged: a truncated body is not a regular end.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for idle := 0; n < len(buf) && err == nil; {
		var m int
		m, err = r.Read(buf[n:])
		n += m
		if m > 0 {
			idle = 0
		} else if idle++; idle == 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// Close flushes the file and its folder. After an error the file is removed.
func (w *Writer) Close() error {
	return w.close(func() error { return w.d.FlushFolder(filepath.Dir(w.Path())) })
}

// close flushes the file, and then calls then to complete it.
func (w *Writer) close(then func() error) error {
	err := w.d.At("flush", w.Path())
	if err == nil {
		err = w.f.Sync()
	}
	if err == nil {
		err = then()
	}
	if err == nil {
		err = w.f.Close()
	}
	if err != nil {
		w.Discard()
		return Full(err)
	}
	w.done = true
	return nil
}

// Discard removes the file unless it was closed.
func (w *Writer) Discard() {
	if w.done {
		return
	}
	w.done = true
	w.f.Close()
	// Sweep removes the file later if this fails.
	_ = w.d.Remove(w.Path())
}

// Measure reads r completely and returns its length and its SHA-256 in hexadecimal. allow is
// as for Writer.Copy.
func Measure(ctx context.Context, r io.Reader, allow func(n int64) error) (int64, string, error) {
	w := &Writer{sum: sha256.New()}
	err := copyTo(ctx, r, allow, func(p []byte) error {
		w.n += int64(len(p))
		w.sum.Write(p)
		return nil
	})
	return w.n, w.Sum(), err
}
