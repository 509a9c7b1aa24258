package folder

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// logPart is the part of a log that was replayed.
type logPart struct {
	path string
	end  int64
}

// Digest returns a SHA-256, in hexadecimal, by which the vectors that a folder had when it was opened with Options.Digest are known again; ""
// without. It is made of the headers of its segments, which have the checksums of their vectors, of what is deleted of these, of the checksums
// of their ids, numbers and columns, and of the logs, so that no vector of a segment is read for it. The same vectors in other segments, as merges
// make them, have another one.
func (f *Folder) Digest() string { return f.digest }

// makeDigest makes the Digest. Files that a writer removes meanwhile are fs.ErrNotExist.
func (f *Folder) makeDigest(ctx context.Context) error {
	h := sha256.New()
	common := *f.manifest
	common.Segments, common.Log, common.Next = nil, 0, 0
	if err := json.NewEncoder(h).Encode(&common); err != nil {
		return err
	}
	for i := range f.manifest.Segments {
		e := &f.manifest.Segments[i]
		if err := hashStart(h, filepath.Join(f.path, e.file()), headerBytes); err != nil {
			return err
		}
		if err := json.NewEncoder(h).Encode([]any{e.Rows, e.IDs, e.Numbers, e.Columns, e.Deleted}); err != nil {
			return err
		}
	}
	for _, log := range f.logs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := hashStart(h, log.path, log.end); err != nil {
			return err
		}
	}
	f.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

// hashStart adds the first n bytes of a file to a hash, and their number.
func hashStart(h hash.Hash, path string, n int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err = io.Copy(h, io.LimitReader(f, n)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(h, n)
	return err
}
