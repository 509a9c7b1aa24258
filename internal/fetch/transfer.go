package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"thresher/internal/atomicfile"
)

// attempts is how often a file is asked for in a row without a byte arriving.
const attempts = 4

// fetch brings the file to path, unless it is there. What arrived of the same version before is continued.
func (f *member) fetch(ctx context.Context, path string, p *arrivals) error {
	if f.object.version() != "" && f.isAt(path) {
		p.add(max(f.size, 0))
		return nil
	}
	if err := f.ask(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path+partSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	t := &transfer{object: &f.object, file: file, progress: p}
	if err := t.resume(ctx); err != nil {
		return err
	}
	if err := t.run(ctx); err != nil {
		return err
	}
	if err := t.verify(); err != nil {
		return errors.Join(err, file.Truncate(0))
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+partSuffix, path); err != nil {
		return err
	}
	return atomicfile.FlushFolder(filepath.Dir(path))
}

// ask asks for the checksums of an object that was found in a list, which does not have them.
func (o *object) ask(ctx context.Context) error {
	if o.asked {
		return nil
	}
	now, err := o.from.stat(ctx, o.location)
	if err != nil {
		return err
	}
	if now.tag != o.tag || now.size != o.size {
		return &Error{URL: o.shown, Err: errChanged}
	}
	o.sums, o.asked = now.sums, true
	return nil
}

// transfer is a file on its way.
type transfer struct {
	*object
	file     *os.File
	at       int64     // bytes that are in the file
	check    *checking // of those; nil without a checksum
	progress *arrivals
}

// restart begins with no bytes.
func (t *transfer) restart() error {
	t.progress.add(-t.at)
	t.at, t.check = 0, t.sums.checking()
	if err := t.file.Truncate(0); err != nil {
		return err
	}
	_, err := t.file.Seek(0, io.SeekStart)
	return err
}

// resume takes in what an earlier process left.
func (t *transfer) resume(ctx context.Context) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if t.tag == "" || t.weak || t.size >= 0 && info.Size() > t.size { // such a tag does not promise the same bytes
		return t.restart()
	}
	if t.check = t.sums.checking(); t.check != nil {
		if _, err := io.Copy(t.check, withContext{ctx, t.file}); err != nil {
			return err
		}
	}
	t.at, err = t.file.Seek(0, io.SeekEnd)
	t.progress.add(t.at)
	return err
}

// run fetches what is missing. A connection that breaks or stands still is replaced.
func (t *transfer) run(ctx context.Context) error {
	for failed := 0; t.size < 0 || t.at < t.size || t.size == 0 && failed == 0; {
		before := t.at
		err := t.once(ctx)
		if err == nil && (t.size < 0 || t.at == t.size) {
			return nil
		}
		if err == nil && t.at > t.size {
			return &Error{URL: t.shown, Err: fmt.Errorf("has more than the %d bytes that are stated", t.size)}
		}
		if err == nil {
			err = &Error{URL: t.shown, Err: fmt.Errorf("ended after %d of %d bytes", t.at, t.size)}
		}
		var refusal *Error
		if errors.As(err, &refusal) && refusal.Status == http.StatusRequestedRangeNotSatisfiable && t.at > 0 && ctx.Err() == nil {
			if err := t.restart(); err != nil { // all bytes of a file whose size is not stated are there, or too many
				return err
			}
			continue
		}
		var disk *os.PathError
		if failed++; t.at > before {
			failed = 1
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed >= attempts || lasting(err) || errors.As(err, &disk) {
			return err
		}
	}
	return nil
}

// once fetches as much as one connection brings. It returns nil at its end.
func (t *transfer) once(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	still := time.AfterFunc(patience, func() { stop(errStill) })
	defer still.Stop()
	body, from, err := t.from.open(ctx, t.object, t.at)
	if err != nil {
		return because(ctx, &t.location, err)
	}
	defer body.Close()
	if from != t.at || t.at == 0 { // checksums can be known only now
		if err := t.restart(); err != nil {
			return err
		}
	}
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return because(ctx, &t.location, err)
		}
		n, err := body.Read(buf)
		still.Reset(patience)
		if n > 0 {
			if _, err := t.file.Write(buf[:n]); err != nil {
				return err
			}
			if t.check != nil {
				t.check.Write(buf[:n]) // never fails
			}
			t.at += int64(n)
			t.progress.add(int64(n))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return because(ctx, &t.location, &Error{URL: t.shown, Err: fmt.Errorf("after %d bytes: %w", t.at, withoutURL(err))})
		}
	}
}

// errStill says that a connection stands still.
var errStill = fmt.Errorf("nothing has arrived for %v", patience)

// because returns err, or why its context ended.
func because(ctx context.Context, l *location, err error) error {
	if errors.Is(context.Cause(ctx), errStill) {
		return &Error{URL: l.shown, Err: errStill}
	}
	return err
}

// verify compares what arrived with what the store states.
func (t *transfer) verify() error {
	if t.check == nil {
		return nil
	}
	if err := t.check.check(); err != nil {
		return &Error{URL: t.shown, Err: err}
	}
	return nil
}

// withContext is a Reader that fails once its context has ended.
type withContext struct {
	ctx context.Context
	r   io.Reader
}

func (c withContext) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
