package corpus

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Entry is one doc comment.
type Entry struct {
	Package string `json:"p"` // import path, e.g. encoding/json
	Name    string `json:"n"` // Func, Type, Type.Method, Const or Var; "" for the package's own comment
	Text    string `json:"t"` // the comment without its markers, words separated by single spaces
}

// Symbol is the entry's name as `go doc` accepts it.
func (e Entry) Symbol() string {
	if e.Name == "" {
		return e.Package
	}
	return e.Package + "." + e.Name
}

// Sentence returns the first sentence of the comment.
func (e Entry) Sentence() string {
	for i := 0; i < len(e.Text); i++ {
		if !strings.ContainsRune(".?!", rune(e.Text[i])) {
			continue
		}
		rest := strings.TrimPrefix(e.Text[i+1:], " ")
		if len(rest) == len(e.Text)-i-1 && rest != "" {
			continue // not followed by a space: a selector, a number, a file name
		}
		next, _ := utf8.DecodeRuneInString(rest)
		if rest == "" || (!unicode.IsLower(next) && !abbreviation(e.Text[:i])) {
			return e.Text[:i+1]
		}
	}
	return e.Text
}

// abbreviation reports whether the text before a full stop ends in a single
// letter or in an inner stop, as in "U. S." and "e.g.".
func abbreviation(before string) bool {
	word := before[strings.LastIndexByte(before, ' ')+1:]
	return utf8.RuneCountInString(word) < 2 || (len(word) < 5 && strings.Contains(word, "."))
}

// Corpus is a set of entries sorted by package and name, with distinct names and distinct
// texts.
type Corpus struct {
	Version string // of Go, e.g. go1.26.8
	Source  string // the folder that was read, or "" for the embedded extract
	Entries []Entry
}

// minWords is the least number of words of a comment; shorter ones hardly resemble others.
const minWords = 6

// tidy sorts entries and drops short texts, repeated names and repeated texts. The first of
// equal ones, by package, name and text, is kept, so the result does not depend on the order
// of the entries.
func tidy(entries []Entry) []Entry {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Text, b.Text))
	})
	texts := make(map[string]bool, len(entries))
	names := make(map[string]bool, len(entries))
	kept := entries[:0]
	for _, e := range entries {
		if strings.Count(e.Text, " ")+1 < minWords || texts[e.Text] || names[e.Symbol()] {
			continue
		}
		texts[e.Text], names[e.Symbol()] = true, true
		kept = append(kept, e)
	}
	return kept
}
