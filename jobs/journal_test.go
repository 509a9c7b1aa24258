package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func exampleState() state {
	return state{
		Version:     stateVersion,
		Fingerprint: "numbers",
		Outputs:     []outputState{{"lines", 12, new(uint32)}, {"blobs", 0, nil}},
		Chunks:      3,
		Items:       11,
		Totals:      []byte{0, 255, '"'},
	}
}

func TestStateOutOfRange(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*state)
	}{
		{"version", func(s *state) { s.Version++ }},
		{"items", func(s *state) { s.Items = -1 }},
		{"chunks", func(s *state) { s.Chunks = -1 }},
		{"length", func(s *state) { s.Outputs[1].Length = -1 }},
		{"outputs", func(s *state) { s.Outputs = nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := exampleState()
			c.change(&s)
			record, err := s.encode()
			if err != nil {
				t.Fatal(err)
			}
			if s, err := decodeState(record); err == nil {
				t.Errorf("took %+v", s)
			}
		})
	}
}

// TestForeignProgress puts other things in place of a progress file.
func TestForeignProgress(t *testing.T) {
	for name, content := range map[string]string{
		"empty":      "",
		"short text": "my notes\n",
		"long text":  strings.Repeat("my notes\n", 1e4),
		"zeros":      string(make([]byte, 1<<15)),
		"magic":      slotMagic,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			spec := specIn(dir)
			spec.Resume = true
			write(t, spec.Progress, content)
			before := tree(t, dir)
			_, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers())
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), spec.Progress) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
				t.Errorf("files have changed: %.200s", diff)
			}
		})
	}
}

// TestDamagedProgress truncates a progress file and flips bits. With one record damaged the
// job continues from the other; with both damaged the file is refused by name.
func TestDamagedProgress(t *testing.T) {
	origin := t.TempDir()
	half(t, origin)
	files := tree(t, origin)
	whole := files["out.progress"]
	dir := t.TempDir()
	spec := specIn(dir)
	spec.Resume = true
	check := func(name string, fine bool, damaged []byte) {
		t.Helper()
		write(t, spec.Progress, string(damaged))
		for _, path := range spec.Outputs {
			write(t, path, files[filepath.Base(path)])
		}
		_, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers())
		if fine && err == nil {
			checkOutputs(t, readDisk(t), spec, 23)
		} else if fine || !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), spec.Progress) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, size := range []int{1, 20, 200, slotBlock - 1, slotBlock, slotBlock + 200, len(whole) - 1} {
		check(fmt.Sprint("cut to ", size), size >= slotBlock-1, []byte(whole[:size]))
	}
	flips := 150
	if testing.Short() {
		flips = 30
	}
	r := rand.New(rand.NewPCG(4, 0))
	for range flips {
		single, twice := []byte(whole), []byte(whole)
		first, second := r.IntN(slotHeader+100), slotBlock+r.IntN(slotHeader+100)
		single[[]int{first, second}[r.IntN(2)]] ^= 1 << r.IntN(8)
		check("one record flipped", true, single)
		twice[first] ^= 1 << r.IntN(8)
		twice[second] ^= 1 << r.IntN(8)
		check(fmt.Sprint("both records flipped, in ", first, " and ", second), false, twice)
	}
}

// TestLongRecords has records shorter than a block and of many blocks.
func TestLongRecords(t *testing.T) {
	st := newDiskStorage()
	path := filepath.Join(t.TempDir(), "out.progress")
	want := exampleState()
	if err := st.create(path, want, false); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 0))
	for range 20 {
		j, got, err := st.open(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		for range r.IntN(4) {
			want.Totals = make([]byte, 1<<r.IntN(18))
			want.Items++
			if err := j.save(want); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCreateTwice starts two runs at the same instant.
func TestCreateTwice(t *testing.T) {
	st := newDiskStorage()
	dir := t.TempDir()
	path := filepath.Join(dir, "out.progress")
	if err := st.create(path, exampleState(), false); err != nil {
		t.Fatal(err)
	}
	if err := st.create(path, state{}, false); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("second create: %v", err)
	}
	j, got, err := st.open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if diff := cmp.Diff(exampleState(), got); diff != "" {
		t.Error(diff)
	}
	if files := tree(t, dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

// TestReplacedWhileOpening gives a run the lock of a file whose name another file has taken
// in the meantime.
func TestReplacedWhileOpening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.progress")
	st := newDiskStorage()
	if err := st.create(path, exampleState(), false); err != nil {
		t.Fatal(err)
	}
	j, err := lockFile(path, st.lockWait)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := j.checkName(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	if err := st.create(path, exampleState(), false); err != nil {
		t.Fatal(err)
	}
	if err := j.checkName(); !errors.Is(err, ErrLocked) {
		t.Errorf("replaced: %v", err)
	}
}
