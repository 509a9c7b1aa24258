package collection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"thresher/dataset"
	"thresher/internal/vectors"
)

// TestOpenVerifying: a file that is verified while it is used opens, unless what searches rely on is altered, and Verified reports each
// section that is, in the words of Open. It may be closed meanwhile.
func TestOpenVerifying(t *testing.T) {
	const n, dim = 5000, 832 // with signs, codes and rows of more than verifiedLater bytes
	dir := t.TempDir()
	path := filepath.Join(dir, "c.thresher")
	made, err := Create(context.Background(), path, &rowsSource{rows: vectors.Gaussian(vectors.Rand(1), n, dim), dim: dim}, false, &Options{Metric: Cosine})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	c, err := OpenVerifying(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Verified(t.Context()); err != nil {
		t.Error(err)
	}
	if c.verifying == nil || made.Verified(t.Context()) != nil {
		t.Error("nothing was verified later")
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil {
		t.Fatal(err)
	}
	var last [1]byte
	alter := func(s section) {
		_, err := f.ReadAt(last[:], s.Offset+s.Bytes-1)
		last[0] ^= 64
		if _, again := f.WriteAt(last[:], s.Offset+s.Bytes-1); err != nil || again != nil {
			t.Fatal(err, again)
		}
	}
	later := 0
	for _, s := range h.Sections {
		alter(s)
		_, want := Open(path)
		c, err := OpenVerifying(path)
		if err == nil {
			later++
			err = c.Verified(t.Context())
			if again := c.Close(); again != nil {
				t.Error(again)
			}
		}
		if !errors.Is(err, ErrCorrupt) || want == nil || err.Error() != want.Error() {
			t.Errorf("section %s: %v, of Open %v", s.Name, err, want)
		}
		alter(s)
	}
	if later != 4 {
		t.Errorf("%d sections are verified later", later)
	}
	if c, err = OpenVerifying(path); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if v := c.verifying; v.err != nil && !errors.Is(v.err, errStopped) {
		t.Error(v.err)
	}
}

// TestVerifiedUntilCancelled: nobody who has cancelled waits for the rest of a file, and the best answer at a deadline does.
func TestVerifiedUntilCancelled(t *testing.T) {
	altered := errors.New("altered")
	v := &verification{ended: make(chan struct{}), err: altered}
	c := &Collection{verifying: v}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the user does not want it")
	cancel(cause)
	if err := c.Verified(ctx); err != cause {
		t.Error(err)
	}
	late, end := context.WithTimeout(t.Context(), 0)
	defer end()
	<-late.Done()
	found := make(chan error)
	go func() { found <- c.Verified(late) }()
	select {
	case err := <-found:
		t.Fatalf("%v before all is verified", err)
	case v.ended <- struct{}{}: // that it waits
	}
	if err := <-found; err != altered {
		t.Error(err)
	}
}

// TestDigest: that of a file differs if any byte of the vectors does, and not otherwise.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	digest := func(name string, value float32) string {
		rows := data("gaussian", 40, 8, 1)
		rows[100] = value
		path := filepath.Join(dir, name)
		c, err := Create(context.Background(), path, &rowsSource{rows: rows, dim: 8}, false, &Options{Metric: InnerProduct})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		d, err := dataset.CollectionDigest(path)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a, b, other := digest("a", 1), digest("b", 1), digest("c", 1+0x1p-23)
	if a != b || a == other || len(a) != 64 {
		t.Errorf("%s %s %s", a, b, other)
	}
	if _, err := dataset.CollectionDigest(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
