package jobs

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// TestDamagedOutputIsNotContinued: a byte that changed before the recorded length is found when the job resumes, which then
// changes nothing; bytes after that length, of a chunk that was not recorded, are cut off as ever.
func TestDamagedOutputIsNotContinued(t *testing.T) {
	for at := range 2 {
		spec := specIn(t.TempDir())
		stop := errors.New("stop")
		if _, err := Run(t.Context(), spec, &numbers{n: 20, size: 4}, stopAt(12, func() error { return stop })); !errors.Is(err, stop) {
			t.Fatal(err)
		}
		path := spec.Outputs[at]
		good, err := os.ReadFile(path)
		if err != nil || len(good) < 2 {
			t.Fatal(len(good), err)
		}
		spec.Resume = true
		for _, flipped := range []int{0, len(good) / 2, len(good) - 1} {
			bad := append([]byte(nil), good...)
			bad[flipped] ^= 4
			if err := os.WriteFile(path, append(bad, "torn"...), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Run(t.Context(), spec, &numbers{n: 20, size: 4}, answerNumbers())
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "are not those that were written") {
				t.Errorf("byte %d of output %d changed: error %v", flipped, at, err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(bad)+"torn" {
				t.Errorf("the damaged file was changed, or cannot be read: %v", err)
			}
		}
		if err := os.WriteFile(path, append(good[:len(good):len(good)], "torn"...), 0o600); err != nil {
			t.Fatal(err)
		}
		sum, err := Run(t.Context(), spec, &numbers{n: 20, size: 4}, answerNumbers())
		if err != nil || !sum.Complete {
			t.Fatal(sum, err)
		}
		checkOutputs(t, readDisk(t), spec, 20)
	}
}

// TestJobOfBeforeThereWereSums: a job that an earlier version began goes on, and its outputs are not checked.
func TestJobOfBeforeThereWereSums(t *testing.T) {
	spec := specIn(t.TempDir())
	stop := errors.New("stop")
	if _, err := Run(t.Context(), spec, &numbers{n: 20, size: 4}, stopAt(12, func() error { return stop })); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	j, s, err := newDiskStorage().open(spec.Progress)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Outputs {
		s.Outputs[i].CRC = nil
	}
	if err := errors.Join(j.save(s), j.close()); err != nil {
		t.Fatal(err)
	}
	spec.Resume = true
	if sum, err := Run(t.Context(), spec, &numbers{n: 20, size: 4}, answerNumbers()); err != nil || !sum.Complete {
		t.Fatal(sum, err)
	}
	checkOutputs(t, readDisk(t), spec, 20)
}

// TestDeliveredJob: the same job, given again, says that it was done, with or without its outputs; another job is refused,
// and so are outputs that changed.
func TestDeliveredJob(t *testing.T) {
	spec := specIn(t.TempDir())
	if err := Deliver(spec.Progress); err == nil {
		t.Error("a job that never began was delivered")
	}
	spec.Resume = true
	src := func() *numbers { return &numbers{n: 13, size: 4} }
	if sum, err := Run(t.Context(), spec, src(), answerNumbers()); err != nil || sum.Delivered {
		t.Fatal(sum, err)
	}
	if err := Deliver(spec.Progress); err != nil {
		t.Fatal(err)
	}
	never := func(context.Context, []int64, int64, []byte) ([][]byte, []byte, error) {
		t.Error("it was answered again")
		return nil, nil, errors.New("never")
	}
	again := func() error {
		sum, err := Run(t.Context(), spec, src(), never)
		if err == nil {
			checkTotals(t, sum, 13)
			if !sum.Complete || !sum.Delivered {
				t.Errorf("summary %+v", sum)
			}
		}
		return err
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	good := readDisk(t)(spec.Outputs[0])
	for name, content := range map[string]string{"changed": "x" + string(good[1:]), "longer": string(good) + "x", "cut": string(good[1:])} {
		if err := os.WriteFile(spec.Outputs[0], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := again(); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(spec.Outputs[0]); err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
	spec.Fingerprint += "2"
	if err := again(); !errors.Is(err, ErrFingerprint) {
		t.Errorf("another job: %v", err)
	}
	spec.Earlier = strings.TrimSuffix(spec.Fingerprint, "2")
	if err := again(); err != nil {
		t.Errorf("done by an earlier program: %v", err)
	}
}

// TestEarlierJob: a job that an earlier program began in another form is refused as such.
func TestEarlierJob(t *testing.T) {
	spec := specIn(t.TempDir())
	spec.Resume = true
	if _, err := Run(t.Context(), spec, &numbers{n: 13, size: 4}, answerNumbers()); err != nil {
		t.Fatal(err)
	}
	spec.Earlier = spec.Fingerprint
	spec.Fingerprint += "2"
	if _, err := Run(t.Context(), spec, &numbers{n: 13, size: 4}, answerNumbers()); !errors.Is(err, ErrEarlier) || errors.Is(err, ErrFingerprint) {
		t.Error(err)
	}
	spec.Earlier += "3"
	if _, err := Run(t.Context(), spec, &numbers{n: 13, size: 4}, answerNumbers()); !errors.Is(err, ErrFingerprint) {
		t.Error(err)
	}
}

// TestRecover: what is durable is told, and the rest is cut off; damage is told, and the progress of no job is none.
func TestRecover(t *testing.T) {
	spec := specIn(t.TempDir())
	stop := errors.New("stop")
	if _, err := Run(t.Context(), spec, &numbers{n: 20, size: 4}, stopAt(12, func() error { return stop })); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	spec.Resume = true
	path := spec.Outputs[0]
	good := readDisk(t)(path)
	if err := os.WriteFile(path, append(good[:len(good):len(good)], "torn"...), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := Recover(t.Context(), spec)
	if err != nil || sum.Items != 12 || sum.Complete {
		t.Fatal(sum, err)
	}
	checkOutputs(t, readDisk(t), spec, 12)
	checkTotals(t, sum, 12)
	if err := os.WriteFile(path, good[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(t.Context(), spec); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}
