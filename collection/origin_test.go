package collection

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thresher/dataset"
	"thresher/internal/draws"
)

// TestBuildFloat64 takes rows far from zero relative to an origin for Euclidean distance only, and
// never where that would change values that float32 holds.
func TestBuildFloat64(t *testing.T) {
	const n, dim = 300, 16
	r := draws.Rand(3)
	far, held := make([]float64, n*dim), make([]float64, n*dim)
	for i := range far {
		far[i], held[i] = 1e7+r.NormFloat64(), float64(float32(3e4+r.NormFloat64()))
	}
	held[5] = float64(float32(1e-3)) // an outlier that the origin would round
	for _, c := range []struct {
		name    string
		rows    []float64
		metric  Metric
		origin  bool
		most    float64 // the largest change lies in [least, most]
		least   float64
		changed int64 // least number of values
	}{
		{"far", far, Euclidean, true, 1e-6, 1e-9, n * dim / 2},
		{"far", far, InnerProduct, false, 1, .1, n * dim / 2},
		{"held", held, Euclidean, false, 0, 0, 0},
	} {
		got, err := BuildFloat64(context.Background(), c.rows, dim, &Options{Metric: c.metric, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if (got.Origin != nil) != c.origin || got.Change.Largest > c.most || got.Change.Largest < c.least || got.Change.Values < c.changed {
			t.Errorf("%s by %s: origin %v, change %+v", c.name, c.metric, got.Origin != nil, got.Change)
		}
		back := got.Given(7)
		for j, x := range back {
			if d := x - c.rows[7*dim+j]; d > c.most || d < -c.most {
				t.Errorf("%s by %s: row 7 is given back as %v", c.name, c.metric, back)
			}
		}
	}
	far[dim+2] = 1e39
	_, err := BuildFloat64(context.Background(), far, dim, nil)
	var at *RowError
	if !errors.As(err, &at) || at.Row != 1 || at.Column != 2 {
		t.Errorf("1e39: %v", err)
	}
}

// TestOriginInFiles saves an origin, under a version that programs refuse which do not know of it, and
// only then.
func TestOriginInFiles(t *testing.T) {
	const n, dim = 200, 24
	r := draws.Rand(4)
	rows := make([]float64, n*dim)
	for i := range rows {
		rows[i] = 1e8 + r.NormFloat64()
	}
	built, err := BuildFloat64(context.Background(), rows, dim, &Options{Metric: Euclidean, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	src := func() Source { return &rowsSource{rows: built.Rows, dim: dim} }
	path := filepath.Join(t.TempDir(), "a.thresher")
	saved, err := Create(context.Background(), path, src(), false, &Options{Metric: Euclidean, Seed: 1, Origin: built.Origin, Change: built.Change})
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	if !slices.Equal(saved.Origin, built.Origin) || saved.Change != built.Change {
		t.Errorf("saved with change %+v, built with %+v, or with another origin", saved.Change, built.Change)
	}
	info, err := Stat(path)
	if err != nil || info.Version != nearVersion || !info.Relative || *info.Rounded != built.Change {
		t.Errorf("%+v, %v", info, err)
	}
	plain := filepath.Join(t.TempDir(), "b.thresher")
	other, err := Create(context.Background(), plain, src(), false, &Options{Metric: Euclidean, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if info, err = Stat(plain); err != nil || info.Version != nearVersion || info.Relative || info.Rounded != nil {
		t.Errorf("without an origin: %+v, %v", info, err)
	}
	if saved.Bytes() > Size(n, dim, &Options{Metric: Euclidean}) {
		t.Errorf("%d bytes, more than %d", saved.Bytes(), Size(n, dim, &Options{Metric: Euclidean}))
	}
	// A file of the version that claims to have no origin is damaged.
	b, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	b[8] = originVersion
	if err := os.WriteFile(plain, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(plain); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an origin that is missing: %v", err)
	}
	if _, err := Build(context.Background(), built.Rows, dim, &Options{Metric: Cosine, Origin: built.Origin}); err == nil {
		t.Error("cosine with an origin is accepted")
	}
	if _, err := Build(context.Background(), built.Rows, dim, &Options{Metric: Euclidean, Origin: built.Origin[1:]}); err == nil {
		t.Error("an origin of another dimension is accepted")
	}
}

var _ Rounded = readSource{}

// TestSourceOfReader takes origin and change of a dataset.Reader.
func TestSourceOfReader(t *testing.T) {
	src := roundedOf(&rowsSource{dim: 3})
	if src.Origin() != nil || src.Change() != (dataset.Change{}) {
		t.Error("a plain source has an origin or changes")
	}
}
