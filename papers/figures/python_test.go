package figures

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// A point for Python leaves its vectors and queries, removes rows of another run, and is left out.
func TestPythonPoint(t *testing.T) {
	const n, d, m = 7, 5, 2
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, PythonFile), []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	var set *tradeoff
	p := pythonPoint(pythonAbout{Point: "python a/b", Panel: "panel", K: []int{1, 3}, X: "saving"}, func(ctx context.Context, e *Env, leave func(*tradeoff) error) (err error) {
		if set, err = iidTradeoff(ctx, e, "N(0,1)", n, d, m, 3); err != nil {
			return err
		}
		return leave(set)
	})
	e := quiet(1, 1)
	if _, err := p.Rows(context.Background(), e); !errors.Is(err, ErrMissing) {
		t.Errorf("without a folder: %v", err)
	}
	e.Out = dir
	if _, err := p.Rows(context.Background(), e); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "paper_baselines.py "+dir) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, PythonFile)); err == nil {
		t.Error("old rows stay")
	}
	z, err := zip.OpenReader(filepath.Join(dir, "python-a-b-d=5.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	members := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if members[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	var about pythonAbout
	if err := json.Unmarshal(members["about.json"], &about); err != nil {
		t.Fatal(err)
	}
	if about.Point != p.Key || about.Panel != "panel" || about.X != "saving" || about.Data != "N(0,1)" || !slices.Equal(about.K, []int{1, 3}) || !slices.Equal(about.Columns, names()) {
		t.Errorf("about %+v", about)
	}
	for name, want := range map[string][]float32{"vectors.npy": set.vectors, "queries.npy": slices.Concat(set.queries...)} {
		body := members[name]
		header, values := body[:128], body[128:]
		if !bytes.HasPrefix(header, []byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (")) || header[127] != '\n' {
			t.Errorf("%s: header %q", name, header)
		}
		got := make([]float32, len(want))
		if err := binary.Read(bytes.NewReader(values), binary.LittleEndian, got); err != nil || len(values) != 4*len(want) || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestReadPython(t *testing.T) {
	table := func(rows ...Row) fstest.MapFS {
		var text bytes.Buffer
		if err := errors.Join(WriteHeader(&text), WriteRows(&text, rows)); err != nil {
			t.Fatal(err)
		}
		return fstest.MapFS{PythonFile: {Data: text.Bytes()}}
	}
	want := []Row{{Point: "p", Algorithm: nameHNSW, K: 1, X: 2}, {Point: "p", Algorithm: nameNEQ, K: 1, X: 3}}
	if got, err := readPython(table(want...)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := readPython(fstest.MapFS{}); err != nil || got != nil {
		t.Errorf("without a file: %+v, %v", got, err)
	}
	if _, err := readPython(table(Row{Algorithm: nameLSH})); err == nil || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("rows of another method: %v", err)
	}
}

// A run draws the rows that Python wrote into its folder once it is resumed, and no longer says that they are missing.
func TestRunDrawsPython(t *testing.T) {
	f := *boundedMETable1
	f.Points = func(s *Settings) []Point {
		return append(boundedMETable1.Points(s)[:1], pythonPoint(pythonAbout{Point: "python", K: []int{1}, X: "saving"}, func(ctx context.Context, e *Env, leave func(*tradeoff) error) error {
			set, err := iidTradeoff(ctx, e, "N(0,1)", 9, 4, 1, 1)
			if err != nil {
				return err
			}
			return leave(set)
		}))
	}
	o := RunOptions{Figures: []*Figure{&f}, Out: t.TempDir(), Size: Smoke, Seed: 1, Threads: 1}
	results, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	before := results[0]
	if len(before.Missing) != 1 || before.Missing[0].Point != "python" {
		t.Errorf("missing %+v", before.Missing)
	}
	var text bytes.Buffer
	if err := errors.Join(WriteHeader(&text), WriteRows(&text, []Row{{Point: "python", Algorithm: nameHNSW, N: 9, D: 4, K: 1}})); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Out, f.ID, PythonFile), text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	o.Resume = true
	if results, err = Run(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	if after := results[0]; len(after.Missing) != 0 || after.Rows != before.Rows+1 {
		t.Errorf("missing %+v, %d rows after %d", after.Missing, after.Rows, before.Rows)
	}
}

func TestPythonText(t *testing.T) {
	if text := pythonText([]Row{{Algorithm: nameLSH}}); text != "" {
		t.Errorf("without such rows: %q", text)
	}
	if text := pythonText([]Row{{Algorithm: nameLSH}, {Algorithm: nameNEQ}}); !strings.Contains(text, "n (codebooks + 1)") {
		t.Errorf("%q", text)
	}
}
