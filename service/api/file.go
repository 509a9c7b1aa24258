package api

// File is an uploaded or produced file: the file object of the OpenAI API, and its SHA-256.
type File struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // "file"
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"` // "processed"
	SHA256    string `json:"sha256"` // of the content, hexadecimal
}
