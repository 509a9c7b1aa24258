package figures

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"thresher/jobs"
)

// Files of a figure in its folder.
const (
	TableFile    = "points.csv"
	SettingsFile = "settings.yaml"
	NoteFile     = "note.md"
	DrawingFile  = "figure.svg"
	PictureFile  = "figure.png"
	progressFile = ".progress" // of package jobs
)

// RunOptions say what to compute and where to keep it.
type RunOptions struct {
	Figures []*Figure
	Out     string // a folder; that of each figure is made in it
	Size    Size
	Seed    uint64
	Threads int    // at least 1
	Folder  string // of data sets that cannot be generated, see Env
	// Resume continues figures that were begun and computes those that were not; Overwrite begins all again. With neither, a
	// figure whose folder has something is refused. They exclude each other.
	Resume, Overwrite bool
	// Progress, if not nil, is called after every point and within points, from several goroutines: done counts points, a part
	// of the present one included. Done is called after every figure.
	Progress func(f *Figure, done float64, total int)
	Done     func(Result)
}

// Result is what came of one figure.
type Result struct {
	ID      string    `json:"id"`
	Folder  string    `json:"folder"`
	Points  int       `json:"points"`  // of the figure
	Resumed int       `json:"resumed"` // of them, computed by former runs
	Rows    int       `json:"rows"`
	Missing []Missing `json:"missing"`           // points that were left out
	Verdict Verdict   `json:"verdict,omitempty"` // none of a smoke run, or if nothing was computed
	Seconds float64   `json:"seconds"`           // of this run
}

// Missing is a point that was left out, and why.
type Missing struct {
	Point string `json:"point"`
	Why   string `json:"why"`
}

// Run computes figures one after another. What is done of one is durable after every point, so that a run that is killed
// or whose context ends goes on with Resume. A figure that fails does not keep the others from being computed; the error
// then joins those of all that failed. Before anything is computed it is checked that no folder is in the way, and that those to be
// resumed were begun with the same size, seed and settings.
func Run(ctx context.Context, o RunOptions) ([]Result, error) {
	if o.Resume && o.Overwrite {
		return nil, errors.New("resume and overwrite exclude each other")
	}
	if o.Threads < 1 {
		return nil, fmt.Errorf("%d threads, at least 1", o.Threads)
	}
	var runs []*figureRun
	for _, f := range o.Figures {
		r, err := newFigureRun(f, &o)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	var results []Result
	var failed []error
	for _, r := range runs {
		result, err := r.run(ctx)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.f.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			results = append(results, result)
			if o.Done != nil {
				o.Done(result)
			}
		}
	}
	return results, errors.Join(failed...)
}

// figureRun is the computation of one figure.
type figureRun struct {
	f        *Figure
	o        *RunOptions
	dir      string
	settings *Settings
	used     []byte // what SettingsFile has
	points   []Point
	missing  []Missing
}

// newFigureRun lists a figure's points and checks its folder.
func newFigureRun(f *Figure, o *RunOptions) (*figureRun, error) {
	r := &figureRun{f: f, o: o, dir: filepath.Join(o.Out, f.ID)}
	var err error
	if r.settings, err = ReadSettings(f.ID, o.Size); err != nil {
		return nil, fmt.Errorf("%s: %w", f.ID, err)
	}
	if r.used, err = describeSettings(r.settings, o.Seed); err != nil {
		return nil, fmt.Errorf("%s: %w", f.ID, err)
	}
	if r.points, err = f.points(r.settings); err != nil {
		return nil, err
	}
	if err := r.checkFolder(); err != nil {
		return nil, err
	}
	return r, nil
}

// points lists the points of a figure and checks their keys.
func (f *Figure) points(s *Settings) (points []Point, err error) {
	if err := guarded(func() error { points = f.Points(s); return nil }); err != nil {
		return nil, fmt.Errorf("%s: listing its points: %w", f.ID, err)
	}
	seen := map[string]bool{}
	for _, p := range points {
		if p.Key == "" || seen[p.Key] {
			return nil, fmt.Errorf("%s: point %q has no key, or that of another", f.ID, p.Key)
		}
		seen[p.Key] = true
	}
	return points, nil
}

// describeSettings is what determines the results of a run, as SettingsFile keeps it.
func describeSettings(s *Settings, seed uint64) ([]byte, error) {
	used, err := s.Used()
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "# %s, as it was computed\nsize: %s\nseed: %d\nsettings:\n%s", s.ID, s.Size, seed, indented(used)), nil
}

func indented(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// checkFolder refuses a folder that has something, unless it is to be overwritten, or was begun with what it is resumed with.
func (r *figureRun) checkFolder() error {
	found, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (len(found) == 0 || r.o.Overwrite) {
		return nil
	}
	if err != nil {
		return err
	}
	if !r.o.Resume {
		return fmt.Errorf("%s: %w", r.dir, fs.ErrExist)
	}
	name := filepath.Join(r.dir, SettingsFile)
	former, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) { // the run was killed before its first point, or jobs will refuse it
		return nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(former, r.used) {
		return fmt.Errorf("%s: was begun with %s", name, difference(string(former), string(r.used)))
	}
	return nil
}

// difference says in which lines two texts differ.
func difference(former, now string) string {
	a, b := strings.Split(strings.TrimSpace(former), "\n"), strings.Split(strings.TrimSpace(now), "\n")
	trim := func(lines, others []string) string {
		var only []string
		for _, line := range lines {
			if !slices.Contains(others, line) {
				only = append(only, strings.TrimSpace(line))
			}
		}
		return strings.Join(only, ", ")
	}
	switch was, is := trim(a, b), trim(b, a); {
	case was == "" && is == "":
		return "its lines in another order"
	case was == "":
		return "nothing in place of " + is
	case is == "":
		return was + ", which is no longer there"
	default:
		return was + "; now " + is
	}
}

// run computes what is not done yet, then draws and describes all.
func (r *figureRun) run(ctx context.Context) (Result, error) {
	began := time.Now()
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return Result{}, err
	}
	digest := sha256.Sum256(r.used)
	spec := jobs.Spec{
		Progress: filepath.Join(r.dir, progressFile), Outputs: []string{filepath.Join(r.dir, TableFile)},
		Fingerprint: hex.EncodeToString(digest[:]), Resume: r.o.Resume, Force: r.o.Overwrite,
		Observe: func(p jobs.Progress) { r.progress(float64(p.Items)) },
	}
	r.progress(0)
	sum, err := jobs.Run(ctx, spec, &pointSource{r: r}, r.compute)
	if err != nil {
		return Result{}, r.stopped(err, int(sum.Items))
	}
	if r.missing, err = decodeMissing(sum.Totals); err != nil {
		return Result{}, fmt.Errorf("%s: %w", spec.Progress, err)
	}
	rows, err := readTable(spec.Outputs[0])
	if err != nil {
		return Result{}, err
	}
	python, err := readPython(os.DirFS(r.dir))
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", r.dir, err)
	}
	rows = append(rows, python...)
	r.missing = slices.DeleteFunc(r.missing, func(m Missing) bool {
		return slices.ContainsFunc(python, func(row Row) bool { return row.Point == m.Point })
	})
	note, err := r.finish(rows)
	if err != nil {
		return Result{}, err
	}
	return Result{
		ID: r.f.ID, Folder: r.dir, Points: len(r.points), Resumed: int(sum.Resumed), Rows: len(rows), Missing: append([]Missing{}, r.missing...),
		Verdict: note.Verdict, Seconds: time.Since(began).Seconds(),
	}, nil
}

// decodeMissing reads what compute keeps as totals; nil, before the first point, is none.
func decodeMissing(totals []byte) (missing []Missing, err error) {
	if totals != nil {
		err = json.Unmarshal(totals, &missing)
	}
	return missing, err
}

// stopped words an error of jobs.Run. Where nothing is durable it removes what the run made.
func (r *figureRun) stopped(err error, done int) error {
	var stopped *jobs.StoppedError
	if !errors.As(err, &stopped) {
		return err
	}
	if done == 0 {
		if _, there := os.Lstat(filepath.Join(r.dir, progressFile)); errors.Is(there, fs.ErrNotExist) {
			os.Remove(filepath.Join(r.dir, SettingsFile)) // if it stays, the folder is refused or resumed: both are right
			os.Remove(r.dir)
		}
	}
	return fmt.Errorf("%w; %d of %d points are done and kept", stopped.Err, done, len(r.points))
}

func (r *figureRun) progress(done float64) {
	if r.o.Progress != nil {
		r.o.Progress(r.f, done, len(r.points))
	}
}

// pointSource yields the points of a figure. Its first call comes while the folder is locked: then it prepares it.
type pointSource struct {
	r        *figureRun
	at       int
	prepared bool
}

func (s *pointSource) Skip(_ context.Context, points int64) error {
	if points > int64(len(s.r.points)) {
		return fmt.Errorf("%d points are done, and there are %d", points, len(s.r.points))
	}
	s.at = int(points)
	return nil
}

func (s *pointSource) Next(context.Context) (Point, int, error) {
	if !s.prepared {
		if err := s.r.prepareFolder(); err != nil {
			return Point{}, 0, err
		}
		s.prepared = true
	}
	if s.at == len(s.r.points) {
		return Point{}, 0, io.EOF
	}
	s.at++
	return s.r.points[s.at-1], 1, nil
}

// prepareFolder keeps the settings and removes what was made of former rows.
func (r *figureRun) prepareFolder() error {
	for _, name := range []string{NoteFile, DrawingFile, PictureFile} {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return replaceFile(filepath.Join(r.dir, SettingsFile), r.used)
}

// compute is the jobs.Work of a point. The totals are the points left out so far, as JSON.
func (r *figureRun) compute(ctx context.Context, p Point, first int64, totals []byte) ([][]byte, []byte, error) {
	missing, err := decodeMissing(totals)
	if err != nil {
		return nil, nil, err
	}
	rows, err := r.rowsOf(ctx, p, int(first))
	if errors.Is(err, ErrMissing) && ctx.Err() == nil {
		missing, err = append(missing, Missing{p.Key, err.Error()}), nil
	}
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if first == 0 {
		err = WriteHeader(&text)
	}
	err = errors.Join(err, WriteRows(&text, rows))
	totals, marshal := json.Marshal(missing)
	return [][]byte{text.Bytes()}, totals, errors.Join(err, marshal)
}

// rowsOf computes a point, before which so many are done. Its errors name it.
func (r *figureRun) rowsOf(ctx context.Context, p Point, before int) (rows []Row, err error) {
	e := &Env{Seed: r.o.Seed, Threads: r.o.Threads, Folder: r.o.Folder, Out: r.dir, Progress: func(done, total int) {
		r.progress(float64(before) + min(1, float64(done)/float64(max(1, total))))
	}}
	err = guarded(func() (err error) { rows, err = p.Rows(ctx, e); return err })
	if err != nil {
		return nil, fmt.Errorf("point %s: %w", p.Key, err)
	}
	for i := range rows {
		rows[i].Point = p.Key
	}
	return rows, nil
}

// guarded calls do and returns a panic of it as an error.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
