package columns

import "fmt"

// Type is the type of the values of a column.
type Type uint8

// The types.
const (
	Integer  Type = iota + 1 // int64
	Float                    // float64
	Single                   // float32, with which numbers are compared as float32
	Text                     // UTF-8, ordered by bytes
	Bool                     // false before true
	Time                     // microseconds since 1970 in UTC
	TextList                 // any number of texts
)

var typeNames = [...]string{"unknown", "int64", "float64", "float32", "text", "bool", "timestamp", "list of texts"}

// String names the type for messages.
func (t Type) String() string { return typeNames[t] }

// MarshalText is the type's name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the name of a type.
func (t *Type) UnmarshalText(text []byte) error {
	for i, name := range typeNames {
		if i > 0 && name == string(text) {
			*t = Type(i)
			return nil
		}
	}
	return fmt.Errorf("no type of columns is called %.40q", text)
}

// Field is the name of a column, and the type of its values.
type Field struct {
	Name string `json:"name"`
	Type Type   `json:"dtype"`
}
