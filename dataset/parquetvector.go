package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// namedLeaf returns the list column of exactly this name or path, nil if the name is that of no column of several values a row.
func (p *parquetFile) namedLeaf(name string) (*parquetLeaf, error) {
	if name == "" {
		return nil, nil
	}
	for i := range p.leaves {
		l := &p.leaves[i]
		if (l.name == name || l.path == name) && l.column.MaxRepetitionLevel() > 0 {
			_, supported := l.kind()
			return l, located(p.name, -1, l.refuseNamed(name, supported))
		}
	}
	return nil, nil
}

// idColumn returns which of the columns holds the ids, -1 for none.
func (p *parquetFile) idColumn(columns []tableColumn, opt Options) int {
	name := opt.IDs
	if name == "" && opt.FindIDs {
		name = idName
	}
	return slices.IndexFunc(columns, func(c tableColumn) bool { return name != "" && c.name == name })
}

// refuseNamed refuses a column that the user names and that holds no vectors.
func (l *parquetLeaf) refuseNamed(name string, supported bool) error {
	switch {
	case l.inMap():
		return fmt.Errorf("column %q is a map, whose keys would be lost: a vector is a list of numbers", name)
	case l.beside != nil:
		return fmt.Errorf("column %q is a list of structs with %s: a vector is a list of numbers", name, listed(l.beside))
	case !l.isList():
		return fmt.Errorf("column %q is not a list of numbers", name)
	case !supported:
		return fmt.Errorf("column %q: element type %s is not supported (float16, float32, float64, int8 and uint8 are)", name, l.column.Type())
	}
	return nil
}

// isList reports whether a leaf holds the elements of a list: what is repeated has nothing else.
func (l *parquetLeaf) isList() bool { return l.column.MaxRepetitionLevel() == 1 && l.beside == nil }

// inMap reports whether a leaf holds the keys or the values of a map.
func (l *parquetLeaf) inMap() bool {
	return len(l.beside) == 2 && slices.Contains(l.beside, "key") && slices.Contains(l.beside, "value")
}

// refuseFoundLeaf is refuseFound for a list column that was found: beside its columns at the top it
// considers the fields of the same struct.
func (p *parquetFile) refuseFoundLeaf(choice *parquetLeaf, word string) error {
	parent, own := choice.field()
	var all []string
	for i := range p.leaves {
		l := &p.leaves[i]
		if other, name := l.field(); other == parent && l.column.MaxRepetitionLevel() == 1 {
			all = append(all, name)
		}
	}
	return refuseFound(own, choice.name, slices.Compact(all), word)
}

// field returns the struct that a leaf is in, as a path, and its name there.
func (l *parquetLeaf) field() (parent, name string) {
	path := l.column.Path()
	for len(path) > 1 && slices.Contains([]string{"list", "element", "item", "array", "bag", "array_element"}, path[len(path)-1]) {
		path = path[:len(path)-1]
	}
	return strings.Join(path[:len(path)-1], "."), path[len(path)-1]
}
