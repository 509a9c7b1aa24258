package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkError asserts an *Error with file, row, column and a part of its text.
func checkError(t *testing.T, m *Matrix, err error, file string, row, column int64, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted as %v, want an error with %q", m, want)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%T %v is no *Error", err, err)
	}
	if e.File != file && !strings.HasPrefix(e.File, file+":") {
		t.Errorf("error names file %q, want %q", e.File, file)
	}
	if e.Row != row || e.Column != column {
		t.Errorf("error is at row %d, column %d, want %d, %d: %v", e.Row, e.Column, row, column, err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q lacks %q", err, want)
	}
	if (row >= 0 || column >= 0) && !strings.Contains(err.Error(), "(0-based)") {
		t.Errorf("error %q does not say how it counts", err)
	}
}

// readBytes writes data to a file of that name and reads the file.
func readBytes(t *testing.T, name string, data []byte, opt *Options) (*Matrix, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := ReadAll(context.Background(), path, opt)
	return m, path, err
}

// byText compares ids by their texts.
var byText = cmp.Transformer("texts", textsOf)

// textsOf returns ids as texts; nil for nil.
func textsOf(ids *IDs) []string {
	var texts []string
	for row := range int64(ids.Len()) {
		texts = append(texts, ids.Text(row))
	}
	return texts
}

// memorySource is a file in memory.
func memorySource(name string, data []byte) *source {
	s := newSource(bytes.NewReader(data), name)
	s.at, s.size = bytes.NewReader(data), int64(len(data))
	return s
}

func le32(vs ...uint32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

func le64(vs ...uint64) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func floats(vs ...float32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// npyBytes is an npy with any header.
func npyBytes(dict string, data []byte) []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(dict)), byte(len(dict)>>8))
	return join(b, []byte(dict), data)
}

func npyOf(descr, order, shape string, data []byte) []byte {
	return npyBytes("{'descr': '"+descr+"', 'fortran_order': "+order+", 'shape': "+shape+"}", data)
}

func tensorBytes(header string, data []byte) []byte {
	return join(le64(uint64(len(header))), []byte(header), data)
}
