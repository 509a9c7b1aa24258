package files

import (
	"time"

	"thresher/service/api"
)

// File describes a file. Its JSON is that of records and notes.
type File struct {
	ID        string
	Name      string // as the client called it; never a path here
	Purpose   string
	Bytes     int64
	SHA256    string // of the content, hexadecimal
	CreatedAt time.Time
}

// View is what clients see of the file.
func (f File) View() api.File {
	return api.File{
		ID: f.ID, Object: "file", Bytes: f.Bytes, CreatedAt: f.CreatedAt.Unix(), Filename: f.Name,
		Purpose: f.Purpose, Status: "processed", SHA256: f.SHA256,
	}
}
