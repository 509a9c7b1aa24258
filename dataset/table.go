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
)

// String names the type for messages.
func (t Type) String() string {
	return [...]string{"int64", "uint64", "int32", "float32", "float64", "bool", "text", "JSON"}[t]
}

// Column describes one column of a table: a column of Parquet or Arrow, a field of JSON lines, an array of npz.
type Column struct {
	Name string
	Type Type
	// List says that a row has any number of values here.
	List bool
	// Optional says that rows may have no value here, which is null in Parquet and no field in JSON lines.
	Optional bool
	// Digits says that cells of an integer column hold texts, the digits of the integers.
	Digits bool
	// Repeats says that few texts make the column.
	Repeats bool
	// Length is the number of code points of the longest text, for formats that give all the same room.
	Length int
}

// cell is the value of one row in one column. Only the fields that the column's type and List say are read; whoever
// fills a row sets them anew for each row, and keeps what slices refer to unchanged while the row is in use.
type cell struct {
	missing bool    // no value; only in Optional columns
	integer int64   // of Int64 and Int32, the bits of Uint64, 0 or 1 of Bool
	float   float64 // of Float32 and Float64
	text    string  // of Text and JSON; the digits where the column has Digits

	integers []int64   // of lists
	floats   []float32 // of lists of Float32
	doubles  []float64 // of lists of Float64
	texts    []string  // of lists of texts, and of digits
}

// setBool sets the value of a column of Bool.
func (c *cell) setBool(b bool) {
	if c.integer = 0; b {
		c.integer = 1
	}
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
	// each calls do with every row, a cell for each column, and returns its first error. Whenever it is called, it
	// passes on the same rows. A row is valid during the call.
	each func(do func(row []cell) error) error
}

// fact is what a file says of all its rows, such as the version of answers.
type fact struct {
	name string
	typ  Type // Int64, Text or JSON
	text string
}
