package jobs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// TestTornRecord loses any of the sectors of the record being written, as a power failure
// does, and reads the previous record, or the new one if all sectors were written.
func TestTornRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const sector = 512
		r := rand.New(rand.NewPCG(6, rapid.Uint64().Draw(t, "seed")))
		payload := func(sequence int) []byte {
			p := make([]byte, r.IntN(3*slotBlock))
			for i := range p {
				p[i] = byte(sequence)
			}
			return p
		}
		var disk memoryFile
		last := payload(0)
		if err := writeSlot(&disk, 0, last); err != nil {
			t.Fatal(err)
		}
		for sequence := 1; sequence < 8; sequence++ {
			before := bytes.Clone(disk.data)
			next := payload(sequence)
			if err := writeSlot(&disk, uint64(sequence), next); err != nil {
				t.Fatal(err)
			}
			torn := bytes.Clone(disk.data)
			lost := false
			for at := 0; at < len(torn); at += sector {
				end := min(at+sector, len(torn))
				old := make([]byte, end-at)
				copy(old, before[min(at, len(before)):])
				if !bytes.Equal(old, torn[at:end]) && r.IntN(4) == 0 {
					copy(torn[at:], old)
					lost = true
				}
			}
			want, number := next, sequence
			if lost {
				want, number = last, sequence-1
			}
			got, p, err := newestRecord(bytes.NewReader(torn), int64(len(torn)))
			if err != nil || got != uint64(number) || !bytes.Equal(p, want) {
				t.Fatalf("record %d of %d bytes, %v; want %d of %d", got, len(p), err, number, len(want))
			}
			last = next
		}
	})
}

// TestEveryBitOfARecordCounts flips bits of, and truncates, a file that has one record.
func TestEveryBitOfARecordCounts(t *testing.T) {
	var disk memoryFile
	if err := writeSlot(&disk, 2, []byte("progress")); err != nil {
		t.Fatal(err)
	}
	file := disk.data
	read := func(p []byte) error {
		_, _, err := newestRecord(bytes.NewReader(p), int64(len(p)))
		return err
	}
	if err := read(file); err != nil {
		t.Fatal(err)
	}
	for i := range file {
		for bit := range 8 {
			file[i] ^= 1 << bit
			if !errors.Is(read(file), errNoRecord) {
				t.Errorf("bit %d of byte %d flipped unnoticed", bit, i)
			}
			file[i] ^= 1 << bit
		}
		if !errors.Is(read(file[:i]), errNoRecord) {
			t.Errorf("cut to %d bytes unnoticed", i)
		}
	}
}

// FuzzProgress reads any file as progress of this release and of earlier ones: it is refused
// as damaged, or its state can be recorded and read again.
func FuzzProgress(f *testing.F) {
	dir := f.TempDir()
	half(f, dir)
	file := []byte(tree(f, dir)["out.progress"])
	f.Add(file)
	f.Add(file[:slotBlock])
	f.Add([]byte("notes"))
	f.Add([]byte(bboltOf(f, exampleState())))
	path := filepath.Join(dir, "fuzzed")
	st := newDiskStorage()
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		j, s, err := st.open(path)
		if errors.Is(err, ErrDamaged) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Totals = append(s.Totals, 1)
		if err := errors.Join(j.save(s), j.close()); err != nil {
			t.Fatal(err)
		}
		j, again, err := st.open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer j.close()
		if !bytes.Equal(again.Totals, s.Totals) {
			t.Errorf("recorded %+v, read %+v", s, again)
		}
	})
}
