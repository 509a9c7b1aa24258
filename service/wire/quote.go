package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always can be
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}
