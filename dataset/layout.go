package dataset

// idName is the column or field that Options.FindIDs takes for ids.
const idName = "id"

// Layout says what a Reader makes of the columns, fields or arrays of its file.
type Layout struct {
	// IDs is what the ids are read from, "" for nothing: Options.IDs, or what FindIDs
	// found.
	IDs string
	// Dropped are those that nothing is read from.
	Dropped []string
}

// LayoutOf is the layout of a file with columns, fields or arrays, else nothing. For
// JSONL it is that of the first line.
func LayoutOf(r Reader) Layout {
	if l, ok := r.(interface{ layout() Layout }); ok {
		return l.layout()
	}
	return Layout{}
}

// without are names less the vector's and the ids'.
func without(names []string, vector, ids string) []string {
	var rest []string
	for _, name := range names {
		if name != vector && (name != ids || ids == "") {
			rest = append(rest, name)
		}
	}
	return rest
}
