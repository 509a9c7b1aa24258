package kernels

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
)

// Cubin returns what the manifest's assembler made of a module for GPUs of a compute capability; nil if
// there is no code that such a GPU runs. It fails as PTX does. The caller owns the bytes.
//
// Code for capability X.Y runs on X.Z if Z is at least Y, and on no other (CUDA C++ Programming Guide,
// "Binary Compatibility"). So this is the code for the greatest minor capability that is not above the GPU's.
func Cubin(name string, major, minor int) ([]byte, error) {
	return readCubin(embedded, name, major, minor)
}

func readCubin(fsys fs.FS, name string, major, minor int) ([]byte, error) {
	m, err := readModule(fsys, name)
	if err != nil {
		return nil, err
	}
	target := m.target(major, minor)
	if target == "" {
		return nil, nil
	}
	return readMember(fsys, "cubins/"+target+".zip", name+".cubin", m.CubinsSHA256[target])
}

// target returns the name of the GPUs whose code one of that capability runs, such as sm_80 for 8.7; empty if there is none.
func (m module) target(major, minor int) string {
	for ; minor >= 0; minor-- {
		target := fmt.Sprintf("sm_%d%d", major, minor)
		if m.CubinsSHA256[target] != "" {
			return target
		}
	}
	return ""
}

// readMember returns a file of an archive, whose hash must be want.
func readMember(fsys fs.FS, archive, file, want string) ([]byte, error) {
	packed, err := fs.ReadFile(fsys, archive)
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	members, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("kernels: %s: %w", archive, err)
	}
	f, err := members.Open(file)
	if err != nil {
		return nil, fmt.Errorf("kernels: %s: %w", archive, err)
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("kernels: %s: %s: %w", archive, file, err)
	}
	if err := checkSum(archive+": "+file, content, want); err != nil {
		return nil, err
	}
	return content, nil
}
