package dataset

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/internal/draws"
)

// TestChecksums: whichever byte of an array of an npz is another than was written, what is read of the
// file is as before, or an error: each reader reaches the end of the arrays that it reads, where zip verifies their checksums.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	of := filepath.Join(dir, "a.thresher") // whose header says whose ids those beside it are
	if err := os.WriteFile(of, []byte("a header"), 0o600); err != nil {
		t.Fatal(err)
	}
	answers := writtenAnswers(7, 3, nil, true)
	names := IDsOf([]string{"b", "ä", "c", "d", "e"})
	vectors := func(opt *Options) func(path string) (any, error) {
		return func(path string) (any, error) {
			m, err := ReadAll(context.Background(), path, opt)
			if err != nil {
				return nil, err
			}
			return []any{m.Data, idTexts(m.IDs)}, nil
		}
	}
	write := func(write func(out io.Writer) error) func(path string) error {
		return func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
	}
	copied := func(name string) func(path string) error {
		return func(path string) error {
			b, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				return err
			}
			return os.WriteFile(path, b, 0o600)
		}
	}
	named := func(out io.Writer) error { // the names of vectors beside them
		w := npzWriter{zip.NewWriter(out)}
		return errors.Join(w.whole("vectors", append(appendNPYHeader(nil, "|u1", 5, 2), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
			w.whole(idsName, append(appendNPYHeader(nil, "|S2", 5), "a\x00bbc\x00d\x00ee"...)), w.z.Close())
	}
	for _, c := range []struct {
		name  string
		write func(path string) error
		read  func(path string) (any, error)
	}{
		{"a.thresher.ids.npz", write(func(out io.Writer) error { return WriteSavedIDs(out, of, names) }), func(string) (any, error) {
			ids, err := SavedIDs(of, names.Len())
			return idTexts(ids), err
		}},
		{"named.npz", write(named), vectors(&Options{IDs: idsName})},
		{"stored.npz", copied("stored.npz"), vectors(nil)},
		{"deflated.npz", copied("deflated.npz"), vectors(nil)},
		{"fortran.npz", copied("storedfortran.npz"), vectors(nil)},
		{"answers.npz", write(func(out io.Writer) error { return WriteResultsNPZ(answers, 3, out) }), answersOf},
		{"foreign.npz", copied("hnswlib.npz"), answersOf},
		{"seconds.npz", copied("results.npz"), answersOf},
		{"lists.npz", copied("lists.npz"), listsOf},
		{"ownlists.npz", copied("ownlists.npz"), listsOf},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, c.name)
			if err := c.write(path); err != nil {
				t.Fatal(err)
			}
			want, err := c.read(path)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			r, refused := draws.Rand(21), 0
			places := arrayBytes(t, whole, r)
			for _, at := range places {
				b := append([]byte{}, whole...)
				b[at] ^= byte(1 + r.IntN(255))
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := c.read(path)
				if err != nil {
					refused++
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("byte %d of %d, now %#x: %s", at, len(whole), b[at], diff)
				}
			}
			if draws.Usual() && refused < len(places)/2 {
				t.Errorf("%d of %d refused", refused, len(places))
			}
		})
	}
}

// arrayBytes draws bytes of each array of an npz: most among its last, which are elements rather than its header.
func arrayBytes(t *testing.T, npz []byte, r *rand.Rand) (places []int) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(npz), int64(len(npz)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		from, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		size := int(f.CompressedSize64)
		places = append(places, int(from)+r.IntN(size))
		for range 5 {
			places = append(places, int(from)+size-1-r.IntN(min(size, 12)))
		}
	}
	return places
}

func idTexts(ids *IDs) (all []string) {
	for row := range int64(ids.Len()) {
		all = append(all, ids.Text(row))
	}
	return all
}

func answersOf(path string) (any, error) {
	r, err := OpenResults(path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []string
	for {
		result, err := r.Next()
		switch {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, fmt.Sprintf("%+v", result))
	}
}

func listsOf(path string) (any, error) {
	r, err := OpenLists(path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []string
	for {
		list, err := r.Next()
		switch {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, fmt.Sprintf("%+v", list))
	}
}
