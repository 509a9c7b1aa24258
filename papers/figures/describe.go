package figures

import (
	"fmt"

	"thresher/internal/plot"
)

// description is what is made of a figure's rows.
type description struct {
	note   Note
	charts []plot.Chart
}

// describeRows makes the note and the charts of rows, of which there is at least one.
func describeRows(f *Figure, s *Settings, rows []Row) (d description, err error) {
	err = guarded(func() error {
		d.note = f.Note(s, rows)
		if f.Charts != nil {
			d.charts = f.Charts(s, rows)
		}
		return nil
	})
	if err != nil {
		return d, fmt.Errorf("describing %d rows: %w", len(rows), err)
	}
	switch d.note.Verdict {
	case Reproduced, InKind, Not:
		return d, nil
	}
	return d, fmt.Errorf("verdict %q: it is %s, %s or %s", d.note.Verdict, Reproduced, InKind, Not)
}

// draw writes the charts into a file, if there are any.
func (d *description) draw(name string) error {
	if len(d.charts) == 0 {
		return nil
	}
	return plot.Write(name, d.charts...)
}
