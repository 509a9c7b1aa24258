package figures

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"thresher/internal/atomicfile"
	"thresher/papers/data"
)

// PythonFile, in a figure's folder, has the rows of the baselines that libraries of Python have, HNSW-MIPS and NEQ-MIPS. It is
// a table as TableFile is, and optional.
//
// A run leaves vectors and queries of each data set beside it, as POINT-d=D.npz: float32 arrays vectors (n x d) and queries
// (m x d), and about.json with the members of [pythonAbout]. bench/paper_baselines.py reads all files of that form in a
// folder and writes PythonFile; the next run with RunOptions.Resume draws it.
const PythonFile = "python.csv"

// Names of the lines in PythonFile.
const (
	nameHNSW = "HNSW-MIPS"
	nameNEQ  = "NEQ-MIPS"
)

// pythonAbout is what about.json says of a data set, and of the rows that are wanted of it.
type pythonAbout struct {
	Point   string   `json:"point"`
	Panel   string   `json:"panel"`
	Data    string   `json:"data"`
	K       []int    `json:"k"`
	Columns []string `json:"columns"` // of PythonFile
	// Settings are those wanted of each algorithm; none of an algorithm that is not among them, all if there are none.
	Settings map[string][]string `json:"settings,omitempty"`
	// X is what rows have as X: "saving", n d / multiplications, with the precision as Y, or "d", with multiplications as Y.
	X string `json:"x"`
}

// pythonPoint leaves vectors and queries for Python, those of each trade-off that sets hands to leave. It has no rows of its own:
// they come from PythonFile, and until that is there the point is one that was left out.
func pythonPoint(about pythonAbout, sets func(ctx context.Context, e *Env, leave func(t *tradeoff) error) error) Point {
	about.Columns = names()
	return Point{Key: about.Point, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
		if e.Out == "" {
			return nil, fmt.Errorf("%w: a folder to leave vectors in for %s and %s", ErrMissing, nameHNSW, nameNEQ)
		}
		if err := os.Remove(filepath.Join(e.Out, PythonFile)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier run
			return nil, err
		}
		file := strings.NewReplacer(" ", "-", "/", "-").Replace(about.Point)
		if err := sets(ctx, e, func(t *tradeoff) error {
			of := about
			of.Data = t.name
			return t.leave(filepath.Join(e.Out, fmt.Sprintf("%s-d=%d.npz", file, t.d)), of)
		}); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s and %s, which `python3 bench/paper_baselines.py %s` computes with FAISS of the vectors that are left there; then run again with --resume",
			ErrMissing, nameHNSW, nameNEQ, e.Out)
	}}
}

// leave writes an npz file.
func (t *tradeoff) leave(name string, about pythonAbout) (err error) {
	f, err := atomicfile.Create(name, 0o666)
	if err != nil {
		return err
	}
	defer f.Discard()
	buffered := bufio.NewWriterSize(f, 1<<20)
	z := zip.NewWriter(buffered)
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	member, err := z.CreateHeader(&zip.FileHeader{Name: "about.json", Method: zip.Store})
	if err != nil {
		return err
	}
	if _, err := member.Write(text); err != nil {
		return err
	}
	for _, array := range []struct {
		name string
		n    int
		rows [][]float32
	}{{"vectors.npy", t.n, [][]float32{t.vectors}}, {"queries.npy", len(t.queries), t.queries}} {
		member, err := z.CreateHeader(&zip.FileHeader{Name: array.name, Method: zip.Store})
		if err != nil {
			return err
		}
		if err := writeNPY(member, array.n, t.d, array.rows); err != nil {
			return err
		}
	}
	if err := errors.Join(z.Close(), buffered.Flush()); err != nil {
		return err
	}
	return f.Commit(true)
}

// writeNPY writes an n x d array of float32 in format 1.0 of numpy: a magic string, the length of a header that ends at a multiple of 64
// bytes, the header, and the values, little-endian.
func writeNPY(w io.Writer, n, d int, rows [][]float32) error {
	const magic, align = "\x93NUMPY\x01\x00", 64
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", n, d)
	length := len(magic) + 2 + len(header) + 1
	header += strings.Repeat(" ", (align-length%align)%align) + "\n"
	if _, err := io.WriteString(w, magic); err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, uint16(len(header))); err != nil {
		return err
	}
	if _, err := io.WriteString(w, header); err != nil {
		return err
	}
	for _, row := range rows {
		for part := range slices.Chunk(row, 1<<18) {
			if err := binary.Write(w, binary.LittleEndian, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// readPython returns the rows of a figure's PythonFile, none if there is no such file; folder is the figure's.
func readPython(folder fs.FS) ([]Row, error) {
	f, err := folder.Open(PythonFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := ReadRows(f, PythonFile)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if r.Algorithm != nameHNSW && r.Algorithm != nameNEQ {
			return nil, fmt.Errorf("%s, row %d: algorithm %q, neither %s nor %s", PythonFile, i+1, r.Algorithm, nameHNSW, nameNEQ)
		}
	}
	return rows, nil
}

// pythonSets leave the sets of BanditMIPS's figures 2, 3, 5 and 6 at their widths, the first draw of each.
func pythonSets(s *Settings, widths, filmWidths []int, about pythonAbout) []Point {
	n, m := s.Int("n"), s.Int("queries")
	point := func(name string, widths []int, drawn func(ctx context.Context, e *Env) (func(d int) (*data.Set, error), error)) Point {
		about := about
		about.Point = "Python " + name
		return pythonPoint(about, func(ctx context.Context, e *Env, leave func(t *tradeoff) error) error {
			draw, err := drawn(ctx, e)
			if err != nil {
				return err
			}
			for _, d := range widths {
				set, err := draw(d)
				if err != nil {
					return err
				}
				t, err := newContest(ctx, e, set, slices.Max(about.K))
				if err != nil {
					return err
				}
				if err := leave(t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var points []Point
	for _, name := range s.Strings("sets") {
		points = append(points, point(name, widths, func(_ context.Context, e *Env) (func(d int) (*data.Set, error), error) {
			return func(d int) (*data.Set, error) { return generated(name, n, d, m, drawSeed(e, name, 0)), nil }, nil
		}))
	}
	for _, set := range filmSets() {
		of := widths
		if set.name == setMovieLens {
			of = filmWidths
		}
		points = append(points, point(set.name, of, func(ctx context.Context, e *Env) (func(d int) (*data.Set, error), error) {
			draw, err := set.draw(ctx, e, s)
			return func(d int) (*data.Set, error) { return draw(n, d, m, drawSeed(e, set.name, 0)) }, err
		}))
	}
	return points
}

// pythonText says what the lines of PythonFile are, "" if there are none.
func pythonText(rows []Row) string {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Algorithm == nameHNSW || r.Algorithm == nameNEQ }) {
		return ""
	}
	return " HNSW-MIPS is FAISS's graph by inner products, d multiplications for each product that it asks for, and NEQ-MIPS a product quantizer of directions beside one of norms, codewords d + n (codebooks + 1) multiplications without re-ranking; both are of the first draw, and their building, which is not in the count, takes longer than a scan for the queries here."
}
