package dataset

import (
	"bufio"
	"os"
	"path/filepath"
)

// RowsAt says where the rows of a file begin that are stored as they are in memory.
type RowsAt struct {
	Offset int64 // bytes
	Rows   int64
	Dim    int
}

// FindRows returns where the rows of a .npy file of float32, little endian in C order, begin, so
// that they can be mapped. It returns nil for every other file, also for one that is malformed:
// Open reads it or says what is wrong. Nothing is checked but the header.
func FindRows(path string) (*RowsAt, error) {
	if filepath.Ext(path) != ".npy" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, located(path, -1, err)
	}
	defer f.Close()
	h, err := readNPYHeader(bufio.NewReader(f))
	if err != nil || h.descr != "<f4" || h.fortran {
		return nil, nil
	}
	rows, dim, err := h.matrix(false)
	if err != nil || (*Budget)(nil).of(-1).checkShape(path, rows, dim) != nil {
		return nil, nil
	}
	if st, err := f.Stat(); err != nil || st.Size() != h.length+4*rows*dim {
		return nil, nil // cut short, or with more behind it: Open says so
	}
	return &RowsAt{Offset: h.length, Rows: rows, Dim: int(dim)}, nil
}
