package slates

import (
	"encoding/json"
	"fmt"
	"strconv"

	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

// ID is what an item or a user is called: a text, or a number.
type ID struct {
	Int  int64
	Name string
	Text bool
}

// MarshalJSON writes it as it was given.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.Text {
		return json.Marshal(id.Name)
	}
	return strconv.AppendInt(nil, id.Int, 10), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (id *ID) UnmarshalJSON(text []byte) error {
	read, end, err := readID(text, 0)
	if err == nil && end < len(text) {
		err = jsonscan.Wanted(text, end, "the end")
	}
	*id = read
	return err
}

// String is the id in a message.
func (id ID) String() string {
	if id.Text {
		return fmt.Sprintf("%q", cut(id.Name))
	}
	return strconv.FormatInt(id.Int, 10)
}

// key is what a user is kept under.
func (id ID) key() string {
	if id.Text {
		return id.Name
	}
	return strconv.FormatInt(id.Int, 10)
}

// readID reads a string or a whole number. Its errors say what follows the name of
// the value.
func readID(b []byte, i int) (ID, int, error) {
	if i < len(b) && (b[i] == '-' || b[i]-'0' <= 9) {
		s, next, err := digits("", b, i)
		if err != nil {
			return ID{}, i, err
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return ID{}, i, problem.New(problem.InvalidValue, " is %s, beyond the integers of 64 bits", cut(s))
		}
		return ID{Int: n}, next, nil
	}
	if i < len(b) && b[i] != '"' {
		return ID{}, i, mistyped("", b, i, "a string or a whole number")
	}
	s, next, err := jsonscan.String(b, i)
	return ID{Name: string(s), Text: true}, next, err
}
