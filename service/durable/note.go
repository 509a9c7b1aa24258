package durable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// A note is a small file that says what lies beside it, for whoever has to do without the
// database: a line of a word, the note's kind and the CRC-32C of what follows, and JSON.
const noteWord = "thresher"

// mostNote is how long a note can be, in bytes.
const mostNote = 16 << 20

// ErrNote says that a file is no note of its kind, or a damaged one.
var ErrNote = errors.New("not a note, or a damaged one")

// NoteTemporary is what the name of a note that is being written ends with; it begins with a
// dot.
const NoteTemporary = ".new"

func sumOf(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }

// PutNote writes v as the note at path, as a whole or not at all, in the place of the one
// that is there. It is durable on return.
func (d Disk) PutNote(path, kind string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+NoteTemporary)
	if err := d.Remove(temporary); err != nil { // of a process that died
		return err
	}
	w, err := d.Create(temporary)
	if err != nil {
		return err
	}
	defer w.Discard()
	if _, err := fmt.Fprintf(w, "%s %s %08x\n%s\n", noteWord, kind, sumOf(text), text); err != nil {
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

// Note reads the note at path into v. What is no whole note of its kind wraps ErrNote.
func Note(path, kind string, v any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostNote))
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
	if !ok || !ended || string(line) != fmt.Sprintf("%s %s %08x", noteWord, kind, sumOf(rest)) {
		return fmt.Errorf("%w: it begins %.40q", ErrNote, line)
	}
	if err := json.Unmarshal(rest, v); err != nil {
		return fmt.Errorf("%w: %v", ErrNote, err)
	}
	return nil
}
