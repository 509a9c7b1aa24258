package columns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"

	"thresher/dataset"
)

// ReadAs reads the columns of fields as Read does, with the types of fields: texts of CSV, and of JSON lines where times are
// wanted, are read as values of the type, and else As says what becomes of values of another type. A column that the files
// lack is null, and missing names it; c is nil if they lack all. Errors name the file, the column and both types.
func ReadAs(ctx context.Context, paths []string, fields []Field, opt *ReadOptions) (c *Columns, missing []string, err error) {
	there, refused, err := Names(paths, opt)
	if err != nil && !errors.Is(err, dataset.ErrNoValues) {
		return nil, nil, err
	}
	var names []string
	for _, f := range fields {
		if slices.Contains(there, f.Name) || slices.Contains(refused, f.Name) {
			names = append(names, f.Name)
		} else {
			missing = append(missing, f.Name)
		}
	}
	if names == nil {
		return nil, missing, nil
	}
	r, err := readBuilders(ctx, paths, names, opt)
	if err != nil {
		return nil, nil, err
	}
	c = &Columns{rows: r.rows}
	for _, f := range fields {
		i := slices.Index(names, f.Name)
		if i < 0 {
			c.of = append(c.of, Collect([]Field{f}, []*Columns{nil}, make([]Place, r.rows)).of[0])
			continue
		}
		of, err := r.columnAs(r.of[i], f.Type)
		if err != nil {
			e := &dataset.Error{File: paths[0], Row: -1, Column: -1, Err: err.Err}
			if err.row >= 0 {
				file, row := r.place(err.row)
				if e.File = paths[file]; err.ofRow {
					e.Row = int64(row)
				}
			}
			return nil, nil, e
		}
		c.of = append(c.of, of)
	}
	return c, missing, nil
}

// place returns the file that has a row, and its number there.
func (r *columnReading) place(row int) (file, at int) {
	file = sort.Search(len(r.ends)-1, func(i int) bool { return row < r.ends[i] })
	if file > 0 {
		row -= r.ends[file-1]
	}
	return file, row
}

// misfit is the error of a column that cannot be of a type.
type misfit struct {
	Err   error
	row   int  // the first with a value, or the one whose value does not fit; -1 without values
	ofRow bool // it is the one that does not fit
}

// columnAs returns the column of values that were read, of which texts are read as values of a type.
func (r *columnReading) columnAs(b *builder, t Type) (*Column, *misfit) {
	first := -1
	if !b.filled.IsEmpty() {
		first = int(b.filled.Minimum())
	}
	untyped := r.untyped || b.said
	if b.kind != dataset.TextValue || t == TextList || t != Time && t != Text && !untyped {
		of, err := b.column(untyped).as(t)
		if err != nil {
			return nil, &misfit{Err: err, row: first}
		}
		return of, nil
	}
	c := &Column{Name: b.name, Type: t, rows: b.rows, filled: b.filled, comparable: b.filled}
	stray := -1
	switch t {
	case Text:
		b.keepTexts(c)
	case Float, Single:
		var floats []float64
		if floats, stray = parsed(b.texts, floatText); stray < 0 {
			if t == Single {
				for i, x := range floats {
					floats[i] = float64(float32(x))
				}
			}
			c.setFloats(spread(b, floats))
		}
	default:
		parse := map[Type]func(string) (int64, bool){Integer: integerText, Bool: boolText, Time: timeText}[t]
		var integers []int64
		if integers, stray = parsed(b.texts, parse); stray < 0 {
			c.setIntegers(spread(b, integers))
		}
	}
	if stray >= 0 {
		err := &TypeError{Column: b.name, Type: Text, Wanted: t, Err: fmt.Errorf("it is %.40q", b.texts[stray])}
		return nil, &misfit{Err: err, row: int(b.first[stray]), ofRow: true}
	}
	return c, nil
}
