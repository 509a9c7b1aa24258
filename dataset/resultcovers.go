package dataset

import (
	"encoding/json"
)

// coversOf returns what a file says that its answers cover, if it is a JSON object; files of others
// may have anything there.
func coversOf(text []byte) json.RawMessage {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil
	}
	return text
}
