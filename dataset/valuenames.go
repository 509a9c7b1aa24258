package dataset

import (
	"io"
	"slices"

	"thresher/dataset/jsonscan"
)

// ValueNames returns the names of the columns of a file that OpenValues opens, and of those that it refuses for their
// types, both in the order of the file. Of JSONL, whose rows tell their columns, it reads all rows; a field that is an
// object, or a list of something else than texts, in any of them is refused. header and b are those of OpenValues.
func ValueNames(path, header string, b *Budget) (names, refused []string, err error) {
	v, err := OpenValues(path, header, b)
	if err != nil {
		return nil, nil, err
	}
	defer v.Close()
	t := v.(*values).tableReader
	if lines, ok := t.(*jsonlReader); ok {
		return lines.valueNames()
	}
	all, err := t.columns()
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		if slices.Contains(names, c.Name) || slices.Contains(refused, c.Name) {
			continue
		}
		if v.Untyped() && c.Name != "" || opens(path, header, b, c.Name) {
			names = append(names, c.Name)
		} else {
			refused = append(refused, c.Name)
		}
	}
	return names, refused, nil
}

// opens reports whether OpenValues opens a column.
func opens(path, header string, b *Budget, name string) bool {
	v, err := OpenValues(path, header, b, name)
	return err == nil && v.Close() == nil
}

// valueNames is ValueNames of an object a line.
func (t *jsonlReader) valueNames() (names, refused []string, err error) {
	var cell readCell
	place := map[string]int{} // in all
	var all []string
	var fits []bool
	for {
		line, err := t.lines.line()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		_, err = jsonscan.Fields(line, 0, func(key []byte, at int) (int, error) {
			i, ok := place[string(key)]
			if !ok {
				i = len(all)
				place[string(key)], all, fits = i, append(all, string(key)), append(fits, true)
			}
			if fits[i] && !jsonscan.Literal(line, at, "null") {
				_, err := cell.parseAny(line, at)
				fits[i] = err == nil
			}
			return jsonscan.Value(line, at)
		})
		if err != nil {
			return nil, nil, t.locate(-1, err)
		}
		t.lines.next++
	}
	for i, name := range all {
		if fits[i] {
			names = append(names, name)
		} else {
			refused = append(refused, name)
		}
	}
	return names, refused, nil
}
