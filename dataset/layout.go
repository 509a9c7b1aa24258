package dataset

// idName is the column or field that Options.FindIDs uses for ids.
const idName = "id"

// Layout says how a Reader uses the columns, fields or arrays of its file.
type Layout struct {
	// IDs is the source of the ids, "" if there are none: Options.IDs, or what FindIDs found.
	IDs string
	// Vector are the columns that make the vector, in the order of its coordinates, or the one
	// column, field or array that holds it. It is nil for a file without names.
	Vector []string
	// Wide says that each coordinate is a column of its own, of a name that can be compared with
	// those of other files (Options.Like).
	Wide bool
	// Header is HeaderYes or HeaderNo for CSV: whether the first line names the columns.
	Header string
	// Sparse says that the file holds a sparse matrix, which is written out densely.
	Sparse bool
	// Dropped are the columns, fields or arrays that are not used.
	Dropped []string
}

// LayoutOf returns the layout of a file with columns, fields or arrays, otherwise the zero
// Layout. For JSONL it is that of the first line.
func LayoutOf(r Reader) Layout {
	if l, ok := r.(interface{ layout() Layout }); ok {
		return l.layout()
	}
	return Layout{}
}

// Coordinates are the names of the coordinates, one each, nil if they have none.
func (l Layout) Coordinates() []string {
	if !l.Wide {
		return nil
	}
	return l.Vector
}

// String says for people which columns make the vector, "" for a file without names.
func (l Layout) String() string {
	switch {
	case l.Header == HeaderNo:
		return "all fields of a line, there is no header"
	case l.Vector == nil:
		return ""
	}
	text := Ranges(l.Vector)
	if l.Sparse {
		text += ", a sparse matrix written out"
	}
	return text
}

// without returns names except the vector's and the ids'.
func without(names []string, vector, ids string) []string {
	var rest []string
	for _, name := range names {
		if name != vector && (name != ids || ids == "") {
			rest = append(rest, name)
		}
	}
	return rest
}
