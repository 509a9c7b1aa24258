package slates

import (
	"fmt"
	"strconv"

	"thresher/dataset/jsonscan"
	"thresher/service/api"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// ID identifies an item or a user: a string, or an integer.
type ID = api.ID

// idText formats an id for a message.
func idText(id ID) string {
	if id.Text {
		return fmt.Sprintf("%q", jsonbody.Clip(id.Name))
	}
	return id.String()
}

// readID reads a string or an integer. Its errors begin with what follows the name of the
// value.
func readID(b []byte, i int) (ID, int, error) {
	if i < len(b) && (b[i] == '-' || b[i]-'0' <= 9) {
		s, next, err := jsonbody.Digits("", b, i)
		if err != nil {
			return ID{}, i, err
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return ID{}, i, problem.New(problem.InvalidValue, " is %s, beyond the integers of 64 bits", jsonbody.Clip(s))
		}
		return ID{Int: n}, next, nil
	}
	if i < len(b) && b[i] != '"' {
		return ID{}, i, jsonbody.Mistyped("", b, i, "a string or a whole number")
	}
	s, next, err := jsonscan.Name(b, i)
	return ID{Name: string(s), Text: true}, next, err
}
