package files

import (
	"encoding/json"
	"time"
)

// File describes a file.
type File struct {
	ID        string
	Name      string // as the client called it; never a path here
	Purpose   string
	Bytes     int64
	SHA256    string // of the content, hexadecimal
	CreatedAt time.Time
}

// MarshalJSON writes the file object of the OpenAI API.
func (f File) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID        string `json:"id"`
		Object    string `json:"object"`
		Bytes     int64  `json:"bytes"`
		CreatedAt int64  `json:"created_at"` // Unix seconds
		Name      string `json:"filename"`
		Purpose   string `json:"purpose"`
		Status    string `json:"status"`
		SHA256    string `json:"sha256"`
	}{f.ID, "file", f.Bytes, f.CreatedAt.Unix(), f.Name, f.Purpose, "processed", f.SHA256})
}
