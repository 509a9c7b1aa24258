package folder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReadersRemember: who only reads a folder verifies its segments once, and the folder remembers that of the files as they are.
func TestReadersRemember(t *testing.T) {
	b := newBackend(t)
	path, _, _ := writtenFolder(t, 3)
	files, err := filepath.Glob(filepath.Join(path, "*.thresher"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	manifest, err := os.ReadFile(filepath.Join(path, ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	try := func(v Verify) error {
		f, err := Open(context.Background(), path, Options{Backend: b, ReadOnly: true, Verify: v})
		if err == nil {
			closed(t, f)
		}
		return err
	}
	damage := func() {
		t.Helper()
		content, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		content[headerBytes+5] ^= 1
		if err := os.WriteFile(files[0], content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := try(VerifyOnce); err != nil {
		t.Fatal(err)
	}
	damage()
	if err := try(VerifyOnce); !errors.Is(err, ErrDamaged) {
		t.Errorf("another file was not verified: %v", err)
	}
	if err := os.Chtimes(files[0], info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := try(VerifyOnce); err != nil {
		t.Errorf("the same file was verified again: %v", err)
	}
	if err := try(VerifyNow); !errors.Is(err, ErrDamaged) {
		t.Errorf("it was not verified now: %v", err)
	}
	if err := os.WriteFile(filepath.Join(path, verifiedName), []byte(`{"1.thr`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := try(VerifyOnce); !errors.Is(err, ErrDamaged) {
		t.Errorf("what is no list of files was believed: %v", err)
	}
	damage() // back
	if err := try(VerifyOnce); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(filepath.Join(path, ManifestName)); err != nil || string(now) != string(manifest) {
		t.Errorf("a reader wrote the manifest: %v", err)
	}
}

// TestDigest: the same vectors have one digest, and others have another.
func TestDigest(t *testing.T) {
	b := newBackend(t)
	path, _, _ := writtenFolder(t, 3)
	digest := func() string {
		f := opened(t, path, Options{Backend: b, ReadOnly: true, Digest: true})
		defer closed(t, f)
		return f.Digest()
	}
	first := digest()
	if again := digest(); again != first || len(first) != 64 {
		t.Errorf("%q, and then %q", first, again)
	}
	f := opened(t, path, Options{Backend: b, ByHand: true})
	now := f.Snapshot()
	one := now.IDs(now.Snapshot.IDs()[:1])
	if err := now.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Delete(context.Background(), one); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if digest() == first {
		t.Error("without a vector the digest is the same")
	}
}
