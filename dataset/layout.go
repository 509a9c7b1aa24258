package dataset

// idName is the column or field that Options.FindIDs uses for ids.
const idName = "id"

// Layout says how a Reader uses the columns, fields or arrays of its file.
type Layout struct {
	// IDs is the source of the ids, "" if there are none: Options.IDs, or what FindIDs found.
	IDs string
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
