package service

import (
	"bytes"

	"thresher/dataset/jsonscan"
)

// integers rewrites the numbers of a JSON text that are 64-bit integers in all but form,
// such as 281.0 or 1e3, as encoding/json wants integers: JSON and its schemas know no
// difference. The text is returned as it is where there are none; what is no JSON stays
// none.
func integers(text []byte) []byte {
	var out []byte // nil while nothing was rewritten
	done := 0      // how much of text is in out
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			i = stringEnd(text, i)
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(text) && bytes.IndexByte([]byte("+-.eE0123456789"), text[end]) >= 0 {
				end++
			}
			if number := text[i:end]; bytes.ContainsAny(number, ".eE") && jsonscan.Number(text, i) == end {
				if digits, ok := jsonscan.Integer(number); ok {
					out = append(append(out, text[done:i]...), digits...)
					done = end
				}
			}
			i = end
		default:
			i++
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// stringEnd is the index behind the JSON string that begins at text[i].
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
