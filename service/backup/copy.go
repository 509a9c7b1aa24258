package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"thresher/internal/atomicfile"
	"thresher/store"
)

// amounts counts what is done of a backup. It is safe for concurrent use.
type amounts struct {
	files, bytes, filesDone, bytesDone, bytesLinked atomic.Int64
	phase                                           atomic.Value // string
}

// copier writes the files of a snapshot to a folder.
type copier struct {
	from, to string
	former   string // folder of the backup before; "" for none
	done     *amounts
	folders  map[string]bool // those that were made
}

// file writes one file, as a link to the former backup's if that has the same bytes.
func (c *copier) file(ctx context.Context, f staged) error {
	from, to := filepath.Join(c.from, f.path), filepath.Join(c.to, f.path)
	if err := c.folder(filepath.Dir(to)); err != nil {
		return err
	}
	defer c.done.filesDone.Add(1)
	if c.former != "" {
		before := filepath.Join(c.former, f.path)
		same, err := equal(ctx, before, from)
		if err != nil {
			return err
		}
		if same && os.Link(before, to) == nil {
			c.done.bytesDone.Add(f.size)
			c.done.bytesLinked.Add(f.size)
			return nil
		}
	}
	_, err := copyFile(ctx, from, to, &c.done.bytesDone)
	return err
}

// folder makes a folder of the backup, with those around it.
func (c *copier) folder(dir string) error {
	if c.folders[dir] {
		return nil
	}
	for d := dir; len(d) >= len(c.to) && !c.folders[d]; d = filepath.Dir(d) {
		c.folders[d] = true
	}
	return store.Full(os.MkdirAll(dir, 0o700))
}

// flush makes the names in all folders durable.
func (c *copier) flush() error {
	for dir := range c.folders {
		if err := atomicfile.FlushFolder(dir); err != nil {
			return store.Full(err)
		}
	}
	return nil
}

// copyStep is the number of bytes that are copied between two looks at the context.
const copyStep = 8 << 20

// copyFile copies a file to a name that must be free, with the time of its last change, flushes it
// and returns its length. done, if not nil, is increased by what is copied.
func copyFile(ctx context.Context, from, to string, done *atomic.Int64) (n int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, store.Full(err)
	}
	defer func() { err = store.Full(errors.Join(err, out.Close())) }()
	for err == nil {
		if ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		var m int64
		m, err = io.CopyN(out, in, copyStep) // the kernel may do this by itself
		n += m
		if done != nil {
			done.Add(m)
		}
	}
	if err != io.EOF {
		return n, err
	}
	return n, errors.Join(os.Chtimes(to, info.ModTime(), info.ModTime()), out.Sync())
}

// equal reports whether two files have the same length, time of change, and bytes. The first may be
// missing, or unreadable: then they are not equal. The second may be appended to meanwhile, or cut: if it
// is equal, the first has at least the bytes that the second had before.
func equal(ctx context.Context, former, now string) (bool, error) {
	a, err := os.Open(former)
	if err != nil {
		return false, nil
	}
	defer a.Close()
	b, err := os.Open(now)
	if err != nil {
		return false, err
	}
	defer b.Close()
	was, err := a.Stat()
	if err != nil {
		return false, nil
	}
	is, err := b.Stat()
	if err != nil || was.Size() != is.Size() || !was.ModTime().Equal(is.ModTime()) {
		return false, err
	}
	return sameBytes(ctx, a, b, is.Size())
}

// sameBytes reports whether the first bytes of two files are equal. One that is cut meanwhile has others.
func sameBytes(ctx context.Context, former, now io.Reader, bytesEach int64) (bool, error) {
	const piece = 1 << 20
	x, y := make([]byte, min(piece, bytesEach)), make([]byte, min(piece, bytesEach))
	for left := bytesEach; left > 0; left -= int64(len(x)) {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		x, y = x[:min(left, piece)], y[:min(left, piece)]
		if _, err := io.ReadFull(former, x); err != nil {
			return false, nil // a bad sector, for instance
		}
		_, err := io.ReadFull(now, y)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		case !bytes.Equal(x, y):
			return false, nil
		}
	}
	return true, nil
}

// copyTree copies all regular files below a folder, except the one named except in it, to a new
// folder, and flushes them.
func copyTree(ctx context.Context, from, to, except string) error {
	c := &copier{from: from, to: to, done: &amounts{}, folders: map[string]bool{}}
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return c.folder(filepath.Join(to, rel))
		case !e.Type().IsRegular() || rel == except:
			return nil
		}
		return c.file(ctx, staged{path: rel})
	})
	return errors.Join(err, c.flush())
}
