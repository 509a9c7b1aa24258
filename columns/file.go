package columns

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"thresher/dataset"
	"thresher/internal/atomicfile"
)

// SavedSuffix is what the name of a prepared collection is followed by in the name of the file of its columns.
const SavedSuffix = ".columns"

// A file of columns is, little endian:
//
//	0   8  magic "THRCOLUM"
//	8   4  format version
//	12  4  length of the JSON header
//	16  4  CRC-32C of the JSON header
//	20  .. JSON header: rows, whose they are, the columns and their sections
//	..  .. the sections, one after the other
//
// The sections of a column are the rows with a value, as a bitmap of package roaring; the keys; of lists how many texts
// each row has; of texts the lengths of those of the dictionary, and the texts themselves.
const (
	savedMagic   = "THRCOLUM"
	savedVersion = 1
	savedStart   = 20
)

// Errors of files of columns, wrapped with the file's name and the figures.
var (
	ErrForeign = errors.New("not a file of columns")
	ErrVersion = errors.New("unknown version of a file of columns")
	ErrDamaged = errors.New("file of columns is damaged")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type savedHeader struct {
	Rows int `json:"rows"`
	// Collection is the digest of the collection that has the rows; "" of any.
	Collection string        `json:"collection,omitempty"`
	Columns    []savedColumn `json:"columns"`
}

type savedColumn struct {
	Field
	Example  string         `json:"example,omitempty"`
	Sections []savedSection `json:"sections"`
}

type savedSection struct {
	Bytes int64  `json:"bytes"`
	CRC   uint32 `json:"crc"`
}

// Save writes the columns of the prepared collection at path to the file beside it, and makes it durable. With nil
// columns it removes such a file, which is that of a collection that was there.
func Save(path string, c *Columns) error {
	beside := path + SavedSuffix
	if c == nil {
		if err := os.Remove(beside); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	of, err := os.Stat(path)
	if err != nil {
		return err
	}
	out, err := atomicfile.Create(beside, of.Mode().Perm())
	if err != nil {
		return err
	}
	defer out.Discard()
	if err := WriteSaved(out, path, c); err != nil {
		return fmt.Errorf("%s: %w", beside, err)
	}
	return out.Commit(true)
}

// WriteSaved writes what the file of columns beside the prepared collection at path contains.
func WriteSaved(w io.Writer, path string, c *Columns) error {
	digest, err := dataset.CollectionDigest(path)
	if err != nil {
		return err
	}
	return c.write(w, digest)
}

// Write writes the columns as Load reads them.
func (c *Columns) Write(w io.Writer) error { return c.write(w, "") }

func (c *Columns) write(w io.Writer, digest string) error {
	h := savedHeader{Rows: c.rows, Collection: digest, Columns: []savedColumn{}}
	var all [][]byte
	for _, of := range c.of {
		sections, err := of.sections()
		if err != nil {
			return err
		}
		s := savedColumn{Field: of.Field(), Example: of.example}
		for _, b := range sections {
			s.Sections = append(s.Sections, savedSection{int64(len(b)), crc32.Checksum(b, castagnoli)})
		}
		h.Columns, all = append(h.Columns, s), append(all, sections...)
	}
	js, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b := append([]byte(savedMagic), make([]byte, savedStart-len(savedMagic))...)
	binary.LittleEndian.PutUint32(b[8:], savedVersion)
	binary.LittleEndian.PutUint32(b[12:], uint32(len(js)))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(js, castagnoli))
	for _, part := range append([][]byte{b, js}, all...) {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// sections returns what is stored of the column.
func (c *Column) sections() ([][]byte, error) {
	filled, err := c.filled.ToBytes()
	if err != nil {
		return nil, err
	}
	switch {
	case c.integers != nil:
		return [][]byte{filled, stored(c.integers.keys)}, nil
	case c.floats != nil:
		return [][]byte{filled, stored(c.floats.keys)}, nil
	}
	lengths := make([]uint32, len(c.dictionary))
	var texts bytes.Buffer
	for i, text := range c.dictionary {
		lengths[i] = uint32(len(text))
		texts.WriteString(text)
	}
	return [][]byte{filled, stored(c.codes.keys), stored(c.counts), stored(lengths), texts.Bytes()}, nil
}

// stored returns keys as they are stored.
func stored[K key](keys []K) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, keys) // of a fixed size
	return b
}

// Saved reads columns of the prepared collection at path, which has n vectors, from the file that lies beside it: those
// of the names, in this order, or all without names. It returns nil if there is no such file. Columns of another
// collection, and names that the file lacks, are errors.
func Saved(path string, n int, names ...string) (*Columns, error) {
	beside := path + SavedSuffix
	f, err := os.Open(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	c, err := load(f, info.Size(), func(h *savedHeader) error {
		digest, err := dataset.CollectionDigest(path)
		switch {
		case err != nil:
			return err
		case digest != h.Collection:
			return fmt.Errorf("has the columns of another collection than %s; save both again, or move this file away to do without", path)
		case h.Rows != n:
			return fmt.Errorf("%w: it has %d rows, and there are %d vectors", ErrDamaged, h.Rows, n)
		}
		return nil
	}, names)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", beside, err)
	}
	return c, nil
}

// SavedFields returns the columns that Saved would read, without reading them; nil if there is no file of columns.
func SavedFields(path string) ([]Field, error) {
	f, err := os.Open(path + SavedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h, _, err := readSaved(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", path, SavedSuffix, err)
	}
	fields := make([]Field, len(h.Columns))
	for i := range h.Columns {
		fields[i] = h.Columns[i].Field
	}
	return fields, nil
}

// Load reads the columns that Write has written, size bytes: those of the names, in this order, or all without names.
func Load(r io.ReaderAt, size int64, names ...string) (*Columns, error) {
	return load(r, size, func(*savedHeader) error { return nil }, names)
}

func load(r io.ReaderAt, size int64, check func(h *savedHeader) error, names []string) (*Columns, error) {
	h, at, err := readSaved(r, size)
	if err == nil {
		err = check(h)
	}
	if err != nil {
		return nil, err
	}
	c := &Columns{rows: h.Rows, of: make([]*Column, len(h.Columns))}
	for i := range h.Columns {
		s := &h.Columns[i]
		if len(names) == 0 || slices.Contains(names, s.Name) {
			if c.of[i], err = s.read(r, at, h.Rows); err != nil {
				return nil, fmt.Errorf("column %q: %w", s.Name, err)
			}
		}
		for _, of := range s.Sections {
			at += of.Bytes
		}
	}
	if len(names) == 0 {
		return c, nil
	}
	chosen := &Columns{rows: c.rows}
	for _, name := range names {
		i := slices.IndexFunc(h.Columns, func(s savedColumn) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no column %q; the columns are %s", name, savedNames(h.Columns))
		}
		chosen.of = append(chosen.of, c.of[i])
	}
	return chosen, nil
}
