package dataset

import "io"

// Member is a row of vectors and the connected component of the graph of pairs that it is in.
type Member struct {
	Side      string // "a" or "b": which of two tables the row is of; "" if there is one
	Row       int64  // 0-based
	Name      string // its id, if the rows have ids
	Component int64  // the number of the component: its least row
	Size      int64  // rows of the component
	Label     int32  // rank of the component among all, by their numbers, 0-based
	Keep      bool   // the row is the component's first, the one to keep of duplicates
}

// ComponentTable describes the members of a file.
type ComponentTable struct {
	Rows  int64
	Sides bool // Side is written
	Named bool // Name is written
}

// EachMember calls do with every member and returns its first error. Whenever it is called, it
// calls do with the same members in the same order. The member is valid during the call.
type EachMember func(do func(m *Member) error) error

// WriteComponents writes components as a table with a row for each member:
//
//	Parquet  row int64, component int64, size int64, keep boolean; side and id string if wanted
//	CSV      the same columns, with a header
//	JSONL    {"row":3,"component":1,"size":2,"keep":false}
//	NPY      the labels, int32 [Rows], as scipy.sparse.csgraph.connected_components returns them
//	NPZ      labels int32, component int64, size int64 and keep bool, each [Rows]
func WriteComponents(out io.Writer, format Format, each EachMember, t *ComponentTable) error {
	members := tableOf(t.fields(format), each)
	members.name, members.rows = t.schema(), t.Rows
	return writeTable(out, format, "components", members)
}

// fields are the columns that a format has.
func (t *ComponentTable) fields(format Format) []field[Member] {
	labels := field[Member]{Column{Name: "labels", Type: Int32}, func(c *tableCell, m *Member) { c.integer = int64(m.Label) }}
	numbers := []field[Member]{
		{Column{Name: "component"}, func(c *tableCell, m *Member) { c.integer = m.Component }},
		{Column{Name: "size"}, func(c *tableCell, m *Member) { c.integer = m.Size }},
		{Column{Name: "keep", Type: Bool}, func(c *tableCell, m *Member) { c.setBool(m.Keep) }},
	}
	switch format {
	case NPY:
		return []field[Member]{labels}
	case NPZ:
		return append([]field[Member]{labels}, numbers...)
	}
	var fields []field[Member]
	if t.Sides {
		fields = append(fields, field[Member]{Column{Name: "side", Type: Text, Repeats: true}, func(c *tableCell, m *Member) { c.text = m.Side }})
	}
	if t.Named || t.Sides && format == Parquet { // where it is null throughout without names
		fields = append(fields, field[Member]{Column{Name: "id", Type: Text, Optional: true}, func(c *tableCell, m *Member) { c.text = m.Name }})
	}
	fields = append(fields, field[Member]{Column{Name: "row"}, func(c *tableCell, m *Member) { c.integer = m.Row }})
	return append(fields, numbers...)
}

// schema is the root of the table's Parquet schema.
func (t *ComponentTable) schema() string {
	switch {
	case t.Sides:
		return "sidedMember"
	case t.Named:
		return "namedMember"
	}
	return "parquetMember"
}
