package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// choose finds the columns of the vector and of the ids from the first row.
func (c *csvRows) choose(record []string, opt Options) error {
	if c.columns == nil {
		return c.chooseUnnamed(record, opt)
	}
	if len(record) != len(c.columns) {
		return c.place(fmt.Errorf("row has %d fields, the header %d", len(record), len(c.columns)), -1)
	}
	if err := c.chooseIDs(opt); err != nil {
		return err
	}
	if opt.Column != "" {
		return c.pick(record, opt)
	}
	found, err := c.survey(record, opt)
	if err != nil {
		return err
	}
	switch {
	case len(found.lists) > 1:
		return fail(c.name, "several columns could be the vectors, %s names one: %s", opt.words().Column, listed(namesAt(c.columns, found.lists)))
	case len(found.lists) == 1:
		c.vector, c.list = found.lists, true
		return nil
	}
	if vector := c.columnsOf(opt.Like); vector != nil {
		c.vector = vector
		return nil
	}
	if len(found.numbers) == 0 && len(found.gaps) == 0 {
		return c.place(errors.New("no column of the first row is a number, or an array of numbers"), -1)
	}
	return c.chooseWide(found, opt)
}

// chooseUnnamed takes all fields of a file without a header.
func (c *csvRows) chooseUnnamed(record []string, opt Options) error {
	if opt.IDs != "" || opt.Column != "" {
		return fail(c.name, "column %q: the file has no header that names columns", cmp.Or(opt.Column, opt.IDs))
	}
	lists := 0
	for i, field := range record {
		if isArray(field) {
			lists++
		}
		c.vector = append(c.vector, i)
	}
	if lists > 0 && len(record) > 1 {
		return c.place(fmt.Errorf("%d fields, of which %d are arrays, and no header: a header names them, and %s the vector", len(record), lists, opt.words().Column), -1)
	}
	c.list = lists > 0
	return nil
}

func (c *csvRows) chooseIDs(opt Options) error {
	name := opt.IDs
	if name == "" && opt.FindIDs {
		name = idName
	}
	if name == "" {
		return nil
	}
	c.id = slices.Index(c.columns, name)
	if c.id < 0 && opt.IDs != "" {
		return fail(c.name, "no column %q for the ids; the file has %s", opt.IDs, listed(slices.Clone(c.columns)))
	}
	if err := oneOf(c.columns, name); c.id >= 0 && err != nil {
		return fail(c.name, "ids: %w", err)
	}
	return nil
}

// pick takes the columns that the user names.
func (c *csvRows) pick(record []string, opt Options) error {
	vector, ordered, err := pickColumns(c.columns, opt.Column)
	if err != nil {
		return fail(c.name, "%w", err)
	}
	if c.vector = vector; len(vector) == 1 && isArray(record[vector[0]]) {
		c.list = true
		return nil
	}
	switch {
	case !slices.Contains(vector, c.id):
	case !ordered:
		c.vector = slices.DeleteFunc(vector, func(i int) bool { return i == c.id })
	case opt.IDs != "":
		return fail(c.name, "column %q is named as the ids and as a coordinate", opt.IDs)
	default: // a column called id is a coordinate if the user says so
		c.id = -1
	}
	if !ordered {
		if same, err := alike(c.columns, c.vector, opt.Like, ""); err == nil {
			c.vector = same
		}
	}
	return nil
}

// csvFields are the columns of the first row by what stands there.
type csvFields struct{ lists, numbers, gaps []int }

// survey sorts the columns of the first row.
func (c *csvRows) survey(record []string, opt Options) (found csvFields, err error) {
	for i, field := range record {
		switch {
		case i == c.id || slices.Contains(opt.Except, c.columns[i]):
		case c.columns[i] == "" && len(record) > 1:
			if err := c.unnamed(i, field); err != nil {
				return found, err
			}
		case isArray(field):
			found.lists = append(found.lists, i)
		case isGap(field):
			found.gaps = append(found.gaps, i)
		case isNumber(field):
			found.numbers = append(found.numbers, i)
		case isDecimalComma(field):
			return found, c.place(fmt.Errorf("%s: %w", c.columns[i], decimalComma(field)), -1)
		}
	}
	return found, nil
}

// unnamed accepts a column without a name that holds the numbers of rows, as pandas and R write
// them in front, or nothing, as a separator at the end of lines makes.
func (c *csvRows) unnamed(i int, field string) error {
	if isGap(field) {
		c.blank = append(c.blank, i)
		return nil
	}
	if _, err := strconv.Atoi(field); i == 0 && (err == nil || !isNumber(field)) {
		return nil
	}
	return c.place(fmt.Errorf("column %d (0-based) has no name and holds %.40q: it may be a coordinate or not; give it a name", i, field), -1)
}

// columnsOf returns the columns of these names, in their order, or nil if one is missing.
func (c *csvRows) columnsOf(names []string) (at []int) {
	for _, name := range names {
		i := slices.Index(c.columns, name)
		if i < 0 || i == c.id || oneOf(c.columns, name) != nil {
			return nil
		}
		at = append(at, i)
	}
	return at
}

// chooseWide takes columns of numbers as coordinates.
func (c *csvRows) chooseWide(found csvFields, opt Options) error {
	word := opt.words().Column
	numbers := slices.Sorted(slices.Values(slices.Concat(found.numbers, numberedAt(c.columns, found.gaps))))
	if len(numbers) == 0 {
		numbers = found.gaps
	}
	vector, err := wideColumns(c.columns, numbers, word)
	if err != nil {
		return fail(c.name, "%w", err)
	}
	if err := twice(c.columns, vector); err != nil {
		return fail(c.name, "%w", err)
	}
	for _, i := range found.gaps {
		if _, numbered := family(c.columns[vector[0]]); numbered || slices.Contains(vector, i) {
			continue // row 0 reports a gap among numbered columns, and others are no coordinates
		}
		return c.place(fmt.Errorf("%s has no value: it may be a coordinate or not; %s names those that make the vector", c.columns[i], word), -1)
	}
	if c.vector, err = alike(c.columns, vector, opt.Like, word); err != nil {
		return fail(c.name, "%w", err)
	}
	return nil
}

// numberedAt returns the columns whose names are numbered.
func numberedAt(names []string, at []int) (found []int) {
	for _, i := range at {
		if _, numbered := family(names[i]); numbered {
			found = append(found, i)
		}
	}
	return found
}
