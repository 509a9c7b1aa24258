package columns

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"thresher/dataset"
)

// written matches numbers as they are written: 007 and +1 are texts, such as codes and telephone numbers.
var written = regexp.MustCompile(`^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)

// integerText reads an integer that fits int64.
func integerText(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	x, err := strconv.ParseInt(text, 10, 64)
	return x, err == nil && strconv.FormatInt(x, 10) == text
}

// floatText reads a number, or NaN, of which an integer must be a float64.
func floatText(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if strings.EqualFold(text, "nan") {
		return math.NaN(), true
	}
	if !written.MatchString(text) {
		return 0, false
	}
	if !strings.ContainsAny(text, ".eE") {
		x, whole := integerText(text)
		if text == "-0" {
			return math.Copysign(0, -1), true
		}
		return float64(x), whole && exactFloat(x)
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil
}

// boolText reads true or false.
func boolText(text string) (int64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "true" {
		return 1, true
	}
	return 0, text == "false"
}

// timeText reads a time of RFC 3339, a day, or a day and a time with a zone, cut to microseconds.
func timeText(text string) (int64, bool) {
	at, _, ok := dataset.ParseTime(strings.TrimSpace(text), false)
	return at, ok
}

// isFiner reports whether a time is finer than microseconds.
func isFiner(text string) bool {
	_, exact, ok := dataset.ParseTime(strings.TrimSpace(text), false)
	return ok && !exact
}
