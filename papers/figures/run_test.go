package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"thresher/internal/plot"
	"thresher/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is a figure of four points of two rows each that counts how often each is computed. Its settings are those of
// banditmips-9. at is called before a point is computed.
func counted(computed map[string]int, at func(point int) error) *Figure {
	return &Figure{
		ID: "banditmips-9", Paper: "a paper", Shows: "figure 0", Title: "counts",
		Points: func(*Settings) (points []Point) {
			for i := range 4 {
				key := fmt.Sprint("point ", i)
				points = append(points, Point{Key: key, Rows: func(_ context.Context, e *Env) ([]Row, error) {
					if err := at(i); err != nil {
						return nil, err
					}
					computed[key]++
					e.Progress(1, 4)
					return []Row{{Algorithm: "a", X: float64(i), Y: float64(pointSeed(e.Seed, key) % 1000)}, {Algorithm: "b, with \"quotes\"", X: float64(i), Y: 1}}, nil
				}})
			}
			return points
		},
		Charts: func(_ *Settings, rows []Row) []plot.Chart {
			return []plot.Chart{{Series: series(rows, func(r *Row) string { return r.Algorithm }, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Y })}}
		},
		Note: func(_ *Settings, rows []Row) Note {
			return Note{Says: "Says.", Seen: fmt.Sprintf("%d rows.", len(rows)), Why: "Why.", Verdict: InKind, Ours: "1", Theirs: "2"}
		},
	}
}

func never(int) error { return nil }

func read(t *testing.T, name ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestResume: a run that is stopped in the middle goes on where it was, no point is computed twice, and the table is that of
// a run that was not stopped.
func TestResume(t *testing.T) {
	whole := RunOptions{Figures: []*Figure{counted(map[string]int{}, never)}, Out: t.TempDir(), Size: Quick, Seed: 7, Threads: 1}
	if _, err := Run(context.Background(), whole); err != nil {
		t.Fatal(err)
	}
	want := read(t, whole.Out, "banditmips-9", TableFile)

	computed := map[string]int{}
	ctx, cancel := context.WithCancel(context.Background())
	stops := func(point int) error {
		if point == 2 && computed["point 2"] == 0 && ctx.Err() == nil {
			cancel()
			return ctx.Err()
		}
		return nil
	}
	o := whole
	o.Figures, o.Out = []*Figure{counted(computed, stops)}, t.TempDir()
	_, err := Run(ctx, o)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "2 of 4 points are done and kept") {
		t.Fatalf("%v, want that 2 points are kept", err)
	}
	if _, err := Run(context.Background(), o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v, want that the folder is in the way", err)
	}
	for wrong, change := range map[string]func(*RunOptions){
		"seed: 7; now seed: 8":      func(o *RunOptions) { o.Seed = 8 },
		"size: quick, value: [1000": func(o *RunOptions) { o.Size = Smoke },
	} {
		other := o
		other.Resume = true
		change(&other)
		if _, err := Run(context.Background(), other); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%v, want %q", err, wrong)
		}
	}
	o.Resume = true
	for range 2 { // the second time all is done
		results, err := Run(context.Background(), o)
		if err != nil || len(results) != 1 || results[0].Points != 4 || results[0].Rows != 8 || results[0].Verdict != InKind {
			t.Fatalf("%+v, %v", results, err)
		}
	}
	if got := read(t, o.Out, "banditmips-9", TableFile); !bytes.Equal(got, want) {
		t.Errorf("resumed:\n%s\nin one run:\n%s", got, want)
	}
	for key, times := range computed {
		if times != 1 {
			t.Errorf("%s was computed %d times", key, times)
		}
	}
	o.Resume, o.Overwrite, o.Seed = false, true, 8
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if got := read(t, o.Out, "banditmips-9", TableFile); bytes.Equal(got, want) {
		t.Error("another seed wrote the same table")
	}
	if got := string(read(t, o.Out, "banditmips-9", SettingsFile)); !strings.Contains(got, "seed: 8\n") {
		t.Errorf("settings are still %s", got)
	}
}

// TestFiles: what a figure's folder has.
func TestFiles(t *testing.T) {
	missing := func(point int) error {
		if point == 1 {
			return fmt.Errorf("no folder of data: %w", ErrMissing)
		}
		return nil
	}
	o := RunOptions{Figures: []*Figure{counted(map[string]int{}, missing)}, Out: filepath.Join(t.TempDir(), "new"), Size: Quick, Threads: 1}
	var done []float64
	o.Progress = func(f *Figure, points float64, total int) {
		if f.ID != "banditmips-9" || total != 4 {
			t.Errorf("progress of %s, %d points", f.ID, total)
		}
		done = append(done, points)
	}
	results, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(done, []float64{0, .25, 1, 2, 2.25, 3, 3.25, 4}) {
		t.Errorf("progress %v", done)
	}
	if m := results[0].Missing; len(m) != 1 || m[0].Point != "point 1" || !strings.Contains(m[0].Why, "no folder of data") {
		t.Errorf("missing: %v", m)
	}
	note := string(read(t, results[0].Folder, NoteFile))
	for _, want := range []string{"# banditmips-9\n", "Says. 6 rows. Why.", "Verdict: in kind. Ours: 1. Theirs: 2.", "1 of 4 points were left out", "no folder of data", "figure.svg"} {
		if !strings.Contains(note, want) {
			t.Errorf("the note has no %q:\n%s", want, note)
		}
	}
	for _, name := range []string{DrawingFile, PictureFile} {
		if len(read(t, results[0].Folder, name)) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}

// TestFailures: errors and panics name the figure and the point, the other figures are computed, and nothing stays where
// nothing was done.
func TestFailures(t *testing.T) {
	for at, want := range map[int]string{0: "banditmips-9: answering", 3: "point point 3: it broke; 3 of 4 points are done"} {
		for _, panics := range []bool{false, true} {
			breaks := func(point int) error {
				switch {
				case point == at && panics:
					panic("it broke")
				case point == at:
					return errors.New("it broke")
				}
				return nil
			}
			fine := counted(map[string]int{}, never)
			fine.ID = "fine"
			o := RunOptions{Figures: []*Figure{counted(map[string]int{}, breaks)}, Out: t.TempDir(), Size: Smoke, Threads: 1}
			_, err := Run(context.Background(), o)
			if err == nil || !strings.Contains(err.Error(), "it broke") || !strings.Contains(err.Error(), fmt.Sprintf("point point %d", at)) || !panics && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			_, there := os.Stat(filepath.Join(o.Out, "banditmips-9"))
			if left := !errors.Is(there, fs.ErrNotExist); left != (at > 0) {
				t.Errorf("stopped at point %d: the folder is there: %t", at, left)
			}
		}
	}
	for want, bad := range map[string]RunOptions{
		"0 threads":         {},
		"exclude":           {Resume: true, Overwrite: true, Threads: 1},
		`size "some"`:       {Figures: []*Figure{counted(nil, never)}, Size: "some", Threads: 1},
		"settings/no.yaml:": {Figures: []*Figure{{ID: "no"}}, Size: Full, Threads: 1},
		"listing its points: panic: settings/banditmips-9.yaml has no width": {Threads: 1, Size: Full, Figures: []*Figure{{ID: "banditmips-9",
			Points: func(s *Settings) []Point { return []Point{{Key: fmt.Sprint(s.Int("width"))}} }}}},
		"or that of another": {Threads: 1, Size: Full, Figures: []*Figure{{ID: "banditmips-9", Points: func(*Settings) []Point { return make([]Point, 2) }}}},
	} {
		if _, err := Run(context.Background(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestLocked: a second run of a figure is refused while the first is in progress.
func TestLocked(t *testing.T) {
	o := RunOptions{Out: t.TempDir(), Size: Smoke, Threads: 1, Overwrite: true}
	second := o
	second.Figures = []*Figure{counted(map[string]int{}, never)}
	o.Figures = []*Figure{counted(map[string]int{}, func(point int) error {
		if _, err := Run(context.Background(), second); !errors.Is(err, jobs.ErrLocked) {
			return fmt.Errorf("the second run ends with %v", err)
		}
		return nil
	})}
	if _, err := Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	all, err := Find([]string{"all"})
	if err != nil || len(all) != len(All()) {
		t.Errorf("all: %d of %d, %v", len(all), len(All()), err)
	}
	if one, err := Find([]string{"banditmips-9", "banditmips-9"}); err != nil || len(one) != 1 || one[0].ID != "banditmips-9" {
		t.Errorf("%v, %v", one, err)
	}
	for id, want := range map[string]string{"bandit-mips-9": `"bandit-mips-9" is no figure; did you mean banditmips-9?`, "BanditMIPS-9": "banditmips-9", "xyz": "paper list"} {
		if _, err := Find([]string{id}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, err, want)
		}
	}
}
