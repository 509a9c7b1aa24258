package jobs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// half leaves a job of 23 items in dir with 8 of them answered.
func half(t testing.TB, dir string) Spec {
	t.Helper()
	spec := specIn(dir)
	broken := errors.New("broken")
	_, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, stopAt(8, func() error { return broken }))
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	return spec
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tree returns every file below dir.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			files[e.Name()] = string(readDisk(t)(filepath.Join(dir, e.Name())))
		}
	}
	return files
}

// TestRefused checks that a refusal names the file and the reason and changes
// no file.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string) Spec
		is   error
		says []string
	}{
		{
			"an output exists", func(t *testing.T, dir string) Spec {
				spec := specIn(dir)
				write(t, spec.Outputs[1], "mine")
				return spec
			}, fs.ErrExist, []string{"blobs"},
		}, {
			"an empty output exists", func(t *testing.T, dir string) Spec {
				spec := specIn(dir)
				write(t, spec.Outputs[0], "")
				return spec
			}, fs.ErrExist, []string{"lines"},
		}, {
			"progress exists", func(t *testing.T, dir string) Spec {
				return half(t, dir)
			}, fs.ErrExist, []string{"out.progress"},
		}, {
			"resume with output, without progress", func(t *testing.T, dir string) Spec {
				spec := specIn(dir)
				spec.Resume = true
				write(t, spec.Outputs[1], "mine")
				return spec
			}, fs.ErrExist, []string{"blobs", "out.progress"},
		}, {
			"another fingerprint", func(t *testing.T, dir string) Spec {
				spec := half(t, dir)
				spec.Resume, spec.Fingerprint = true, "letters"
				return spec
			}, ErrFingerprint, []string{"out.progress", `"numbers"`, `"letters"`},
		}, {
			"another output", func(t *testing.T, dir string) Spec {
				spec := half(t, dir)
				spec.Resume = true
				spec.Outputs = []string{spec.Outputs[0], filepath.Join(dir, "other")}
				return spec
			}, ErrFingerprint, []string{"out.progress", `"blobs"`, `"other"`},
		}, {
			"another number of outputs", func(t *testing.T, dir string) Spec {
				spec := half(t, dir)
				spec.Resume, spec.Outputs = true, spec.Outputs[:1]
				return spec
			}, ErrFingerprint, []string{"out.progress", "2 outputs, now 1"},
		}, {
			"output missing", func(t *testing.T, dir string) Spec {
				spec := half(t, dir)
				spec.Resume = true
				if err := os.Remove(spec.Outputs[0]); err != nil {
					t.Fatal(err)
				}
				return spec
			}, ErrDamaged, []string{"lines", "missing"},
		}, {
			"output truncated", func(t *testing.T, dir string) Spec {
				spec := half(t, dir)
				spec.Resume = true
				if err := os.Truncate(spec.Outputs[1], 3); err != nil {
					t.Fatal(err)
				}
				return spec
			}, ErrDamaged, []string{"blobs", "3 bytes long"},
		}, {
			"output is a folder", func(t *testing.T, dir string) Spec {
				spec := half(t, dir)
				spec.Resume = true
				if err := errors.Join(os.Remove(spec.Outputs[0]), os.Mkdir(spec.Outputs[0], 0o777)); err != nil {
					t.Fatal(err)
				}
				return spec
			}, nil, []string{"lines", "not a regular file"},
		}, {
			"progress is a folder", func(t *testing.T, dir string) Spec {
				spec := specIn(dir)
				spec.Resume = true
				if err := os.Mkdir(spec.Progress, 0o777); err != nil {
					t.Fatal(err)
				}
				return spec
			}, nil, []string{"out.progress", "directory"},
		}, {
			"folder of an output is missing", func(t *testing.T, dir string) Spec {
				spec := specIn(dir)
				spec.Outputs[1] = filepath.Join(dir, "none", "blobs")
				return spec
			}, fs.ErrNotExist, []string{filepath.Join("none", "blobs")},
		}, {
			"folder of the progress is missing", func(t *testing.T, dir string) Spec {
				spec := specIn(dir)
				spec.Progress = filepath.Join(dir, "none", "out.progress")
				return spec
			}, fs.ErrNotExist, []string{filepath.Join("none", "out.progress")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			spec := c.make(t, dir)
			before := tree(t, dir)
			_, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers())
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("error %v, want %v", err, c.is)
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			after := tree(t, dir)
			for _, name := range []string{"lines", "blobs", "other", "out.progress"} {
				if before[name] != after[name] {
					t.Errorf("%s has changed", name)
				}
			}
			if len(before) != len(after) {
				t.Errorf("%d files before, %d after", len(before), len(after))
			}
		})
	}
}

func TestForce(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string) Spec
	}{
		{"nothing there", func(t *testing.T, dir string) Spec { return specIn(dir) }},
		{"half a job", func(t *testing.T, dir string) Spec { return half(t, dir) }},
		{"half of another job", func(t *testing.T, dir string) Spec {
			spec := half(t, dir)
			spec.Fingerprint = "other"
			return spec
		}},
		{"output without progress", func(t *testing.T, dir string) Spec {
			spec := specIn(dir)
			write(t, spec.Outputs[0], strings.Repeat("long", 1e4))
			return spec
		}},
		{"foreign progress", func(t *testing.T, dir string) Spec {
			spec := specIn(dir)
			write(t, spec.Progress, "mine")
			return spec
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := c.make(t, t.TempDir())
			spec.Force = true
			sum, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers())
			if err != nil || !sum.Complete || sum.Resumed != 0 {
				t.Fatalf("%+v, %v", sum, err)
			}
			checkOutputs(t, readDisk(t), spec, 23)
		})
	}
}

// TestOutputAppears has another program create an output after Run has looked.
func TestOutputAppears(t *testing.T) {
	disk := newMemory()
	spec := specIn("/job")
	st := hooked{disk, func(op, _ string) error {
		if op == "created" {
			disk.files[spec.Outputs[1]] = &memoryFile{data: []byte("mine")}
		}
		return nil
	}}
	_, err := run(context.Background(), spec, st, &numbers{n: 23, size: 4}, answerNumbers())
	if !errors.Is(err, fs.ErrExist) {
		t.Fatalf("error %v", err)
	}
	if len(disk.files) != 1 || string(disk.read(spec.Outputs[1])) != "mine" || len(disk.journals) != 0 {
		t.Errorf("left %v and %v", disk.files, disk.journals)
	}
}

// TestMoved resumes a job whose files were moved together.
func TestMoved(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "moved")
	half(t, from)
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
	spec := specIn(to)
	spec.Resume = true
	if _, err := Run(context.Background(), spec, &numbers{n: 23, size: 4}, answerNumbers()); err != nil {
		t.Fatal(err)
	}
	checkOutputs(t, readDisk(t), spec, 23)
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	spec := half(t, dir)
	st := newDiskStorage()
	st.lockWait = 1 // the first refusal counts
	holder, _, err := st.open(spec.Progress)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.close()
	before := tree(t, dir)

	for _, c := range []struct {
		name string
		call func() error
	}{
		{"resume", func() error {
			spec := spec
			spec.Resume = true
			_, err := run(context.Background(), spec, st, &numbers{n: 23, size: 4}, answerNumbers())
			return err
		}},
		{"force", func() error {
			spec := spec
			spec.Force = true
			_, err := run(context.Background(), spec, st, &numbers{n: 23, size: 4}, answerNumbers())
			return err
		}},
		{"finish", func() error { return finish(spec.Progress, st) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.call()
			if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), spec.Progress) {
				t.Fatalf("error %v", err)
			}
		})
	}
	after := tree(t, dir)
	if len(after) != len(before) || after["lines"] != before["lines"] || after["out.progress"] != before["out.progress"] {
		t.Error("files have changed")
	}
}
