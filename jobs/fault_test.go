package jobs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFaults makes every step of a job fail in turn: a full disk before and in the middle of
// each write, failing flushes, and records of progress that fail before or after they are
// written.
func TestFaults(t *testing.T) {
	const n, size = 23, 4
	seen := map[string]int{}
	for at := 0; ; at++ {
		disk := newMemory()
		spec := specIn("/job")
		left, failed, failedPath := at, "", ""
		st := hooked{disk, func(op, path string) error {
			if left--; left == -1 {
				failed, failedPath = op, path
				return syscall.ENOSPC
			}
			return nil
		}}
		sum, err := run(context.Background(), spec, st, &numbers{n: n, size: size}, answerNumbers())
		if failed == "" {
			if err != nil || !sum.Complete {
				t.Fatalf("no fault: %+v, %v", sum, err)
			}
			break
		}
		seen[failed]++
		where := fmt.Sprintf("step %d, %s %s", at, failed, failedPath)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("%s: error %v", where, err)
		}
		if sum.Complete {
			t.Fatalf("%s: complete", where)
		}

		switch failed {
		case "write", "wrote half", "sync":
			var output int
			for i, path := range spec.Outputs {
				if path == failedPath {
					output = i
				}
			}
			before, _ := reference(sum.Items)
			want := fmt.Sprintf("bytes at offset %d", len(before[output]))
			if !strings.Contains(err.Error(), failedPath) || !strings.Contains(err.Error(), want) {
				t.Fatalf("%s: error %q does not name %s and %q", where, err, failedPath, want)
			}
			if sum.Items > 0 {
				checkOutputs(t, disk.read, spec, sum.Items) // truncated to this
			} else if left := len(disk.files) + len(disk.journals); left > 0 {
				t.Fatalf("%s: left %d files behind that hold nothing", where, left)
			}
		case "saved":
			// The record counts a chunk whose bytes must still be there.
			s := disk.journals[spec.Progress].state
			if s.Items != n && s.Items != sum.Items+size {
				t.Fatalf("%s: recorded %d items, summary says %d", where, s.Items, sum.Items)
			}
		case "output":
			// Nothing was begun, so the same call must succeed.
			if left := len(disk.files) + len(disk.journals); left > 0 {
				t.Fatalf("%s: left %d files behind", where, left)
			}
		}

		spec.Resume = true
		src := &numbers{n: n, size: size}
		sum, err = run(context.Background(), spec, disk, src, answerNumbers())
		if err != nil || !sum.Complete {
			t.Fatalf("%s: resuming: %+v, %v", where, sum, err)
		}
		checkOutputs(t, disk.read, spec, n)
		checkTotals(t, sum, n)
	}
	// 6 chunks; 2 outputs; 6 records of chunks and 1 of the end.
	for op, want := range map[string]int{"write": 12, "wrote half": 12, "sync": 12, "save": 7, "saved": 7, "output": 2} {
		if seen[op] != want {
			t.Errorf("%d faults at %q, want %d", seen[op], op, want)
		}
	}
}

// TestFaultBeforeCuttingBack makes truncation fail as well: the error says so, and resuming
// truncates.
func TestFaultBeforeCuttingBack(t *testing.T) {
	disk := newMemory()
	spec := specIn("/job")
	writes := 0
	cannotCut := errors.New("cannot cut")
	st := hooked{disk, func(op, path string) error {
		if op == "wrote half" {
			if writes++; writes == 4 {
				return syscall.ENOSPC
			}
		}
		if op == "truncate" {
			return cannotCut
		}
		return nil
	}}
	sum, err := run(context.Background(), spec, st, &numbers{n: 23, size: 4}, answerNumbers())
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, cannotCut) || sum.Items != 4 {
		t.Fatalf("%d items, error %v", sum.Items, err)
	}
	before, _ := reference(4)
	if len(disk.read(spec.Outputs[0])) <= len(before[0]) {
		t.Fatal("output was cut back")
	}
	spec.Resume = true
	if _, err := run(context.Background(), spec, disk, &numbers{n: 23, size: 4}, answerNumbers()); err != nil {
		t.Fatal(err)
	}
	checkOutputs(t, disk.read, spec, 23)
}

// shortStorage has files that, from offset from on, write less than requested without an
// error.
type shortStorage struct {
	*memory
	from int64
}

type shortFile struct {
	file
	from int64
}

func (s shortStorage) output(path string, flag int) (file, error) {
	f, err := s.memory.output(path, flag)
	return shortFile{f, s.from}, err
}

func (f shortFile) WriteAt(p []byte, off int64) (int, error) {
	if off < f.from {
		return f.file.WriteAt(p, off)
	}
	return f.file.WriteAt(p[:len(p)-1], off)
}

func TestShortWrite(t *testing.T) {
	disk := newMemory()
	spec := specIn("/job")
	_, err := run(context.Background(), spec, shortStorage{disk, 1}, &numbers{n: 23, size: 4}, answerNumbers())
	if err == nil || !strings.Contains(err.Error(), "short write") || !strings.Contains(err.Error(), filepath.Base(spec.Outputs[0])) {
		t.Fatalf("error %v", err)
	}
	checkOutputs(t, disk.read, spec, 4)
}
