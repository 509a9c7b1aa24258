package collection

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// smallFile writes a small coded collection and returns the bytes of its file and its header.
func smallFile(t testing.TB, dim int) ([]byte, header) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small")
	c, err := Create(context.Background(), path, &rowsSource{rows: data("gaussian", 140, dim, 1), dim: dim}, false, &Options{Metric: Cosine})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h header
	if err := json.Unmarshal(b[20:20+binary.LittleEndian.Uint32(b[12:])], &h); err != nil {
		t.Fatal(err)
	}
	return b, h
}

// withHeader replaces the JSON header of a collection file, checksum included.
func withHeader(b []byte, js []byte) []byte {
	b = slices.Clone(b)
	clear(b[20:headerBytes])
	binary.LittleEndian.PutUint32(b[12:], uint32(len(js)))
	binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(js, castagnoli))
	copy(b[20:headerBytes], js)
	return b
}

// TestOpenOfTheVersionBefore: a file of the oldest version differs only by additional
// sections, which are ignored.
func TestOpenOfTheVersionBefore(t *testing.T) {
	b, h := smallFile(t, 70)
	h.Sections = append(h.Sections, section{Name: "head-max", Offset: headerBytes, Bytes: 48})
	js, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	now, before := filepath.Join(dir, "now"), filepath.Join(dir, "before")
	old := withHeader(b, js)
	binary.LittleEndian.PutUint32(old[8:], oldestVersion)
	if err := errors.Join(os.WriteFile(now, b, 0o600), os.WriteFile(before, old, 0o600)); err != nil {
		t.Fatal(err)
	}
	want, err := Open(now)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	got, err := Open(before)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if why := differ(want, got); why != "" {
		t.Error(why)
	}
	for path, version := range map[string]int{now: fileVersion, before: oldestVersion} {
		if i, err := Stat(path); err != nil || i.Version != version {
			t.Errorf("Stat of version %d: %+v, %v", version, i, err)
		}
	}
}

// TestOpenWithoutSquares: older files have norms of rows instead of their squares. The
// squares are summed anew, and no score depends on the norms in the file.
func TestOpenWithoutSquares(t *testing.T) {
	b, h := smallFile(t, 70)
	for i := range h.Sections {
		if s := &h.Sections[i]; s.Name == rowSquares {
			s.Name = rowNorms
			clear(b[s.Offset : s.Offset+s.Bytes])
			s.CRC = crc32.Checksum(b[s.Offset:s.Offset+s.Bytes], castagnoli)
		}
	}
	js, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "before")
	if err := os.WriteFile(path, withHeader(b, js), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, got := range c.RowSquares {
		if want := kernels.SumSquares(c.Row(i)); got != want {
			t.Fatalf("row %d: square %g, want %g", i, got, want)
		}
	}
}

// TestOpenOfFewerRounds: files of a version that rotated these dimensions by fewer rounds
// are refused, since their codes do not fit today's rotation.
func TestOpenOfFewerRounds(t *testing.T) {
	for _, dim := range []int{300, 512} {
		b, _ := smallFile(t, dim)
		binary.LittleEndian.PutUint32(b[8:], roundsVersion-1)
		path := filepath.Join(t.TempDir(), "before")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err == nil {
			c.Close()
		}
		if dim == 300 && err != nil || dim == 512 && (!errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "512 dimensions too little: build it again")) {
			t.Errorf("dimension %d: %v", dim, err)
		}
	}
	for D, want := range map[int]bool{0: false, 256: false, 288: false, 512: true, 768: true, 800: false, 1 << 13: true, 1<<13 + 32: true, 1<<14 + 256: false, 1 << 16: false, 1<<16 + 32: true, 1 << 21: true} {
		if hasFewerRounds(D) != want {
			t.Errorf("outdated(%d) is %v", D, !want)
		}
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	intact, h := smallFile(t, 70) // with a head
	if h.R == 0 {
		t.Fatal("no head to damage")
	}
	js := int(binary.LittleEndian.Uint32(intact[12:]))
	r := rand.New(rand.NewPCG(1, 9))
	flip := func(lo, hi int) []byte {
		b := slices.Clone(intact)
		b[lo+r.IntN(hi-lo)] ^= 1 << r.IntN(8)
		return b
	}
	edit := func(f func(*header)) []byte {
		g := h
		g.Sections = slices.Clone(h.Sections)
		f(&g)
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		return withHeader(intact, b)
	}
	versioned := func(v uint32) []byte {
		b := slices.Clone(intact)
		binary.LittleEndian.PutUint32(b[8:], v)
		return b
	}
	type damage struct {
		name string
		b    []byte
		want error
	}
	cases := []damage{
		{"empty", nil, ErrForeign},
		{"four bytes", []byte("THRE"), ErrForeign},
		{"npy", append([]byte("\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"), make([]byte, 99)...), ErrForeign},
		{"text", []byte("a text that is longer than twenty bytes"), ErrForeign},
		{"zeros", make([]byte, 1<<17), ErrForeign},
		{"magic", flip(0, 8), ErrForeign},
		{"version", flip(8, 12), ErrVersion},
		{"version to come", versioned(newestVersion + 1), ErrVersion},
		{"version too old", versioned(oldestVersion - 1), ErrVersion},
		{"header's checksum", flip(16, 20), ErrCorrupt},
		{"header longer than its place", append(slices.Clone(intact[:12]), 255, 255, 255, 255, 0, 0, 0, 0), ErrCorrupt},
		{"header is no JSON", withHeader(intact, []byte("{")), ErrCorrupt},
		{"header of another shape", withHeader(intact, []byte(`{"N":"x"}`)), ErrCorrupt},
		{"header of nothing", withHeader(intact, []byte(`{}`)), ErrCorrupt},
		{"no atoms", edit(func(h *header) { h.N = 0 }), ErrCorrupt},
		{"one atom more", edit(func(h *header) { h.N++ }), ErrCorrupt},
		{"too many atoms", edit(func(h *header) { h.N = MaxAtoms + 1 }), ErrCorrupt},
		{"most atoms", edit(func(h *header) { h.N = MaxAtoms }), ErrCorrupt},
		{"another dimension", edit(func(h *header) { h.Dim++ }), ErrCorrupt},
		{"no dimension", edit(func(h *header) { h.Dim = 0 }), ErrCorrupt},
		{"another rotation", edit(func(h *header) { h.D += 4 }), ErrCorrupt},
		{"another head", edit(func(h *header) { h.R = 16 }), ErrCorrupt},
		{"odd head", edit(func(h *header) { h.R = 3 }), ErrCorrupt},
		{"negative head", edit(func(h *header) { h.R = -32 }), ErrCorrupt},
		{"metric", edit(func(h *header) { h.Metric = "hamming" }), ErrCorrupt},
		{"another metric", edit(func(h *header) { h.Metric = "l2" }), ErrCorrupt},
		{"basis", edit(func(h *header) { h.Basis = "fourier" }), ErrCorrupt},
		{"another basis", edit(func(h *header) { h.Basis = "raw" }), ErrCorrupt},
		{"no bytes", edit(func(h *header) { h.Bytes = 0 }), ErrCorrupt},
		{"negative bytes", edit(func(h *header) { h.Bytes = -5 }), ErrCorrupt},
		{"more bytes", edit(func(h *header) { h.Bytes = math.MaxInt64 }), ErrTruncated},
		{"no forecast", edit(func(h *header) { h.Pilot.Shares = h.Pilot.Shares[:1] }), ErrCorrupt},
		{"short forecast", edit(func(h *header) { h.Pilot.Shares = [][]float64{{1}, {}, {1}} }), ErrCorrupt},
	}
	for range 5 {
		cases = append(cases, damage{"header length", flip(12, 16), ErrCorrupt}, damage{"header", flip(20, 20+js), ErrCorrupt})
	}
	for i, s := range h.Sections {
		cases = append(cases,
			damage{"section " + s.Name, flip(int(s.Offset), int(s.Offset+s.Bytes)), ErrCorrupt},
			damage{"first byte of " + s.Name, func() []byte { b := slices.Clone(intact); b[s.Offset] ^= 128; return b }(), ErrCorrupt},
			damage{"last byte of " + s.Name, func() []byte { b := slices.Clone(intact); b[s.Offset+s.Bytes-1] ^= 1; return b }(), ErrCorrupt},
			damage{"cut in " + s.Name, intact[:s.Offset+s.Bytes/2], ErrTruncated},
			damage{"cut at " + s.Name, intact[:s.Offset], ErrTruncated},
			damage{"without " + s.Name, edit(func(h *header) { h.Sections = slices.Delete(h.Sections, i, i+1) }), ErrCorrupt},
			damage{"astray " + s.Name, edit(func(h *header) { h.Sections[i].Offset += 1 << 16 }), ErrCorrupt},
			damage{"unaligned " + s.Name, edit(func(h *header) { h.Sections[i].Offset++ }), ErrCorrupt},
			damage{"in the header " + s.Name, edit(func(h *header) { h.Sections[i].Offset = 0 }), ErrCorrupt},
			damage{"before the file " + s.Name, edit(func(h *header) { h.Sections[i].Offset = -1 << 16 }), ErrCorrupt},
			damage{"far away " + s.Name, edit(func(h *header) { h.Sections[i].Offset = math.MaxInt64 >> 16 << 16 }), ErrCorrupt},
			damage{"longer " + s.Name, edit(func(h *header) { h.Sections[i].Bytes++ }), ErrCorrupt},
		)
	}
	for n := 8; n < len(intact); n += 1 + n/3 {
		cases = append(cases, damage{fmt.Sprintf("cut at %d", n), intact[:n], ErrTruncated})
	}
	cases = append(cases, damage{"without its last byte", intact[:len(intact)-1], ErrTruncated})
	path := filepath.Join(t.TempDir(), "damaged.thresher")
	for _, c := range cases {
		if err := os.WriteFile(path, c.b, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Open(path)
		if err == nil {
			got.Close()
			t.Errorf("%s: opened", c.name)
			continue
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v and the file's name", c.name, err, c.want)
		}
	}
	// The unaltered file opens, and so does one with bytes after its end.
	for _, b := range [][]byte{intact, append(slices.Clone(intact), "more"...)} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
	if err := os.WriteFile(path, []byte("GIF89a and so on, no collection"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Stat(path); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), path) {
		t.Errorf("Stat of a picture: %v", err)
	}
}

// FuzzOpen mutates a collection file: its header, with a valid checksum or without, one
// byte anywhere, or its length. Open must not panic, and a file that opens must be safe to
// read everywhere.
func FuzzOpen(f *testing.F) {
	whole, h := smallFile(f, 16)
	good, err := json.Marshal(h)
	if err != nil {
		f.Fatal(err)
	}
	add := func(g func(*header)) {
		x := h
		g(&x)
		js, err := json.Marshal(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(js, uint32(0), byte(0), uint32(len(whole)))
	}
	f.Add(good, uint32(0), byte(0), uint32(len(whole)))
	f.Add([]byte{}, uint32(headerBytes), byte(1), uint32(len(whole)))
	f.Add([]byte{}, uint32(9), byte(1), uint32(len(whole)))
	f.Add([]byte{}, uint32(0), byte(0), uint32(len(whole)/2))
	f.Add([]byte{}, uint32(0), byte(0), uint32(19))
	f.Add([]byte("{}"), uint32(0), byte(0), uint32(len(whole)))
	f.Add([]byte(`{"N":1,"Dim":1,"Metric":"ip","Basis":"raw"}`), uint32(0), byte(0), uint32(len(whole)))
	add(func(h *header) { h.D = 0 })
	add(func(h *header) { h.R = 4 })
	add(func(h *header) { h.N = 64 })
	add(func(h *header) { h.Dim, h.D = 1<<20, 1<<20 })
	add(func(h *header) { h.Basis = "raw" })
	add(func(h *header) { h.Pilot = Pilot{Ks: []int{1}} })
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, js []byte, at uint32, xor byte, length uint32) {
		b := slices.Clone(whole)
		if len(js) > 0 && len(js) <= headerBytes-20 {
			b = withHeader(b, js)
		}
		b[int(at)%len(b)] ^= xor
		b = b[:min(int(length), len(b))]
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		defer c.Close()
		readAll(t, c)
	})
}

// readAll reads all that a search reads.
func readAll(t *testing.T, c *Collection) {
	for i, row := range c.Order {
		if int(row) >= c.N {
			t.Fatalf("atom %d is row %d of %d", i, row, c.N)
		}
		_ = c.Row(int(row))
		if c.Coded() {
			_ = c.Code(i)
			_ = c.NormCaps[i/PanelAtoms]
		}
	}
	if c.Coded() {
		var p Query
		c.Prepare(&p, c.Row(0), 1, nil)
		for i := range c.Forecast().Ks {
			for k := range c.Stages {
				_ = c.Forecast().Shares[i][k]
			}
		}
	}
	if c.Bytes() <= 0 {
		t.Fatal("no bytes")
	}
}
