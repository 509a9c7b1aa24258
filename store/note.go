package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A note is a small file that describes the file or folder next to it, for recovery without
// the database: a line of a word, the note's kind and the CRC-32C of what follows, then JSON.
const noteWord = "thresher"

// maxNote bounds the length of a note, in bytes.
const maxNote = 16 << 20

// ErrNote says that a file is not a note of its kind, or a damaged one.
var ErrNote = errors.New("not a note, or a damaged one")

// unfinishedSuffix ends the name of a file that is to replace another; the name begins with a dot.
const unfinishedSuffix = ".new"

// Unfinished reports whether a name is that of a file that is to replace one whose name begins with prefix.
func Unfinished(name, prefix string) bool {
	return strings.HasPrefix(name, "."+prefix) && strings.HasSuffix(name, unfinishedSuffix)
}

// PutNote writes v as the note at path, replacing an existing one atomically. It is durable
// on return.
func (d Disk) PutNote(path, kind string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.Replace(path, fmt.Appendf(nil, "%s %s %08x\n%s\n", noteWord, kind, Checksum(text), text))
}

// Replace makes text the content of the file at path, which may exist, atomically. It is durable on
// return.
func (d Disk) Replace(path string, text []byte) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+unfinishedSuffix)
	if err := d.Remove(temporary); err != nil { // left by a process that crashed
		return err
	}
	w, err := d.Create(temporary)
	if err != nil {
		return err
	}
	defer w.Discard()
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.close(func() error { return nil }); err != nil { // Rename flushes the folder
		return err
	}
	if err := d.Rename(temporary, path); err != nil {
		return errors.Join(err, d.Remove(temporary))
	}
	return nil
}

// Note reads the note at path into v. If the file is not an intact note of its kind, the
// error wraps ErrNote.
func Note(path, kind string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxNote))
	if err != nil {
		return err
	}
	if err := readNote(text, kind, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

func readNote(text []byte, kind string, v any) error {
	line, rest, ok := bytes.Cut(text, []byte{'\n'})
	rest, ended := bytes.CutSuffix(rest, []byte{'\n'})
	if !ok || !ended || string(line) != fmt.Sprintf("%s %s %08x", noteWord, kind, Checksum(rest)) {
		return fmt.Errorf("%w: it begins %.40q", ErrNote, line)
	}
	if err := json.Unmarshal(rest, v); err != nil {
		return fmt.Errorf("%w: %v", ErrNote, err)
	}
	return nil
}
