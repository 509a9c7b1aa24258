package extension

import (
	"bytes"
	"fmt"
	"strings"
)

// place begins the comment of a document in whose place the sections of parts come.
const place = "# extensions: "

// Join returns an OpenAPI document joined with parts. Where the document has the comment "# extensions: NAME"
// the sections of that name follow, without the line of their key. A section is a top-level key of a part, such
// as paths, or a key of its components, such as components/schemas. A section that has no place is an error.
func Join(document []byte, parts ...[]byte) ([]byte, error) {
	sections := map[string][]string{}
	for _, part := range parts {
		for name, lines := range sectionsOf(part) {
			sections[name] = append(sections[name], lines...)
		}
	}
	var joined bytes.Buffer
	for line := range strings.Lines(string(document)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), place)
		if !ok {
			joined.WriteString(line)
			continue
		}
		for _, line := range sections[name] {
			joined.WriteString(line)
		}
		delete(sections, name)
	}
	for name, lines := range sections {
		if len(lines) > 0 {
			return nil, fmt.Errorf("openapi.yaml has no place for the section %s of an extension", name)
		}
	}
	return joined.Bytes(), nil
}

// sectionsOf returns the lines of each section of a part, without that of its key, comments and what precedes
// the first.
func sectionsOf(part []byte) map[string][]string {
	sections := map[string][]string{}
	top, name := "", ""
	for line := range strings.Lines(string(part)) {
		key, _, isKey := strings.Cut(line, ":")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(line, "#"):
		case isKey && indent == 0:
			top, name = key, key
		case isKey && indent == 2 && top == "components":
			name = top + "/" + strings.TrimSpace(key)
		case name != "":
			sections[name] = append(sections[name], line)
		}
	}
	return sections
}
