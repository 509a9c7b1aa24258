package jobs

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
)

func exampleState() state {
	return state{
		Version:     stateVersion,
		Fingerprint: "numbers",
		Outputs:     []outputState{{"lines", 12}, {"blobs", 0}},
		Chunks:      3,
		Items:       11,
		Totals:      []byte{0, 255, '"'},
	}
}

func TestStateSurvives(t *testing.T) {
	want := exampleState()
	record, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeState(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for i := range record {
		for bit := range 8 {
			record[i] ^= 1 << bit
			if _, err := decodeState(record); err == nil {
				t.Errorf("bit %d of byte %d flipped unnoticed", bit, i)
			}
			record[i] ^= 1 << bit
		}
	}
	for n := range record {
		if _, err := decodeState(record[:n]); err == nil {
			t.Errorf("cut to %d bytes unnoticed", n)
		}
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

func FuzzDecodeState(f *testing.F) {
	s := exampleState()
	record, err := s.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	f.Add(record[:7])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, record []byte) {
		s, err := decodeState(record)
		if err != nil {
			return
		}
		again, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeState(again); err != nil {
			t.Fatal(err)
		}
	})
}

// TestForeignProgress puts things that are no progress database in its place.
func TestForeignProgress(t *testing.T) {
	foreign := func(t *testing.T, path string, fill func(*bbolt.Tx) error) {
		db, err := bbolt.Open(path, 0o666, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(fill), db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{"empty", func(t *testing.T, path string) { write(t, path, "") }},
		{"short text", func(t *testing.T, path string) { write(t, path, "my notes\n") }},
		{"long text", func(t *testing.T, path string) { write(t, path, strings.Repeat("my notes\n", 1e4)) }},
		{"zeros", func(t *testing.T, path string) { write(t, path, string(make([]byte, 1<<15))) }},
		{"another program's database", func(t *testing.T, path string) {
			foreign(t, path, func(tx *bbolt.Tx) error {
				_, err := tx.CreateBucket([]byte("accounts"))
				return err
			})
		}},
		{"no record", func(t *testing.T, path string) {
			foreign(t, path, func(tx *bbolt.Tx) error {
				_, err := tx.CreateBucket([]byte(bucketName))
				return err
			})
		}},
		{"broken record", func(t *testing.T, path string) {
			foreign(t, path, func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucket([]byte(bucketName))
				if err != nil {
					return err
				}
				return b.Put([]byte(stateKey), []byte("{}"))
			})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := specIn(dir)
			spec.Resume = true
			c.make(t, spec.Progress)
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

// TestDamagedProgress cuts and flips a progress database: the job is refused
// by name, or, where the damage hit nothing in use, comes out right.
func TestDamagedProgress(t *testing.T) {
	origin := t.TempDir()
	half(t, origin)
	files := tree(t, origin)
	whole := files["out.progress"]
	dir := t.TempDir()
	spec := specIn(dir)
	spec.Resume = true
	for _, path := range spec.Outputs {
		write(t, path, files[filepath.Base(path)])
	}

	refused, fine := 0, 0
	check := func(what string, at int, damaged string) {
		t.Helper()
		write(t, spec.Progress, damaged)
		for _, path := range spec.Outputs {
			write(t, path, files[filepath.Base(path)])
		}
		_, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers())
		if err == nil {
			fine++
			checkOutputs(t, readDisk(t), spec, 23)
			return
		}
		refused++
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), spec.Progress) {
			t.Errorf("%s %d: error %v", what, at, err)
		}
	}

	page := os.Getpagesize()
	for _, size := range []int{1, 20, page - 1, page, 2 * page, 3*page - 5, 3 * page, 4 * page} {
		check("cut to", size, whole[:min(size, len(whole))])
	}
	flips := 150
	if testing.Short() {
		flips = 30
	}
	r := rand.New(rand.NewPCG(4, 0))
	for range flips {
		// Bits that matter lie at the beginning of the pages.
		at := r.IntN(len(whole)/page)*page + r.IntN(160)
		damaged := []byte(whole)
		damaged[at] ^= byte(1 << r.IntN(8))
		check("flip in byte", at, string(damaged))
	}
	t.Logf("%d refused, %d fine", refused, fine)
	if refused < 10 || fine < 10 {
		t.Errorf("%d refused, %d fine: the damage misses its aim", refused, fine)
	}
}

// TestLongRecords has records of every size between one page and several, as
// the check of the pages must take all that bbolt makes of them.
func TestLongRecords(t *testing.T) {
	st := newDiskStorage()
	path := filepath.Join(t.TempDir(), "out.progress")
	want := exampleState()
	if err := st.create(path, want, false); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 0))
	for range 20 {
		j, err := st.open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.load()
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

// TestCreateTwice is the case of two runs begun at the same instant.
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
	j, err := st.open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	got, err := j.load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(exampleState(), got); diff != "" {
		t.Error(diff)
	}
	if files := tree(t, dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
}

// TestReplacedWhileOpening gives a run the lock of a database that has lost its
// name to another one meanwhile.
func TestReplacedWhileOpening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.progress")
	st := newDiskStorage()
	if err := st.create(path, exampleState(), false); err != nil {
		t.Fatal(err)
	}
	j := &diskJournal{path: path}
	if err := j.openDB(st.lockWait, openChecked); err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if err := j.checkName(); err != nil {
		t.Fatal(err)
	}
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
