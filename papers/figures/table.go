package figures

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

// column is a field of a row as a table has it. at points to a string, an int, a float64 or a time.Duration, which is written
// in nanoseconds.
type column struct {
	name string
	at   any
}

func (r *Row) columns() []column {
	return []column{
		{"point", &r.Point}, {"panel", &r.Panel}, {"algorithm", &r.Algorithm}, {"variant", &r.Variant}, {"data", &r.Data},
		{"n", &r.N}, {"d", &r.D}, {"k", &r.K}, {"setting", &r.Setting},
		{"x", &r.X}, {"y", &r.Y}, {"y_sd", &r.YSD}, {"draw", &r.Draw}, {"draws", &r.Draws}, {"gap", &r.Gap},
		{"answers", &r.Answers}, {"wrong", &r.Wrong}, {"precision", &r.Precision},
		{"multiplications", &r.Multiplications}, {"multiplications_sd", &r.MultiplicationsSD},
		{"preprocessing", &r.Preprocessing}, {"comparisons", &r.Comparisons},
		{"wall_ns", &r.Wall}, {"build_wall_ns", &r.BuildWall},
	}
}

func (c column) text() string {
	switch v := c.at.(type) {
	case *string:
		return *v
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10)
	}
	panic(fmt.Sprintf("column %s is a %T", c.name, c.at))
}

func (c column) set(text string) (err error) {
	switch v := c.at.(type) {
	case *string:
		*v = text
	case *int:
		*v, err = strconv.Atoi(text)
	case *float64:
		*v, err = strconv.ParseFloat(text, 64)
	case *time.Duration:
		var ns int64
		ns, err = strconv.ParseInt(text, 10, 64)
		*v = time.Duration(ns)
	default:
		panic(fmt.Sprintf("column %s is a %T", c.name, c.at))
	}
	return err
}

// names are the columns of a table, in order.
func names() []string {
	var all []string
	for _, c := range new(Row).columns() {
		all = append(all, c.name)
	}
	return all
}

// WriteRows writes rows as CSV, without the line of names that WriteHeader writes. Numbers have their shortest form that is read as the same.
func WriteRows(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	for i := range rows {
		var line []string
		for _, c := range rows[i].columns() {
			line = append(line, c.text())
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteHeader writes the line of names.
func WriteHeader(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(names()); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// ReadRows reads a table that WriteHeader and WriteRows wrote; name is that of the file, for errors, which name line and column.
func ReadRows(r io.Reader, name string) ([]Row, error) {
	in := csv.NewReader(r)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if want := names(); !slices.Equal(header, want) {
		return nil, fmt.Errorf("%s: columns %q, want %q", name, header, want)
	}
	var rows []Row
	for {
		line, err := in.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var row Row
		for i, c := range row.columns() {
			if err := c.set(line[i]); err != nil {
				at, _ := in.FieldPos(i)
				return nil, fmt.Errorf("%s: line %d, %s: %w", name, at, c.name, err)
			}
		}
		rows = append(rows, row)
	}
}
