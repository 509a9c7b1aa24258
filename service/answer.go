package service

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	jsonHeader(w.Header())
	return send(w, status, append(text, '\n'))
}
