package figures

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"thresher/internal/atomicfile"
)

// finish draws a figure and writes its note.
func (r *figureRun) finish(rows []Row) (Note, error) {
	var note Note
	if len(rows) == 0 {
		note.Seen = "Nothing was computed."
	} else {
		d, err := describeRows(r.f, r.settings, rows)
		if err != nil {
			return Note{}, err
		}
		for _, name := range []string{DrawingFile, PictureFile} {
			if err := d.draw(filepath.Join(r.dir, name)); err != nil {
				return Note{}, err
			}
		}
		if note = d.note; r.o.Size == Smoke {
			note.Verdict = ""
		}
	}
	return note, replaceFile(filepath.Join(r.dir, NoteFile), r.noteText(note, len(rows) > 0))
}

func (r *figureRun) noteText(n Note, drawn bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n%s (%s, %s), size %s, seed %d.\n\n", r.f.ID, r.f.Title, r.f.Paper, r.f.Shows, r.o.Size, r.o.Seed)
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(n.Says+" "+n.Seen+" "+n.Why))
	switch {
	case n.Verdict != "":
		fmt.Fprintf(&b, "\nVerdict: %s. Ours: %s. Theirs: %s.\n", n.Verdict, orNone(n.Ours), orNone(n.Theirs))
	case drawn:
		fmt.Fprintf(&b, "\nNo verdict: a run of size %s shows only that the figure can be computed.\n", r.o.Size)
	}
	if len(r.missing) > 0 {
		fmt.Fprintf(&b, "\n%d of %d points were left out:\n", len(r.missing), len(r.points))
		for _, m := range r.missing {
			fmt.Fprintf(&b, "- %s\n", m.Why)
		}
	}
	if drawn && r.f.Charts != nil {
		fmt.Fprintf(&b, "\n![%s](%s)\n", r.f.Title, DrawingFile)
	}
	return b.Bytes()
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func readTable(name string) ([]Row, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() == 0 { // no point wrote anything
		return nil, err
	}
	return ReadRows(f, name)
}

// replaceFile writes a file that appears whole.
func replaceFile(name string, content []byte) error {
	f, err := atomicfile.Create(name, 0o666)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Commit(true)
}
