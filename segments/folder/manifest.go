package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"thresher/collection"
	"thresher/columns"
	"thresher/dataset"
)

// ManifestName is the name of the file by which a folder is known.
const ManifestName = "manifest.json"

// manifestVersion is that of manifests with a type, columns, an origin or a basis; others are of plainVersion, as all were once.
const manifestVersion, plainVersion = 2, 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// contents is the manifest: what a folder holds besides the writes in its logs.
type contents struct {
	Metric   string          `json:"metric"`
	Elem     string          `json:"dtype"`
	Dim      int             `json:"dim"`
	Seed     uint64          `json:"seed"`
	Texts    bool            `json:"texts"`             // ids are texts, also if none is left
	Numbers  bool            `json:"numbers,omitempty"` // ids are numbers; neither: there were none, or the manifest is of before this member
	Version  uint64          `json:"version"`           // writes before those of Log
	Log      uint64          `json:"log"`               // the first log that is needed
	Next     uint64          `json:"next"`              // no file has this number or a greater one
	Segments []segmentFile   `json:"segments"`
	Basis    string          `json:"basis,omitempty"`    // "" for collection.Rotated
	Origin   []float64       `json:"origin,omitempty"`   // of all rows
	Greatest uint64          `json:"greatest,omitempty"` // id that is a number and was ever written before those of Log
	Columns  []columns.Field `json:"columns,omitempty"`  // of all rows
}

// format is the version that a manifest has at least. Programs that know plainVersion alone also refuse a log in which rounding is noted, as damaged.
func (m *contents) format() int {
	if m.Elem != dataset.ElemFloat32.String() || len(m.Columns) > 0 || m.Origin != nil || m.Basis != "" {
		return manifestVersion
	}
	return plainVersion
}

// segmentFile is a segment in a manifest.
type segmentFile struct {
	Number     uint64    `json:"number"`
	Rows       int       `json:"rows"`
	Generation int       `json:"generation"`
	Bytes      int64     `json:"bytes"`
	Header     uint32    `json:"header_crc32c"` // of the first headerBytes of the file, which have the checksums of the rest
	IDs        *sideFile `json:"ids,omitempty"` // nil: row numbers
	Numbers    *sideFile `json:"numbers,omitempty"`
	Columns    *sideFile `json:"columns,omitempty"` // nil: rows have none
	Deleted    *sideFile `json:"deleted,omitempty"`
	Verified   *verified `json:"verified,omitempty"`
}

// sideFile is a file that lies beside that of a segment.
type sideFile struct {
	Rows  int    `json:"rows"`
	Bytes int64  `json:"bytes"`
	CRC   uint32 `json:"crc32c"`
}

// verified says which file was found to have its checksums.
type verified struct {
	Bytes    int64 `json:"bytes"`
	Modified int64 `json:"modified"` // nanoseconds since 1970
}

// headerBytes is how much of a segment's file a manifest has a checksum of.
const headerBytes = 1 << 14

func (e *segmentFile) file() string        { return fmt.Sprintf("%d.thresher", e.Number) }
func (e *segmentFile) idsFile() string     { return e.file() + dataset.SavedIDsSuffix }
func (e *segmentFile) numbersFile() string { return fmt.Sprintf("%d.numbers", e.Number) }
func (e *segmentFile) columnsFile() string { return e.file() + columns.SavedSuffix }
func (e *segmentFile) deletedFile() string {
	return fmt.Sprintf("%d-%d.deleted", e.Number, e.Deleted.Rows)
}

// files lists the files of a segment.
func (e *segmentFile) files() []string {
	names := []string{e.file()}
	if e.IDs != nil {
		names = append(names, e.idsFile())
	}
	if e.Numbers != nil {
		names = append(names, e.numbersFile())
	}
	if e.Columns != nil {
		names = append(names, e.columnsFile())
	}
	if e.Deleted != nil {
		names = append(names, e.deletedFile())
	}
	return names
}

func logFile(number uint64) string { return fmt.Sprintf("%d.log", number) }

// envelope is the manifest's file.
type envelope struct {
	Format  int             `json:"thresher_folder"`
	CRC     uint32          `json:"crc32c"` // of the manifest without spaces
	Content json.RawMessage `json:"content"`
}

// encode returns the manifest as it is in a file.
func (m *contents) encode() ([]byte, error) {
	content, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(envelope{m.format(), crc32.Checksum(content, castagnoli), content}, "", " ")
	return append(b, '\n'), err
}

// readManifest reads the manifest of the folder at path.
func readManifest(path string) (*contents, error) {
	name := filepath.Join(path, ManifestName)
	b, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w: it has no %s", path, ErrForeign, ManifestName)
		}
		return nil, err
	}
	m, err := decodeManifest(b)
	if err != nil {
		return nil, &DamageError{File: name, Err: err}
	}
	return m, nil
}

func decodeManifest(b []byte) (*contents, error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, err
	}
	if e.Format != manifestVersion && e.Format != plainVersion {
		return nil, fmt.Errorf("version %d, this program reads %d and %d", e.Format, plainVersion, manifestVersion)
	}
	var content bytes.Buffer
	if err := json.Compact(&content, e.Content); err != nil {
		return nil, err
	}
	if crc := crc32.Checksum(content.Bytes(), castagnoli); crc != e.CRC {
		return nil, fmt.Errorf("its checksum is %d, not %d", crc, e.CRC)
	}
	m := &contents{}
	if err := json.Unmarshal(content.Bytes(), m); err != nil {
		return nil, err
	}
	if m.Dim < 1 || m.Dim > collection.MaxDim {
		return nil, fmt.Errorf("%d dimensions, at least 1 and at most %d", m.Dim, collection.MaxDim)
	}
	if m.format() > e.Format {
		return nil, fmt.Errorf("version %d has no types, columns, origins and bases", e.Format)
	}
	return m, nil
}

// checksum returns the length and CRC-32C of the first limit bytes of a file; of all for a limit of 0.
func checksum(path string, limit int64) (n int64, crc uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	var r io.Reader = f
	if limit > 0 {
		r = io.LimitReader(f, limit)
	}
	h := crc32.New(castagnoli)
	n, err = io.Copy(h, r)
	return n, h.Sum32(), err
}

// check verifies the file at path.
func (t *sideFile) check(path string) error {
	n, crc, err := checksum(path, 0)
	switch {
	case err != nil:
		return err
	case n != t.Bytes:
		return &DamageError{File: path, Err: fmt.Errorf("%d bytes, not %d", n, t.Bytes)}
	case crc != t.CRC:
		return &DamageError{File: path, Err: fmt.Errorf("its checksum is %d, not %d", crc, t.CRC)}
	}
	return nil
}

// sideFileOf describes a file of these bytes.
func sideFileOf(b []byte, rows int) *sideFile {
	return &sideFile{Rows: rows, Bytes: int64(len(b)), CRC: crc32.Checksum(b, castagnoli)}
}

// writeManifest replaces the manifest of the folder at path.
func writeManifest(d disk, path string, m *contents) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	return writeFile(d, filepath.Join(path, ManifestName), b)
}
