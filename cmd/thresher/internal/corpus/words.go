package corpus

import (
	"strings"
	"unicode"
)

// words calls yield with each word of text in lower case: runs of letters and digits, and the
// parts of a name in mixed case such as ReadAll.
func words(text string, yield func(word string)) {
	runs := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, run := range runs {
		parts := camel(run)
		for _, p := range parts {
			yield(strings.ToLower(p))
		}
		if len(parts) > 1 {
			yield(strings.ToLower(run))
		}
	}
}

// camel splits HTTPServer into HTTP and Server, readAll into read and All.
func camel(name string) []string {
	runes := []rune(name)
	var parts []string
	start := 0
	for i := 1; i < len(runes); i++ {
		rises := unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1])
		ends := i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsUpper(runes[i]) && unicode.IsLower(runes[i+1])
		// A short first part is a plural or a prefix, as in IDs or vLine.
		if (rises || ends) && i-start > 1 && len(runes)-i > 1 {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// stem removes inflectional endings, so that line and lines, or parse, parses, parsed and
// parsing, are one term. It knows only as much English as this needs; cutting too much merely
// merges some terms.
func stem(w string) string {
	if len(w) > 4 && strings.HasSuffix(w, "ies") {
		w = w[:len(w)-3] + "y"
	} else if len(w) > 4 && strings.HasSuffix(w, "sses") {
		w = w[:len(w)-2]
	} else if len(w) > 3 && w[len(w)-1] == 's' && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") {
		w = w[:len(w)-1]
	}
	for _, end := range []string{"ing", "ed"} {
		// If no vowel would be left, as in string, the ending is part of the word.
		if short, ok := strings.CutSuffix(w, end); ok && len(short) > 2 && strings.ContainsAny(short, "aeiouy") {
			w = undouble(short)
			break
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

// undouble turns runn into run; ll, ss and zz are part of the word.
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}

// stop reports words of grammar rather than meaning.
func stop(w string) bool {
	switch w {
	case "a", "an", "the", "of", "to", "in", "on", "at", "by", "for", "from", "with", "as", "and", "or", "is", "are",
		"be", "been", "was", "it", "its", "this", "that", "these", "those", "if", "not", "than", "then", "which", "when",
		"will", "may", "can", "has", "have", "does", "do", "so", "such", "any", "how", "i", "my", "one":
		return true
	}
	return false
}
