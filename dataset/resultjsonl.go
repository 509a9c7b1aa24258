package dataset

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendJSONL appends r as one JSON object and a newline:
//
//	{"answers_version":2,"query":0,"query_id":"q7","ids":["c","a"],"rows":[3,1],"scores":[2.5,1],
//	"scores64":[2.4999999,1],"pulls":77,"exact":false,"complete":true,"guarantee":"certain","delta":0,
//	"epsilon":0,"certificate":{}}
//
// With whole, which says that the ids of all vectors are AreWhole, they are numbers; without ids they are the
// row numbers, and "id_kind":"row" follows. query_id is a number if it is whole by itself. What r does not
// have is omitted, delta and epsilon without a guarantee; scores that are not finite become null. Scores have
// the fewest digits that parse to the same float. r.Certificate and r.Covers, which comes last,
// are copied verbatim and must be JSON without newlines.
func AppendJSONL(dst []byte, r *Result, whole bool) []byte {
	dst = append(dst, `{"answers_version":2,"query":`...)
	dst = strconv.AppendInt(dst, r.Query, 10)
	if r.QueryID != "" {
		dst = append(dst, `,"query_id":`...)
		dst = appendID(dst, r.QueryID, isWhole(r.QueryID))
	}
	dst = append(dst, `,"ids":`...)
	if r.IDs != nil {
		dst = appendList(dst, r.IDs, func(dst []byte, id string) []byte { return appendID(dst, id, whole) })
	} else {
		dst = appendList(dst, r.Rows, appendInt)
		dst = append(dst, `,"id_kind":"row"`...)
	}
	if len(r.Rows) == r.Found() {
		dst = append(dst, `,"rows":`...)
		dst = appendList(dst, r.Rows, appendInt)
	}
	if r.Scores != nil {
		dst = append(dst, `,"scores":`...)
		dst = appendList(dst, r.Scores, appendFloat)
	}
	if r.Scores64 != nil {
		dst = append(dst, `,"scores64":`...)
		dst = appendList(dst, r.Scores64, appendFloat64)
	}
	dst = append(dst, `,"pulls":`...)
	dst = strconv.AppendInt(dst, r.Pulls, 10)
	dst = append(dst, `,"exact":`...)
	dst = strconv.AppendBool(dst, r.Exact)
	dst = append(dst, `,"complete":`...)
	dst = strconv.AppendBool(dst, !r.Partial)
	if r.Guarantee != "" {
		dst = append(dst, `,"guarantee":`...)
		dst = appendString(dst, r.Guarantee)
		dst = append(dst, `,"delta":`...)
		dst = appendFloat64(dst, r.Delta)
		dst = append(dst, `,"epsilon":`...)
		dst = appendFloat64(dst, r.Epsilon)
	}
	if len(r.Certificate) > 0 {
		dst = append(dst, `,"certificate":`...)
		dst = append(dst, r.Certificate...)
	}
	if len(r.Covers) > 0 {
		dst = append(dst, `,"covers":`...)
		dst = append(dst, r.Covers...)
	}
	return append(dst, '}', '\n')
}

// appendList appends an array.
func appendList[T any](dst []byte, all []T, element func(dst []byte, x T) []byte) []byte {
	dst = append(dst, '[')
	for i, x := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, x)
	}
	return append(dst, ']')
}

func appendInt(dst []byte, x int64) []byte { return strconv.AppendInt(dst, x, 10) }

// appendID appends an id, which is a whole number if whole says so.
func appendID(dst []byte, id string, whole bool) []byte {
	if whole {
		return append(dst, id...)
	}
	return appendString(dst, id)
}

// appendFloat appends v as JSON, null if it is not finite. Very large and very small values
// have an exponent, so that no number has 39 digits.
func appendFloat(dst []byte, v float32) []byte { return appendNumber(dst, float64(v), 32) }

// appendFloat64 appends v as appendFloat does a float32.
func appendFloat64(dst []byte, v float64) []byte { return appendNumber(dst, v, 64) }

func appendNumber(dst []byte, v float64, bits int) []byte {
	if v-v != 0 {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e15) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// appendString quotes s. Bytes that are not UTF-8 become U+FFFD, as in encoding/json.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return append(dst, '"')
}
