package command

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/plaintext"
)

// matrix holds the win probabilities of --matrix.
type matrix struct {
	names  []string
	place  map[string]int
	chance [][]float64 // [i][j]: i wins against j
}

// matrixSlack is the tolerance of P(i beats j) + P(j beats i) = 1.
const matrixSlack = 1e-9

// readMatrix reads P(row wins against column) for every two arms. The extension selects the
// format.
//
// CSV (.csv): the first line names the columns, after an ignored field; each other line
// starts with the name of its row. Rows may be in any order.
//
//	,a,b
//	a,0.5,0.6
//	b,0.4,0.5
//
// JSON (.json): {"arms":["a","b"],"wins":[[0.5,0.6],[0.4,0.5]]}
//
// Errors name file, row and column.
func readMatrix(path string) (*matrix, error) {
	m, err := parseMatrix(path)
	if err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// parseMatrix reads a number for every two arms in the forms of readMatrix, whatever it means.
func parseMatrix(path string) (*matrix, error) {
	read := readMatrixCSV
	switch filepath.Ext(path) {
	case ".csv":
	case ".json":
		read = readMatrixJSON
	default:
		return nil, fmt.Errorf("%s: name ends in none of .csv, .json", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// newMatrix returns a matrix without probabilities.
func newMatrix(names []string) (*matrix, error) {
	k := len(names)
	if k < 2 || k > duel.MaxArms {
		return nil, fmt.Errorf("%d columns; a tournament has 2 to %d arms", k, duel.MaxArms)
	}
	m := &matrix{place: make(map[string]int, k), chance: make([][]float64, k)}
	for i, name := range names {
		name = strings.TrimSpace(name)
		switch first, ok := m.place[name]; {
		case name == "":
			return nil, fmt.Errorf("column %d has no name", i+1)
		case !utf8.ValidString(name):
			return nil, fmt.Errorf("column %d: %q is not UTF-8", i+1, name)
		case ok:
			return nil, fmt.Errorf("column %d: %q is listed twice; first in column %d", i+1, name, first+1)
		}
		m.place[name] = i
		m.names = append(m.names, name)
	}
	return m, nil
}

func readMatrixCSV(r io.Reader) (*matrix, error) {
	text, err := plaintext.CSV(r)
	if err != nil {
		return nil, err
	}
	lines := csv.NewReader(text)
	lines.FieldsPerRecord = -1
	head, err := lines.Read()
	if err == io.EOF {
		return nil, errors.New("no header line")
	}
	if err != nil {
		return nil, err
	}
	m, err := newMatrix(head[1:])
	if err != nil {
		return nil, fmt.Errorf("line 1, after its first field, %q: %w", head[0], err)
	}
	for {
		line, err := lines.Read()
		if err == io.EOF {
			return m, nil
		}
		if err != nil {
			return nil, err
		}
		number, _ := lines.FieldPos(0)
		if err := m.addRow(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// addRow adds a line of CSV.
func (m *matrix) addRow(line []string) error {
	name := strings.TrimSpace(line[0])
	i, ok := m.place[name]
	switch {
	case !ok:
		return fmt.Errorf("row %q has no column of its name", name)
	case m.chance[i] != nil:
		return fmt.Errorf("row %q is listed twice", name)
	case len(line)-1 != len(m.names):
		return fmt.Errorf("row %q has %d chances for %d columns", name, len(line)-1, len(m.names))
	}
	row := make([]float64, len(m.names))
	for j, field := range line[1:] {
		p, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return fmt.Errorf("row %q, column %q: %q is not a number", name, m.names[j], field)
		}
		row[j] = p
	}
	m.chance[i] = row
	return nil
}

func readMatrixJSON(r io.Reader) (*matrix, error) {
	var file struct {
		Arms []string     `json:"arms"`
		Wins [][]*float64 `json:"wins"`
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf(`%w; a matrix is {"arms":["a","b"],"wins":[[0.5,0.6],[0.4,0.5]]}`, cli.InWords(err, "a matrix"))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("extra data after the matrix")
	}
	m, err := newMatrix(file.Arms)
	if err != nil {
		return nil, err
	}
	if len(file.Wins) > len(m.names) {
		return nil, fmt.Errorf("%d rows for %d columns", len(file.Wins), len(m.names))
	}
	for i, row := range file.Wins {
		if len(row) != len(m.names) {
			return nil, fmt.Errorf("row %q has %d chances for %d columns", m.names[i], len(row), len(m.names))
		}
		m.chance[i] = make([]float64, len(row))
		for j, p := range row {
			if p == nil {
				return nil, fmt.Errorf("row %q, column %q: null is not a number", m.names[i], m.names[j])
			}
			m.chance[i][j] = *p
		}
	}
	return m, nil
}

// check returns an error for the first entry that is not a probability or does not match
// its counterpart.
func (m *matrix) check() error {
	if i := slices.IndexFunc(m.chance, func(row []float64) bool { return row == nil }); i >= 0 {
		return fmt.Errorf("column %q has no row of its name", m.names[i])
	}
	for i, row := range m.chance {
		for j, p := range row {
			if err := checkChance(i, j, p, m.chance[j][i]); err != nil {
				return fmt.Errorf("row %q, column %q: %w", m.names[i], m.names[j], err)
			}
		}
	}
	return nil
}

func checkChance(i, j int, p, back float64) error {
	off := math.Abs(p+back-1) > matrixSlack
	switch {
	case !(p >= 0 && p <= 1):
		return fmt.Errorf("%g is not in [0, 1]", p)
	case i == j && off:
		return fmt.Errorf("%g is not 0.5, the chance of an arm against itself", p)
	case j < i && off:
		return fmt.Errorf("%g, and the reverse %g: together %g, which is not 1 within %g", p, back, p+back, matrixSlack)
	}
	return nil
}

func (m *matrix) arms() ([]string, error) { return m.names, nil }

// jury selects the rows and columns of a tournament's arms.
func (m *matrix) jury(c duel.Config) (jury, error) {
	places := make([]int, len(c.Arms))
	for i, name := range c.Arms {
		place, ok := m.place[name]
		if !ok {
			return nil, fmt.Errorf("--matrix: no row %q", name)
		}
		places[i] = place
	}
	chance := make([][]float64, len(places))
	for i, x := range places {
		for _, y := range places {
			chance[i] = append(chance[i], m.chance[x][y])
		}
	}
	p, err := duel.NewPreferences(chance)
	if err != nil {
		return nil, err
	}
	return &dice{p, c.Arms, c.Seed}, nil
}

// dice decides duels at random, from the seed and the number of the duel.
type dice struct {
	*duel.Preferences
	names []string
	seed  uint64
}

func (x *dice) judge(d duel.Duel) duel.Result {
	u := rand.New(rand.NewPCG(x.seed, d.ID)).Float64()
	return duel.Result{Duel: d.ID, AWon: u < x.At(d.A, d.B)}
}

// describe prints the best arm, and by how much the winner falls short of it.
func (x *dice) describe(w *cli.Table, winner int) {
	best := x.Best()
	if best < 0 {
		w.Row("by the matrix", "no arm wins against every other")
		return
	}
	rival := -1
	for j := range x.names {
		if j != best && (rival < 0 || x.At(best, j) < x.At(best, rival)) {
			rival = j
		}
	}
	w.Row("by the matrix", fmt.Sprintf("%s is best, and wins against every other with %g or more; closest is %s", x.names[best], x.At(best, rival), x.names[rival]))
	if winner != best {
		w.Row("the winner", fmt.Sprintf("loses to %s with %g", x.names[best], x.At(best, winner)))
	}
}
