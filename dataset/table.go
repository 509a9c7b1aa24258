package dataset

// Type is the type of the values of a column.
type Type uint8

// The types. JSON is a text that holds one JSON value without newlines.
const (
	Int64 Type = iota
	Uint64
	Int32
	Float32
	Float64
	Bool
	Text
	JSON
	Time // microseconds since 1970, in UTC
)

// String names the type for messages.
func (t Type) String() string {
	return [...]string{"int64", "uint64", "int32", "float32", "float64", "bool", "text", "JSON", "timestamp"}[t]
}

// Column describes one column of a table: a column of Parquet or Arrow, a field of JSON lines, an array of npz.
type Column struct {
	Name string
	Type Type
	// List says that a row has any number of values here.
	List bool
	// Optional says that an empty text, or a number that is missing, is no value, which is null in Parquet.
	Optional bool
	// Nulls says that an empty text is a value all the same, and so is an empty list.
	Nulls bool
	// Digits says that cells of an integer column hold texts, the digits of the integers.
	Digits bool
	// Repeats says that few texts make the column.
	Repeats bool
	// Length is the number of code points of the longest text, for formats that give all the same room.
	Length int
}

// hasTexts reports whether cells of the column hold texts.
func (c *Column) hasTexts() bool { return c.Digits || c.Type == Text }

// value is one value: the column's Type says which of its fields holds it.
type value struct {
	integer int64   // of Int64, Int32 and Time, the bits of Uint64, 0 or 1 of Bool
	float   float64 // of Float32 and Float64
	text    string  // of Text; the digits where the column has Digits
}

// tableCell is the value of one row in one column, or the values of a list.
type tableCell struct {
	value
	missing bool   // JSON lines have no such field in this row; a number that no format has
	digits  bool   // text holds the digits of a number, which JSON has without quotes
	json    []byte // of JSON

	integers []int64   // of lists
	floats   []float32 // of lists of Float32
	doubles  []float64 // of lists of Float64
	texts    []string  // of lists of texts, and of digits
}

// setBool sets the value of a column of Bool.
func (c *tableCell) setBool(b bool) {
	if c.integer = 0; b {
		c.integer = 1
	}
}

// field is a column of what is written, and how the cell of a row is set from a value of T. A cell that is set has
// been set for the row before; what its slices refer to stays unchanged while the row is in use.
type field[T any] struct {
	Column
	set func(c *tableCell, of *T)
}

// table is what codecs write.
type table struct {
	// name is what formats that name a table call it: the root of a Parquet schema.
	name    string
	columns []Column
	// facts are said once for all rows, in this order.
	facts []fact
	// rows and width are the numbers of rows and of the values that a list has at most. Formats of arrays need
	// them, and pad shorter lists to width with no value: -1, 2^64-1, -Inf or the empty text.
	rows, width int64
	// values says that the table is one of WriteValues.
	values bool
	// each calls do with every row, a cell for each column, and returns its first error. Whenever it is called, it
	// passes on the same rows. A row is valid during the call.
	each func(do func(row []tableCell) error) error
}

// tableOf returns the table of what each passes on, a row for each value.
func tableOf[T any](fields []field[T], each func(do func(of *T) error) error) *table {
	t := &table{columns: make([]Column, len(fields))}
	for i := range fields {
		t.columns[i] = fields[i].Column
	}
	t.each = func(do func(row []tableCell) error) error {
		row := make([]tableCell, len(fields))
		return each(func(of *T) error {
			for i := range fields {
				fields[i].set(&row[i], of)
			}
			return do(row)
		})
	}
	return t
}

// fact is what a file says of all its rows, such as the version of answers.
type fact struct {
	name string
	typ  Type // Int64, Text or JSON
	text string
}

// length returns the number of values of a list.
func (c *tableCell) length(of *Column) int {
	switch {
	case of.hasTexts():
		return len(c.texts)
	case of.Type == Float32:
		return len(c.floats)
	case of.Type == Float64:
		return len(c.doubles)
	}
	return len(c.integers)
}

// at returns value i of a list.
func (c *tableCell) at(of *Column, i int) value {
	switch {
	case of.hasTexts():
		return value{text: c.texts[i]}
	case of.Type == Float32:
		return value{float: float64(c.floats[i])}
	case of.Type == Float64:
		return value{float: c.doubles[i]}
	}
	return value{integer: c.integers[i]}
}
