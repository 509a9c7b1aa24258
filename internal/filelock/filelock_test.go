package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOneHolderAtATime(t *testing.T) {
	if !Supported {
		t.Skip("no locks on this system")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, dir} {
		holder, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for range 2 {
			if taken, err := Try(holder); !taken || err != nil {
				t.Fatal(taken, err)
			}
		}
		if taken, err := Try(other); taken || err != nil {
			t.Fatalf("%s: a second holder: %v, %v", path, taken, err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := Wait(ended, other); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: waiting: %v", path, err)
		}
		holder.Close()
		if err := Wait(t.Context(), other); err != nil {
			t.Fatalf("%s: freed: %v", path, err)
		}
	}
	closed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if taken, err := Try(closed); taken || err == nil {
		t.Errorf("a closed file: %v, %v", taken, err)
	}
}

func TestSharedLock(t *testing.T) {
	if !Supported {
		t.Skip("no locks on this system")
	}
	dir := t.TempDir()
	var open [3]*os.File
	for i := range open {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		open[i] = f
	}
	for _, f := range open[:2] {
		if err := Share(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if taken, err := Try(open[2]); taken || err != nil {
		t.Fatalf("a holder beside two that share: %v, %v", taken, err)
	}
	open[0].Close()
	open[1].Close()
	if taken, err := Try(open[2]); !taken || err != nil {
		t.Fatalf("freed: %v, %v", taken, err)
	}
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := Share(ended, other); !errors.Is(err, context.Canceled) {
		t.Fatalf("shared beside a holder: %v", err)
	}
}
