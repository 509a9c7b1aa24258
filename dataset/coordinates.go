package dataset

import "slices"

// coordinateColumns are the columns of a file that names them, from which those of the vectors are chosen: by the same rule in
// comma-separated values, where the first row says what a column holds, and in tables, where its type does.
type coordinateColumns struct {
	file  string
	names []string
	id    int // column of the ids, which is no coordinate, or -1

	// What columns hold that have no other use. A gap is a column that may be one of numbers, and holds no value.
	lists, numbers, gaps []int
	isList               func(i int) bool // whether a column holds a list of numbers a row
	none                 func() error     // the error of a file without numbers and lists
	gap                  func(i int, word string) error

	// What was chosen: columns with a coordinate each, or the one that holds lists.
	vector []int
	list   bool
}

// pick takes the columns that the user names. A column called id is a coordinate then, if the user does not say that it holds the ids.
func (c *coordinateColumns) pick(opt Options) error {
	if opt.Column == "" {
		return nil
	}
	vector, ordered, err := pickColumns(c.names, opt.Column)
	if err != nil {
		return fail(c.file, "%w", err)
	}
	if c.vector = vector; len(vector) == 1 && c.isList(vector[0]) {
		c.list = true
		return nil
	}
	switch {
	case !slices.Contains(vector, c.id):
	case !ordered:
		c.vector = slices.DeleteFunc(vector, func(i int) bool { return i == c.id })
	case opt.IDs != "":
		return fail(c.file, "column %q is named as the ids and as a coordinate", opt.IDs)
	default:
		c.id = -1
	}
	if !ordered {
		if same, err := alike(c.names, c.vector, opt.Like, ""); err == nil {
			c.vector = same
		}
	}
	return nil
}

// choose takes the only list, or the columns of numbers, if there is one reading.
func (c *coordinateColumns) choose(opt Options) error {
	switch {
	case len(c.lists) > 1:
		return located(c.file, -1, severalFound("columns", namesAt(c.names, c.lists), opt.words().Column))
	case len(c.lists) == 1:
		c.vector, c.list = c.lists, true
		return nil
	}
	if vector := c.called(opt.Like); vector != nil {
		c.vector = vector
		return nil
	}
	if len(c.numbers) == 0 && len(c.gaps) == 0 {
		return c.none()
	}
	return c.chooseWide(opt)
}

// called returns the columns of these names, in their order, or nil if one is missing.
func (c *coordinateColumns) called(names []string) (at []int) {
	for _, name := range names {
		i := slices.Index(c.names, name)
		if i < 0 || i == c.id || oneOf(c.names, name) != nil {
			return nil
		}
		at = append(at, i)
	}
	return at
}

// chooseWide takes columns of numbers as coordinates.
func (c *coordinateColumns) chooseWide(opt Options) error {
	word := opt.words().Column
	numbers := slices.Sorted(slices.Values(slices.Concat(c.numbers, numberedAt(c.names, c.gaps))))
	if len(numbers) == 0 {
		numbers = c.gaps
	}
	vector, err := wideColumns(c.names, numbers, word)
	if err != nil {
		return fail(c.file, "%w", err)
	}
	if err := twice(c.names, vector); err != nil {
		return fail(c.file, "%w", err)
	}
	for _, i := range c.gaps {
		if _, numbered := family(c.names[vector[0]]); numbered || slices.Contains(vector, i) {
			continue // row 0 reports a gap among numbered columns, and others are no coordinates
		}
		return c.gap(i, word)
	}
	if c.vector, err = alike(c.names, vector, opt.Like, word); err != nil {
		return fail(c.file, "%w", err)
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
