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
	named := c.named(record)
	err := named.pick(opt)
	if opt.Column == "" {
		if err = c.survey(record, opt, named); err == nil {
			err = named.choose(opt)
		}
	}
	c.vector, c.list, c.id = named.vector, named.list, named.id
	return err
}

// named returns the columns of the file, of which nothing is chosen yet.
func (c *csvRows) named(record []string) *coordinateColumns {
	return &coordinateColumns{
		file: c.name, names: c.columns, id: c.id,
		isList: func(i int) bool { return isArray(record[i]) },
		none: func() error {
			return c.place(errors.New("no column of the first row is a number, or an array of numbers"), -1)
		},
		gap: func(i int, word string) error {
			return c.place(fmt.Errorf("%s has no value: it may be a coordinate or not; %s names those that make the vector", c.columns[i], word), -1)
		},
	}
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

// survey sorts the columns of the first row.
func (c *csvRows) survey(record []string, opt Options, found *coordinateColumns) error {
	for i, field := range record {
		switch {
		case i == c.id || slices.Contains(opt.Except, c.columns[i]):
		case c.columns[i] == "" && len(record) > 1:
			if err := c.unnamed(i, field); err != nil {
				return err
			}
		case isArray(field):
			found.lists = append(found.lists, i)
		case isGap(field):
			found.gaps = append(found.gaps, i)
		case isNumber(field):
			found.numbers = append(found.numbers, i)
		case isDecimalComma(field):
			return c.place(fmt.Errorf("%s: %w", c.columns[i], decimalComma(field)), -1)
		}
	}
	return nil
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
