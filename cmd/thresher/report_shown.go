package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"thresher/columns"
	"thresher/dataset"
	"thresher/tasks"
	"thresher/tasks/report"
)

const (
	maxMisses     = 5       // answers of a file whose neighbours are shown
	maxNeighbours = 5       // of each kind
	maxImage      = 1 << 20 // bytes of an image file
	maxText       = 300     // characters of a text
)

// shownRows are what a reader sees of vectors and queries.
type shownRows struct {
	vectors, queries *columns.Column // of texts; nil without
	folder           string          // that names of images are relative to
	low, high        float64         // of the values of pictures
	run              *reportRun
}

// openShown reads the column of --show.
func (r *reportRun) openShown(ctx context.Context) (*shownRows, error) {
	s := &shownRows{run: r, folder: filepath.Dir(r.atomsIn.paths()[0])}
	if r.flags.pixels != "" {
		s.low, s.high = s.values()
	}
	if r.flags.show == "" {
		return s, nil
	}
	c, err := r.readColumns(ctx, r.atomsIn, []string{r.flags.show}, r.engine.atoms.N)
	if err != nil {
		return nil, fmt.Errorf("--show: %w", err)
	}
	s.vectors = c.All()[0]
	if c, err = columns.Read(ctx, r.queriesIn.paths(), []string{r.flags.show}, r.queriesIn.columnOptions()); err == nil && int64(c.Rows()) == r.total {
		s.queries = c.All()[0]
	} else if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s, nil
}

// values are the least and the greatest value of some vectors, which are black and white.
func (s *shownRows) values() (low, high float64) {
	a := s.run.engine.atoms
	low, high = math.Inf(1), math.Inf(-1)
	memory := make([]float32, a.Dim)
	for i := 0; i < a.N; i += 1 + a.N/1000 {
		for _, x := range a.block.RowIn(memory, i) {
			low, high = min(low, float64(x)), max(high, float64(x))
		}
	}
	return low, high
}

// of returns what is seen of a row of a column, and of the values of its vector.
func (s *shownRows) of(column *columns.Column, row int64, values []float64) (report.Shown, error) {
	var shown report.Shown
	if column != nil {
		shown.Text = textOf(column.Value(int(row)))
		uri, err := s.imageOf(shown.Text)
		if err != nil {
			return shown, err
		}
		if uri != "" {
			shown.Image = uri
		}
		if letters := []rune(shown.Text); len(letters) > maxText {
			shown.Text = string(letters[:maxText]) + " .."
		}
	}
	if s.run.flags.pixels == "" {
		return shown, nil
	}
	var err error
	shown.Image, err = s.picture(values)
	return shown, err
}

// textOf is a value as text; "" if there is none.
func textOf(v dataset.Value) string {
	switch v.Kind {
	case dataset.NullValue:
		return ""
	case dataset.ListValue:
		return strings.Join(v.Texts, ", ")
	case dataset.TextValue:
		return v.Text
	case dataset.BoolValue:
		return strconv.FormatBool(v.Integer != 0)
	case dataset.FloatValue:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case dataset.SingleValue:
		return strconv.FormatFloat(v.Float, 'g', -1, 32)
	case dataset.TimeValue:
		return time.UnixMicro(v.Integer).UTC().Format(time.RFC3339Nano)
	}
	return strconv.FormatInt(v.Integer, 10)
}

// imageOf returns the image that a text names as a data URI; "" if it names none.
func (s *shownRows) imageOf(text string) (string, error) {
	switch strings.ToLower(filepath.Ext(text)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return "", nil
	}
	path := text
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.folder, path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil // a title may end so
	case err != nil:
		return "", fmt.Errorf("--show: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxImage:
		return "", nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--show: %w", err)
	}
	kind := http.DetectContentType(file)
	if !strings.HasPrefix(kind, "image/") {
		return "", nil
	}
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(file), nil
}

// picture draws the values of a vector as a PNG.
func (s *shownRows) picture(values []float64) (string, error) {
	f := s.run.flags
	img := image.NewNRGBA(image.Rect(0, 0, f.width, f.height))
	level := func(at int) uint8 {
		x := (values[at] - s.low) / max(s.high-s.low, math.SmallestNonzeroFloat32)
		return uint8(math.Round(255 * min(1, max(0, x))))
	}
	for y := range f.height {
		for x := range f.width {
			at := (y*f.width + x) * f.depth
			c := color.NRGBA{A: 255, R: level(at)}
			c.G, c.B = c.R, c.R
			if f.depth == 3 {
				c.G, c.B = level(at+1), level(at+2)
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, img); err != nil {
		return "", err
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes()), nil
}

// miss describes an answer that lacks vectors of the k best.
func (r *reportRun) miss(c *tasks.Compared, k int, stated []dataset.Result) (*report.Miss, error) {
	j := 0
	for r.numbers[j] != c.Query {
		j++
	}
	m := &report.Miss{Query: c.Query, Recall: c.Recall, Lacked: []report.Neighbour{}, Instead: []report.Neighbour{}}
	if r.queryIDs != nil {
		m.ID = r.queryIDs[j]
	}
	best := r.found[j].IDs[:min(k, len(r.found[j].IDs))]
	ranks := map[int64]int{}
	for at, row := range best {
		ranks[row] = at + 1
	}
	instead := r.instead(j, best, stated[j].Rows[:min(k, len(stated[j].Rows))])
	var err error
	if m.Shown, err = r.shown.of(r.shown.queries, c.Query, r.queryValues(j)); err != nil {
		return nil, err
	}
	if m.Lacked, err = r.neighbours(j, c.Missed[:min(len(c.Missed), maxNeighbours)], ranks); err != nil {
		return nil, err
	}
	m.Instead, err = r.neighbours(j, instead[:min(len(instead), maxNeighbours)], ranks)
	return m, err
}

// instead are the rows of an answer to query j of those drawn that stand in the place of one of the best: each once, none that
// ties with the last of these, and not the query itself.
func (r *reportRun) instead(j int, best, rows []int64) (worse []int64) {
	c, dim := r.engine.atoms.block, r.engine.atoms.Dim
	seen := map[int64]bool{}
	if r.flags.excludeSelf {
		seen[r.numbers[j]] = true
	}
	for _, row := range best {
		seen[row] = true
	}
	var others []int64
	at := []uint32{uint32(best[len(best)-1])}
	for _, row := range rows {
		if !seen[row] {
			others, at = append(others, row), append(at, uint32(row))
		}
		seen[row] = true
	}
	scores := make([]float64, len(at))
	if c.Float64() {
		c.Scores64(scores, r.req.Queries64[j*dim:(j+1)*dim], at)
	} else {
		c.Scores(scores, r.req.Queries[j*dim:(j+1)*dim], at)
	}
	for i, row := range others {
		if scores[i+1] < scores[0] {
			worse = append(worse, row)
		}
	}
	return worse
}

// neighbours describes rows as neighbours of query j of those drawn.
func (r *reportRun) neighbours(j int, rows []int64, ranks map[int64]int) ([]report.Neighbour, error) {
	all := make([]report.Neighbour, len(rows))
	names := r.engine.atoms.names
	for i, score := range r.scoresOf(j, rows) {
		n := report.Neighbour{ID: strconv.FormatInt(rows[i], 10), Rank: ranks[rows[i]], Score: score}
		if names != nil {
			n.ID = names.Text(rows[i])
		}
		var err error
		if n.Shown, err = r.shown.of(r.shown.vectors, rows[i], r.vectorValues(rows[i])); err != nil {
			return nil, err
		}
		all[i] = n
	}
	return all, nil
}

// vectorValues are the values of a vector as given.
func (r *reportRun) vectorValues(row int64) []float64 { return r.engine.atoms.block.Given(int(row)) }

// queryValues are the values of query j of those drawn as given.
func (r *reportRun) queryValues(j int) []float64 {
	a, dim := r.engine.atoms, r.engine.atoms.Dim
	values := make([]float64, dim)
	if a.Float64() {
		copy(values, r.req.Queries64[j*dim:(j+1)*dim])
	}
	for i := range values {
		if r.req.Queries != nil {
			values[i] = float64(r.req.Queries[j*dim+i])
		}
		if a.Origin != nil && !a.Float64() {
			values[i] += a.Origin[i]
		}
	}
	return values
}
