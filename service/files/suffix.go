package files

import (
	"path/filepath"
	"strings"
	"unicode"
)

// Suffix returns the part of a file's name that says its format.
func Suffix(name string) string {
	end := ""
	for range 2 {
		ext := filepath.Ext(name)
		if len(ext) < 2 || len(ext) > 12 || strings.ContainsFunc(ext[1:], func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
			break
		}
		end = strings.ToLower(ext) + end
		if end != ".gz" {
			break
		}
		name = strings.TrimSuffix(name, ext)
	}
	return end
}

// Suffix returns the part of the name of f that says its format.
func (f File) Suffix() string { return Suffix(f.Name) }
