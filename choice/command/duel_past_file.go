package command

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"thresher/choice/duel"
	"thresher/internal/cli"
	"thresher/internal/plaintext"
)

const (
	maxArmName  = 1024    // bytes
	maxPastLine = 1 << 20 // bytes of a line of JSON
)

// pastColumns are the names of columns of past comparisons, of which the first that a file
// has is read: two arms, the winner, and optionally the judge.
var pastColumns = [4][]string{
	{"a", "arm_a", "model_a", "first", "left"},
	{"b", "arm_b", "model_b", "second", "right"},
	{"winner", "result", "preferred"},
	{"judge", "annotator", "rater"},
}

// pastRow is a comparison: arms a and b; better is 1, -1 or 0 as in duel.Past.
type pastRow struct {
	a, b, better int
	judge        string
}

// pastFile holds past comparisons and the names of arms in the order of their first rows.
type pastFile struct {
	names []string
	place map[string]int
	rows  []pastRow
}

// readPast reads a .csv with a header, or a .jsonl of objects with the same names. Other
// columns are ignored. Errors name file, line and column.
func readPast(path string) (*pastFile, error) {
	x := &pastFile{place: map[string]int{}}
	read := x.readCSV
	switch filepath.Ext(path) {
	case ".csv":
	case ".jsonl":
		read = x.readJSON
	default:
		return nil, fmt.Errorf("%s: name ends in none of .csv, .jsonl", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := read(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(x.names) < 2 {
		return nil, fmt.Errorf("%s: no comparison", path)
	}
	return x, nil
}

// choosePast returns the column of each kind that a file has, "" if it has no judges.
func choosePast(has func(string) bool) (columns [4]string, err error) {
	for i, names := range pastColumns {
		if n := slices.IndexFunc(names, has); n >= 0 {
			columns[i] = names[n]
		} else if i < 3 {
			return columns, fmt.Errorf("no column of %s", strings.Join(names, ", "))
		}
	}
	return columns, nil
}

func (x *pastFile) readCSV(r io.Reader) error {
	text, err := plaintext.CSV(r)
	if err != nil {
		return err
	}
	lines := csv.NewReader(text)
	head, err := lines.Read()
	if err == io.EOF {
		return errors.New("no header line")
	}
	if err != nil {
		return err
	}
	place := map[string]int{}
	for i, name := range head {
		name = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")))
		if _, ok := place[name]; ok && name != "" {
			return fmt.Errorf("line 1: column %q is there twice", name)
		}
		place[name] = i
	}
	columns, err := choosePast(func(name string) bool { _, ok := place[name]; return ok })
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	for {
		line, err := lines.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err // names its line
		}
		var cells [4]string
		for i, name := range columns {
			if name != "" {
				cells[i] = line[place[name]]
			}
		}
		if err := x.add(columns, cells); err != nil {
			number, _ := lines.FieldPos(0)
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func (x *pastFile) readJSON(r io.Reader) error {
	text, err := plaintext.JSON(r)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(text)
	s.Buffer(nil, maxPastLine)
	number := 0
	for s.Scan() {
		number++
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		if err := x.addLine(s.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("line %d: %w; a line has at most %d bytes", number+1, err, maxPastLine)
	}
	return nil
}

func (x *pastFile) addLine(line []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return fmt.Errorf(`%w; a comparison is {"a":"x","b":"y","winner":"x"}`, cli.InWords(err, "a comparison"))
	}
	columns, err := choosePast(func(name string) bool { _, ok := object[name]; return ok })
	if err != nil {
		return err
	}
	var cells [4]string
	for i, name := range columns {
		if name == "" {
			continue
		}
		if err := json.Unmarshal(object[name], &cells[i]); err != nil {
			return fmt.Errorf("column %s: %w", name, cli.InWords(err, name))
		}
	}
	return x.add(columns, cells)
}

// bothBad is a tie in the votes of Chatbot Arena.
const bothBad = "tie (bothbad)"

// add adds a row: the winner is the name of one of its arms, or of one of its columns, or tie.
func (x *pastFile) add(columns, cells [4]string) error {
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	row := pastRow{judge: cells[3]}
	if err := checkJudgeName(row.judge); err != nil {
		return fmt.Errorf("column %s: %w", columns[3], err)
	}
	switch winner := cells[2]; {
	case cells[0] == cells[1]:
		return fmt.Errorf("columns %s and %s are both %.40q", columns[0], columns[1], cells[0])
	case winner == cells[0]:
		row.better = 1
	case winner == cells[1]:
		row.better = -1
	case strings.EqualFold(winner, columns[0]) || strings.EqualFold(winner, "a"):
		row.better = 1
	case strings.EqualFold(winner, columns[1]) || strings.EqualFold(winner, "b"):
		row.better = -1
	case !strings.EqualFold(winner, tie) && !strings.EqualFold(winner, bothBad):
		return fmt.Errorf("column %s: %.40q is none of %.40q, %.40q, %s, %s, tie", columns[2], winner, cells[0], cells[1], columns[0], columns[1])
	}
	for i, to := range []*int{&row.a, &row.b} {
		name := cells[i]
		at, ok := x.place[name]
		switch {
		case name == "":
			return fmt.Errorf("column %s is empty", columns[i])
		case len(name) > maxArmName || !utf8.ValidString(name):
			return fmt.Errorf("column %s: %.40q; a name has at most %d bytes of UTF-8", columns[i], name, maxArmName)
		case !ok && len(x.names) == duel.MaxArms:
			return fmt.Errorf("column %s: %.40q is one arm more than %d, the most", columns[i], name, duel.MaxArms)
		case !ok:
			at = len(x.names)
			x.place[name] = at
			x.names = append(x.names, name)
		}
		*to = at
	}
	x.rows = append(x.rows, row)
	return nil
}
