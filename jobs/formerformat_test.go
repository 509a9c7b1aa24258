package jobs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// bboltOf returns the database that the former version kept after it recorded states in
// their order.
func bboltOf(t testing.TB, states ...state) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: formerPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		s.Outputs = slices.Clone(s.Outputs)
		for i := range s.Outputs {
			s.Outputs[i].CRC = nil // that version had none
		}
		body, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		record := binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli))
		record = append(record, body...)
		err = db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("thresher job"))
			if err != nil {
				return err
			}
			return b.Put([]byte("state"), record)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return string(readDisk(t)(path))
}

// TestFormerProgress resumes jobs whose progress a bbolt database has, at every chunk and
// with totals that take pages of their own.
func TestFormerProgress(t *testing.T) {
	const n, size = 23, 4
	for _, totals := range []int{0, 20000} {
		dir := t.TempDir()
		spec := specIn(dir)
		states := []state{firstState(&spec)}
		spec.Observe = func(p Progress) {
			s := states[len(states)-1]
			s.Outputs = slices.Clone(s.Outputs)
			for i, path := range spec.Outputs {
				s.Outputs[i].Length = int64(len(readDisk(t)(path)))
			}
			s.Chunks, s.Items, s.Totals = p.Chunks, p.Items, make([]byte, totals)
			states = append(states, s)
		}
		if _, err := Run(context.Background(), spec, &numbers{n: n, size: size}, answerNumbers()); err != nil {
			t.Fatal(err)
		}
		complete := states[len(states)-1]
		complete.Complete = true
		states = append(states, complete)
		outputs := tree(t, dir)

		// The totals are the test's own, so this work ignores them.
		answer := answerNumbers()
		work := func(ctx context.Context, chunk []int64, first int64, _ []byte) ([][]byte, []byte, error) {
			out, _, err := answer(ctx, chunk, first, fmt.Appendf(nil, `{"Items":%d}`, first))
			return out, make([]byte, totals), err
		}
		spec.Observe, spec.Resume = nil, true
		for recorded := 1; recorded <= len(states); recorded++ {
			write(t, spec.Progress, bboltOf(t, states[:recorded]...))
			for _, path := range spec.Outputs {
				write(t, path, outputs[filepath.Base(path)])
			}
			sum, err := Run(context.Background(), spec, &numbers{n: n, size: size}, work)
			if err != nil {
				t.Fatal(err)
			}
			last := states[recorded-1].Items
			if sum.Resumed > last || sum.Resumed < last-size {
				t.Errorf("%d items were recorded, went on from %d", last, sum.Resumed)
			}
			checkOutputs(t, readDisk(t), spec, n)
			if err := Finish(spec.Progress); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A bbolt database of something else is no progress.
func TestFormerProgressOfAnother(t *testing.T) {
	spec := specIn(t.TempDir())
	spec.Resume = true
	other := exampleState()
	other.Version++ // so that it is not understood
	write(t, spec.Progress, bboltOf(t, other))
	_, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers())
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(spec.Outputs[0]); err == nil {
		t.Error("an output was made")
	}
}
