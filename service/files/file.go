package files

import (
	"time"

	"thresher/service/api"
)

// File describes a file. Its JSON is stored in records and notes.
type File struct {
	ID        string
	Name      string // the client's name for it; never used as a path
	Purpose   string
	Bytes     int64
	SHA256    string // of the content, hexadecimal
	CreatedAt time.Time
	// Maker is the name of the token that made it; "" if there was none, or if it was made
	// before makers were recorded.
	Maker string `json:",omitempty"`
}

// View returns the file as clients see it.
func (f File) View() api.File {
	return api.File{
		ID: f.ID, Object: "file", Bytes: f.Bytes, CreatedAt: f.CreatedAt.Unix(), Filename: f.Name,
		Purpose: f.Purpose, Status: "processed", SHA256: f.SHA256,
	}
}
