package api

import (
	"encoding/json"
	"strconv"
)

// Page is a part of a list, newest entry first.
type Page[T any] struct {
	Object  string  `json:"object"` // "list"
	Data    []T     `json:"data"`
	FirstID *string `json:"first_id"` // of Data; null if Data is empty
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// NewPage returns the page of some entries; idOf returns the id of an entry.
func NewPage[T any](entries []T, more bool, idOf func(*T) string) Page[T] {
	p := Page[T]{Object: "list", Data: entries, HasMore: more}
	if entries == nil {
		p.Data = []T{} // not null
	}
	if n := len(entries); n > 0 {
		first, last := idOf(&entries[0]), idOf(&entries[n-1])
		p.FirstID, p.LastID = &first, &last
	}
	return p
}

// Deleted is the answer to the deletion of a file, batch or tournament.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// ID names an atom or a user: a string or a 64-bit integer.
type ID struct {
	Int  int64
	Name string
	Text bool // true if the id is Name, false if it is Int
}

// IntID returns an integer as an ID.
func IntID(n int64) ID { return ID{Int: n} }

// TextID returns a string as an ID.
func TextID(name string) ID { return ID{Name: name, Text: true} }

// String returns the string, or the integer in decimal digits.
func (id ID) String() string {
	if id.Text {
		return id.Name
	}
	return strconv.FormatInt(id.Int, 10)
}

// MarshalJSON writes a JSON string or number.
func (id ID) MarshalJSON() ([]byte, error) {
	if id.Text {
		return json.Marshal(id.Name)
	}
	return strconv.AppendInt(nil, id.Int, 10), nil
}

// UnmarshalJSON reads a JSON string or number.
func (id *ID) UnmarshalJSON(text []byte) error {
	*id = ID{Text: len(text) > 0 && text[0] == '"'}
	if id.Text {
		return json.Unmarshal(text, &id.Name)
	}
	return json.Unmarshal(text, &id.Int)
}
