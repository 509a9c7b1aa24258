package figures

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSettings: every figure has a file of settings and every file a figure, all lists its points at every size, and what it
// says of itself is said.
func TestSettings(t *testing.T) {
	var ids []string
	for _, f := range All() {
		if slices.Contains(ids, f.ID) || f.ID == AllIDs {
			t.Errorf("two figures are %s, or it stands for all", f.ID)
		}
		ids = append(ids, f.ID)
		if f.Paper == "" || f.Shows == "" || f.Title == "" || len(f.Data) == 0 || len(f.Algorithms) == 0 || f.Points == nil || f.Note == nil {
			t.Errorf("%s does not say what it is, or has no points or note", f.ID)
		}
		for _, size := range []Size{Full, Quick, Smoke} {
			s, err := ReadSettings(f.ID, size)
			if err != nil {
				t.Error(err)
				continue
			}
			points, err := f.points(s)
			if err != nil {
				t.Errorf("size %s: %v", size, err)
			}
			if len(points) == 0 {
				t.Errorf("%s, size %s: no points", f.ID, size)
			}
			if _, err := s.Used(); err != nil {
				t.Errorf("%s, size %s: %v", f.ID, size, err)
			}
		}
	}
	files, err := settingsFiles.ReadDir("settings")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if id, yaml := strings.CutSuffix(path.Base(file.Name()), ".yaml"); !yaml || !slices.Contains(ids, id) {
			t.Errorf("settings/%s is of no figure", file.Name())
		}
	}
}

// TestSettingsOfSizes: what a smaller size does not say it takes from the next larger one, and then it is ours.
func TestSettingsOfSizes(t *testing.T) {
	for size, want := range map[Size][]int{Full: {1000, 3000, 10000, 30000, 100000}, Quick: {1000, 3000, 10000}, Smoke: {200, 400}} {
		s, err := ReadSettings("banditmips-9", size)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Ints("d"); !slices.Equal(got, want) {
			t.Errorf("%s: d is %d, want %d", size, got, want)
		}
		text, err := s.Used()
		if err != nil {
			t.Fatal(err)
		}
		if ours := strings.Contains(string(text), "from: ours"); ours != (size != Full) {
			t.Errorf("%s:\n%s", size, text)
		}
	}
	if _, err := ReadSettings("banditmips-9", "large"); err == nil || !strings.Contains(err.Error(), "full, quick or smoke") {
		t.Error(err)
	}
	if _, err := ReadSettings("none", Full); err == nil {
		t.Error("there are settings of none")
	}
}

// TestSmoke runs every figure at its smallest: each draws what it computes and says what is seen, and reads every setting that its file
// has.
func TestSmoke(t *testing.T) {
	figures := All()
	if testing.Short() {
		figures = figures[:min(3, len(figures))]
	}
	folder := "../../../shared/data"
	if _, err := os.Stat(folder); err != nil {
		t.Logf("without data that may not be distributed: %v", err)
		folder = ""
	}
	dir := t.TempDir()
	for _, f := range figures {
		t.Run(f.ID, func(t *testing.T) {
			o := &RunOptions{Figures: []*Figure{f}, Out: dir, Size: Smoke, Seed: 1, Threads: 2, Folder: folder}
			r, err := newFigureRun(f, o)
			if err != nil {
				t.Fatal(err)
			}
			result, err := r.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if result.Rows == 0 && len(result.Missing) == 0 {
				t.Error("no rows")
			}
			if result.Rows > 0 && f.Charts != nil {
				for _, name := range []string{DrawingFile, PictureFile} {
					if info, err := os.Stat(filepath.Join(result.Folder, name)); err != nil || info.Size() == 0 {
						t.Errorf("%s was not drawn: %v", name, err)
					}
				}
			}
			for key := range r.settings.values {
				if !r.settings.read[key] && len(result.Missing) == 0 {
					t.Errorf("settings/%s.yaml: nothing reads %s", f.ID, key)
				}
			}
			t.Logf("%.2f s, %d rows, %d points left out, %s", result.Seconds, result.Rows, len(result.Missing), result.Verdict)
		})
	}
}
