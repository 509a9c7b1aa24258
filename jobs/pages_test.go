package jobs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"testing"
)

// TestCheckPages breaks a whole database in the ways that bbolt would not
// survive, and that no chance flip of a bit is sure to hit.
func TestCheckPages(t *testing.T) {
	dir := t.TempDir()
	half(t, dir)
	whole := []byte(tree(t, dir)["out.progress"])
	if err := checkPages(bytes.NewReader(whole), int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	m, err := readMeta(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	free := whole[m.freelist*pageSize:]
	count := binary.NativeEndian.Uint16(free[10:])
	if count < 2 {
		t.Fatalf("only %d free pages", count)
	}

	long := func(p []byte, at uint64, x uint64) { binary.NativeEndian.PutUint64(p[at:], x) }
	for _, c := range []struct {
		name   string
		change func(p []byte) []byte
	}{
		{"last page missing", func(p []byte) []byte { return p[:(m.pages-1)*pageSize] }},
		{"end of the last page missing", func(p []byte) []byte { return p[:m.pages*pageSize-1] }},
		{"page in use is free", func(p []byte) []byte { long(p, m.freelist*pageSize+pageHeader, m.root); return p }},
		{"header is free", func(p []byte) []byte { long(p, m.freelist*pageSize+pageHeader, 1); return p }},
		{"page is free twice", func(p []byte) []byte {
			at := m.freelist*pageSize + pageHeader
			long(p, at, binary.NativeEndian.Uint64(p[at+8:]))
			return p
		}},
		{"free page outside", func(p []byte) []byte { long(p, m.freelist*pageSize+pageHeader, m.pages); return p }},
		{"free list longer than its page", func(p []byte) []byte {
			binary.NativeEndian.PutUint16(p[m.freelist*pageSize+10:], 511)
			return p
		}},
		{"free list of unknown length", func(p []byte) []byte {
			binary.NativeEndian.PutUint16(p[m.freelist*pageSize+10:], 0xFFFF)
			return p
		}},
		{"page continues into the next in use", func(p []byte) []byte {
			binary.NativeEndian.PutUint32(p[m.root*pageSize+12:], uint32(m.pages-m.root-1))
			return p
		}},
		{"page continues beyond the end", func(p []byte) []byte {
			binary.NativeEndian.PutUint32(p[m.root*pageSize+12:], 1<<31)
			return p
		}},
		{"two elements", func(p []byte) []byte {
			binary.NativeEndian.PutUint16(p[m.root*pageSize+10:], 2)
			return p
		}},
		{"value beyond its page", func(p []byte) []byte {
			binary.NativeEndian.PutUint32(p[m.root*pageSize+pageHeader+12:], 5000)
			return p
		}},
		{"bucket in a header", func(p []byte) []byte {
			at := bytes.Index(p[m.root*pageSize:], []byte(bucketName))
			long(p, m.root*pageSize+uint64(at+len(bucketName)), 1)
			return p
		}},
		{"both headers", func(p []byte) []byte {
			p[pageHeader+50] ^= 1
			p[pageSize+pageHeader+50] ^= 1
			return p
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := c.change(bytes.Clone(whole))
			if err := checkPages(bytes.NewReader(p), int64(len(p))); err == nil {
				t.Error("not noticed")
			}
		})
	}
}

// TestCheckPagesCut cuts databases whose last page is in use or free.
func TestCheckPagesCut(t *testing.T) {
	st := newDiskStorage()
	path := filepath.Join(t.TempDir(), "out.progress")
	s := exampleState()
	if err := st.create(path, s, false); err != nil {
		t.Fatal(err)
	}
	lastFree := 0
	for range 8 {
		j, err := st.open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.save(s), j.close()); err != nil {
			t.Fatal(err)
		}
		whole := readDisk(t)(path)
		m, err := readMeta(bytes.NewReader(whole))
		if err != nil {
			t.Fatal(err)
		}
		if last := m.pages - 1; m.root != last && m.freelist != last {
			lastFree++
		}
		cut := whole[:(m.pages-1)*pageSize]
		if err := checkPages(bytes.NewReader(cut), int64(len(cut))); err == nil {
			t.Error("not noticed")
		}
	}
	if lastFree == 0 {
		t.Error("the last page is always in use")
	}
}

// FuzzCheckPages looks for files on which the check itself panics or runs long.
func FuzzCheckPages(f *testing.F) {
	dir := f.TempDir()
	half(f, dir)
	whole := []byte(tree(f, dir)["out.progress"])
	f.Add(whole)
	f.Add(whole[:3*pageSize])
	f.Add([]byte("notes"))
	f.Fuzz(func(t *testing.T, p []byte) {
		_ = checkPages(bytes.NewReader(p), int64(len(p)))
	})
}
