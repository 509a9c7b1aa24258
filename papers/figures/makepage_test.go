package figures

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"thresher/internal/plot"
)

// Texts of the page that no run makes.
var (
	//go:embed page/intro.md
	pageIntro string
	//go:embed page/traps.md
	pageTraps string
	//go:embed page/end.md
	pageEnd string
)

// maxDrawing is the size in bytes above which the page shows a picture of pixels in place of a drawing, if that is smaller.
const maxDrawing = 60 << 10

// makePage makes the page about all figures from the folder of their results: results/ID/points.csv and settings.yaml, as Run
// leaves them. It returns the page, whose links begin with the base name of results, and its pictures by their names within results.
// A figure without results has a row that says so; it is an error if one was computed with other settings than it has now.
func makePage(results fs.FS, base string) (page []byte, pictures map[string][]byte, err error) {
	var sections []*section
	for _, f := range All() {
		s, err := newSection(results, f)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.ID, err)
		}
		sections = append(sections, s)
	}
	var b bytes.Buffer
	b.WriteString(pageIntro + "\n")
	writeOverview(&b, sections)
	b.WriteString("\n" + pageTraps)
	pictures = map[string][]byte{}
	for _, s := range sections {
		if s.picture != nil {
			pictures[s.pictureName()] = s.picture
		}
		if s.rows != nil {
			s.write(&b, base)
		}
	}
	b.WriteString("\n" + pageEnd)
	return b.Bytes(), pictures, nil
}

// section is what the page says of a figure.
type section struct {
	f       *Figure
	size    Size
	seed    uint64
	rows    []Row
	points  int // of the figure at this size
	missing int // of them, without rows
	note    Note
	picture []byte // nil: none
	pixels  bool   // the picture is a PNG
}

func newSection(results fs.FS, f *Figure) (*section, error) {
	s := &section{f: f}
	if _, err := fs.Stat(results, f.ID); errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	settings, err := s.readSettings(results)
	if err != nil {
		return nil, err
	}
	name := path.Join(f.ID, TableFile)
	table, err := results.Open(name)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	if s.rows, err = ReadRows(table, name); err != nil {
		return nil, err
	}
	folder, err := fs.Sub(results, f.ID)
	if err != nil {
		return nil, err
	}
	python, err := readPython(folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.ID, err)
	}
	if s.rows = append(s.rows, python...); len(s.rows) == 0 {
		return nil, fmt.Errorf("%s has no rows", name)
	}
	points, err := f.points(settings)
	if err != nil {
		return nil, err
	}
	s.points = len(points)
	for _, p := range points {
		if !slices.ContainsFunc(s.rows, func(r Row) bool { return r.Point == p.Key }) {
			s.missing++
		}
	}
	d, err := describeRows(f, settings, s.rows)
	if err != nil {
		return nil, err
	}
	s.note = d.note
	return s, s.draw(d.charts)
}

// readSettings reads size and seed of the results, and checks that they are of the settings that the figure has.
func (s *section) readSettings(results fs.FS) (*Settings, error) {
	name := path.Join(s.f.ID, SettingsFile)
	text, err := fs.ReadFile(results, name)
	if err != nil {
		return nil, err
	}
	var head struct {
		Size     Size      `yaml:"size"`
		Seed     uint64    `yaml:"seed"`
		Settings yaml.Node `yaml:"settings"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.size, s.seed = head.Size, head.Seed
	settings, err := ReadSettings(s.f.ID, s.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	now, err := describeSettings(settings, s.seed)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(text, now) {
		return nil, fmt.Errorf("%s: was computed with %s", name, difference(string(text), string(now)))
	}
	return settings, nil
}

// draw draws the charts, as a drawing unless it is large.
func (s *section) draw(charts []plot.Chart) (err error) {
	if len(charts) == 0 {
		return nil
	}
	if s.picture, err = plot.Encode(DrawingFile, charts...); err != nil || len(s.picture) <= maxDrawing {
		return err
	}
	pixels, err := plot.Encode(PictureFile, charts...)
	if err == nil && len(pixels) < len(s.picture) {
		s.picture, s.pixels = pixels, true
	}
	return err
}

func (s *section) pictureName() string {
	if s.pixels {
		return path.Join(s.f.ID, PictureFile)
	}
	return path.Join(s.f.ID, DrawingFile)
}

// heading is the heading of a section, which is also the name by which it is linked to.
func (s *section) heading() string { return s.f.ID }

func writeOverview(b *bytes.Buffer, sections []*section) {
	counts := map[Verdict]int{}
	for _, s := range sections {
		counts[s.note.Verdict]++ // "" without results
	}
	fmt.Fprintf(b, "Of %d figures and tables %d are reproduced, %d in kind, %d not.\n\n", len(sections), counts[Reproduced], counts[InKind], counts[Not])
	b.WriteString("| id | of | run | verdict | ours | theirs | why |\n|---|---|---|---|---|---|---|\n")
	for _, s := range sections {
		if s.rows == nil {
			writeCells(b, []string{s.f.ID, s.f.Paper + ", " + s.f.Shows, "-", "-", "-", "-", "No results are here yet."})
			continue
		}
		cells := []string{
			fmt.Sprintf("[%s](#%s)", s.f.ID, s.heading()), s.f.Paper + ", " + s.f.Shows, string(s.size), string(s.note.Verdict), orNone(s.note.Ours), orNone(s.note.Theirs), s.note.Why,
		}
		writeCells(b, cells)
	}
}

func writeCells(b *bytes.Buffer, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + strings.NewReplacer("|", "\\|", "\n", " ").Replace(c) + " ")
	}
	b.WriteString("|\n")
}

func (s *section) write(b *bytes.Buffer, base string) {
	f := s.f
	fmt.Fprintf(b, "\n## %s\n**%s.** %s, %s; data: %s. [Settings](../papers/figures/settings/%s.yaml), [table](%s).", s.heading(), f.Title, f.Paper, f.Shows,
		strings.Join(f.Data, ", "), f.ID, path.Join(base, f.ID, TableFile))
	command := "thresher paper run " + f.ID + " --out out"
	if s.size != Full {
		command += " --" + string(s.size)
	}
	if len(f.Needs) > 0 {
		command += " --data FOLDER"
	}
	fmt.Fprintf(b, " `%s --seed %d`\n\n%s %s %s\n", command, s.seed, s.note.Says, s.note.Seen, s.note.Why)
	if f.Lost != "" {
		fmt.Fprintf(b, "\nLost: %s\n", f.Lost)
	}
	if s.missing > 0 {
		fmt.Fprintf(b, "\n%d of %d points were left out: their data or programs were not there.\n", s.missing, s.points)
	}
	if s.picture != nil {
		fmt.Fprintf(b, "\n![%s](%s)\n", f.Title, path.Join(base, s.pictureName()))
	} else {
		b.WriteString("\n")
		writeRows(b, s.rows)
	}
}

// maxTableRows is the greatest number of rows of a figure without a picture that the page shows.
const maxTableRows = 40

// writeRows writes rows as a table of the columns in which one is neither empty nor 0.
func writeRows(b *bytes.Buffer, rows []Row) {
	shown := rows[:min(len(rows), maxTableRows)]
	var used []int
	for c := range names() {
		if slices.ContainsFunc(shown, func(r Row) bool { text := r.columns()[c].text(); return text != "" && text != "0" }) && names()[c] != "point" {
			used = append(used, c)
		}
	}
	var head, line []string
	for _, c := range used {
		head, line = append(head, strings.ReplaceAll(names()[c], "_", " ")), append(line, "---")
	}
	writeCells(b, head)
	b.WriteString("|" + strings.Join(line, "|") + "|\n")
	for i := range shown {
		var cells []string
		for _, c := range used {
			cells = append(cells, shown[i].columns()[c].brief())
		}
		writeCells(b, cells)
	}
	if len(shown) < len(rows) {
		fmt.Fprintf(b, "\nThe first %d of %d rows.\n", len(shown), len(rows))
	}
}

// brief is the text of a column with four digits.
func (c column) brief() string {
	switch v := c.at.(type) {
	case *float64:
		return strconv.FormatFloat(*v, 'g', 4, 64)
	case *time.Duration:
		return v.Round(*v/1000 + 1).String()
	}
	return c.text()
}
