package catalog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/batch"
)

// meta is the path of the database, and at that of a file of the catalog.
func (f *fixture) meta() string          { return filepath.Join(f.dir, "meta.db") }
func (f *fixture) at(name string) string { return filepath.Join(f.dir, "collections", name) }

// found is what a collection answers, and its description.
type found struct {
	Info Info
	IDs  []string
	Top  [][]int64
}

// all searches every collection.
func (f *fixture) all() map[string]found {
	f.t.Helper()
	ctx := context.Background()
	got := map[string]found{}
	for _, i := range f.c.List() {
		i, err := f.c.Wait(ctx, i.Name, 0)
		if err != nil || i.State != Ready {
			f.t.Fatalf("%+v, %v", i, err)
		}
		v, err := f.c.Use(i.Name, 0)
		if err != nil {
			f.t.Fatal(err)
		}
		i.Adopted, i.Backend = "", ""
		one := found{Info: i}
		for row := range int64(v.Len()) {
			one.IDs = append(one.IDs, v.IDs().Name(row))
		}
		q := make([]float32, 0, 2*v.Dim())
		q = append(append(q, v.Row(0)...), v.Row(int64(v.Len()-1))...)
		resp, err := v.Search(ctx, batch.Request{Queries: q, K: 2, Method: batch.Exact})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, a := range resp.Answers {
			one.Top = append(one.Top, a.IDs)
		}
		v.Release()
		got[i.Name] = one
	}
	return got
}

// restart closes the catalog, runs a function on its folder, and opens it again.
func (f *fixture) restart(meanwhile func()) {
	f.t.Helper()
	f.close()
	meanwhile()
	f.open()
}

func (f *fixture) remove(path string) {
	f.t.Helper()
	if err := os.Remove(path); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) copy(from, to string) {
	f.t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// lost lists the files in lost+found.
func (f *fixture) lost() (names []string) {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "lost+found", "collections"))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// several makes collections of all kinds of ids and metrics, one of them with three versions.
func (f *fixture) several() {
	f.t.Helper()
	ctx := context.Background()
	f.ready(f.c.Create(ctx, "rows", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "cosine", Seed: 7}, "key"))
	f.ready(f.c.Create(ctx, "ints", rowsOf(0, 6, 3, ints(5, 3, 8, 100, 7, 2)), CreateOptions{Metric: "l2"}, ""))
	f.ready(f.c.Append(ctx, "ints", rowsOf(9, 2, 3, nil), ""))
	f.ready(f.c.Remove(ctx, "ints", *ints(8), ""))
	f.ready(f.c.Create(ctx, "texts.v-1", rowsOf(3, 3, 20, names("a", "b", "ä")), CreateOptions{Metric: "ip"}, ""))
}

// TestDatabaseIsLost: every collection answers as before, under its version, and later
// changes continue its ids and version numbers.
func TestDatabaseIsLost(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.several()
	want := f.all()
	f.restart(func() { f.remove(f.meta()) })
	if d := cmp.Diff(want, f.all()); d != "" {
		t.Fatal(d)
	}
	if got := f.c.Found(); !slices.Equal(got.Adopted, []string{"ints", "rows", "texts.v-1"}) || len(got.Kept) != 0 {
		t.Error(got)
	}
	for _, i := range f.c.List() {
		if i.Adopted == "" {
			t.Error(i)
		}
	}
	f.exact()
	f.restart(func() {})
	if got := f.c.Found(); len(got.Adopted) != 0 {
		t.Error(got)
	}
	again, err := f.c.Create(ctx, "rows", rowsOf(0, 5, 4, nil), CreateOptions{Metric: "cosine", Seed: 7}, "key")
	if err != nil || again.Version != 1 {
		t.Error(again, err)
	}
	if i := f.ready(f.c.Append(ctx, "ints", rowsOf(20, 1, 3, nil), "")); i.Version != 4 || i.Adopted != "" {
		t.Error(i)
	}
	if ids := f.all()["ints"].IDs; ids[len(ids)-1] != "103" {
		t.Error(ids)
	}
}

// TestDatabaseIsOlder: versions that are newer than the database answer, also under names
// that it does not know; what was deleted since is reported as missing and does not come
// back.
func TestDatabaseIsOlder(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.several()
	f.restart(func() { f.copy(f.meta(), f.meta()+".old") })
	f.ready(f.c.Append(ctx, "ints", rowsOf(30, 3, 3, nil), ""))
	f.ready(f.c.Create(ctx, "later", rowsOf(0, 2, 2, nil), CreateOptions{Metric: "ip"}, ""))
	if err := f.c.Delete("rows"); err != nil {
		t.Fatal(err)
	}
	want := f.all()
	f.restart(func() { f.copy(f.meta()+".old", f.meta()) })
	if i, err := f.c.Get("rows"); err != nil || i.State != Failed {
		t.Error(i, err)
	}
	if got := f.c.Found(); !slices.Equal(got.Missing, []string{"rows"}) || !slices.Equal(got.Adopted, []string{"ints", "later"}) {
		t.Error(got)
	}
	if err := f.c.Delete("rows"); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(want, f.all()); d != "" {
		t.Error(d)
	}
	f.exact()
	if i := f.ready(f.c.Append(ctx, "ints", rowsOf(30, 1, 3, nil), "")); i.Version != 5 {
		t.Error(i)
	}
}

// TestDatabaseIsOlderThanABuild: the database records a version as being built that was built
// since, and whose sources are gone.
func TestDatabaseIsOlderThanABuild(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open})
	i, err := f.c.Create(ctx, "a", rowsOf(0, 4, 3, nil), CreateOptions{Metric: "ip"}, "")
	if err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	err = errors.Join(f.db.Sync(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.copy(f.meta(), f.meta()+".old")
	g.pass <- nil
	f.ready(i, nil)
	f.close()
	f.copy(f.meta()+".old", f.meta())
	f.o.Open = processor(t)
	f.open()
	if got := f.all(); len(got["a"].IDs) != 4 || got["a"].Info.Version != 1 {
		t.Error(got)
	}
	f.exact()
}

// TestAcknowledgedAndNotMade: acknowledged rows of which no version is built yet are still
// built, even without the database.
func TestAcknowledgedAndNotMade(t *testing.T) {
	ctx := context.Background()
	g := newGate(t)
	f := newFolder(t, Options{Open: g.Open})
	if _, err := f.c.Create(ctx, "a", rowsOf(0, 4, 3, names("w", "x", "y", "z")), CreateOptions{Metric: "ip"}, "k"); err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	if _, err := f.c.Create(ctx, "b", rowsOf(0, 3, 2, nil), CreateOptions{Metric: "ip"}, ""); err != nil {
		t.Fatal(err)
	}
	f.close()
	f.remove(f.meta())
	f.o.Open = processor(t)
	f.open()
	got := f.all()
	if len(got) != 2 || strings.Join(got["a"].IDs, "") != "wxyz" || len(got["b"].IDs) != 3 {
		t.Error(got)
	}
	if i, err := f.c.Create(ctx, "a", rowsOf(0, 4, 3, names("w", "x", "y", "z")), CreateOptions{Metric: "ip"}, "k"); err != nil || i.Version != 1 {
		t.Error(i, err)
	}
	f.exact()
}

// TestFilesOfBefore: versions from releases that wrote no manifests are found by their names.
func TestFilesOfBefore(t *testing.T) {
	f := newFolder(t, Options{})
	f.several()
	want := f.all()
	bare := func() {
		for _, base := range f.notes() {
			f.remove(f.at(base + ".version"))
		}
		f.remove(f.meta())
	}
	f.restart(bare)
	got := f.all()
	for name, w := range want {
		w.Info.Version, w.Info.CreatedAt = got[name].Info.Version, got[name].Info.CreatedAt // derived from the file
		want[name] = w
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	f.exact() // manifests exist now
	f.restart(func() { f.remove(f.meta()) })
	if d := cmp.Diff(want, f.all()); d != "" {
		t.Error(d)
	}
}

// TestNothingIsRemovedThatNobodyKnows: incomplete and unknown files are moved.
func TestNothingIsRemovedThatNobodyKnows(t *testing.T) {
	f := newFolder(t, Options{})
	f.several()
	base := f.c.versions[ref{"rows", 1}].change.Base
	data, err := os.ReadFile(f.at(base + ".thresher"))
	if err != nil {
		t.Fatal(err)
	}
	f.restart(func() {
		f.remove(f.meta())
		for name, content := range map[string]string{
			base + ".thresher": string(data[:len(data)-1]),
			"mine.thresher":    "not ours", "a-0123456789abcdef.rows.npy": "of before",
			".new-a-0123456789abcdef.rows.npy": "half an upload", ".a-0123456789abcdef.thresher.new-x1": "half a build",
		} {
			if err := os.WriteFile(f.at(name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
	if got := f.lost(); !slices.Equal(got, []string{"a-0123456789abcdef.rows.npy", base + ".thresher", base + ".version"}) {
		t.Error(got)
	}
	if got, err := os.ReadFile(filepath.Join(f.dir, "lost+found", "collections", base+".thresher")); err != nil || len(got) != len(data)-1 {
		t.Error(len(got), err)
	}
	if _, err := f.c.Get("rows"); err == nil || !slices.Contains(f.files(), "mine.thresher") || len(f.c.Found().Kept) != 3 {
		t.Error(err, f.files(), f.c.Found())
	}
	f.remove(f.at("mine.thresher"))
}

// TestDeletedStaysDeleted: after a crash in the middle of a deletion nothing comes back, and
// after one before the deletion was recorded nothing is lost.
func TestDeletedStaysDeleted(t *testing.T) {
	f := newFolder(t, Options{})
	f.several()
	o := f.c.versions[ref{"rows", 1}].change
	f.restart(func() {
		if err := os.Rename(f.at(o.manifest()), f.at(o.deletedManifest())); err != nil {
			t.Fatal(err)
		}
	})
	if i, err := f.c.Get("rows"); err != nil || i.State != Ready {
		t.Error(i, err)
	}
	f.exact()
	if !slices.Contains(f.notes(), o.Base) {
		t.Error(f.notes())
	}
	f.copy(f.at(o.data()), f.dir+"/data")
	f.copy(f.at(o.manifest()), f.dir+"/manifest")
	if err := f.c.Delete("rows"); err != nil {
		t.Fatal(err)
	}
	f.restart(func() {
		f.copy(f.dir+"/data", f.at(o.data()))
		f.copy(f.dir+"/manifest", f.at(o.deletedManifest()))
	})
	if _, err := f.c.Get("rows"); err == nil {
		t.Error("it is there again")
	}
	f.exact()
}

// TestDeletingReleasedVersion: an earlier version, held by a search until the deletion is about to
// mark it, is removed at that moment.
func TestDeletingReleasedVersion(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 3, 2, ints(1, 2, 3)), CreateOptions{Metric: "ip"}, ""))
	v, err := f.c.Use("a", 0)
	if err != nil {
		t.Fatal(err)
	}
	held := f.c.versions[ref{"a", 1}].change
	f.ready(f.c.Append(ctx, "a", rowsOf(3, 2, 2, ints(8, 9)), ""))
	released := false
	f.c.o.disk.Step = func(step, path string) error {
		if step == "rename" && path == f.at(held.deletedManifest()) {
			released = true
			v.Release()
		}
		return nil
	}
	err = f.c.Delete("a")
	f.c.o.disk.Step = nil
	if err != nil || !released {
		t.Error(err, released)
	}
	f.exact()
	if got := f.files(); len(got) != 0 {
		t.Error(got)
	}
}

// TestTheNewestWholeVersionWins if the database names one whose files are missing.
func TestTheNewestWholeVersionWins(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 4, 3, nil), CreateOptions{Metric: "ip"}, ""))
	one := f.c.versions[ref{"a", 1}].change
	f.copy(f.at(one.data()), f.dir+"/data")
	f.copy(f.at(one.manifest()), f.dir+"/manifest")
	f.ready(f.c.Append(ctx, "a", rowsOf(4, 2, 3, nil), ""))
	two := f.c.versions[ref{"a", 2}].change
	f.restart(func() { // as if an old copy of the folder, without the database, had been restored
		f.remove(f.at(two.data()))
		f.remove(f.at(two.manifest()))
		f.copy(f.dir+"/data", f.at(one.data()))
		f.copy(f.dir+"/manifest", f.at(one.manifest()))
	})
	if got := f.all()["a"]; len(got.IDs) != 4 || got.Info.Version != 1 || !slices.Equal(f.c.Found().Adopted, []string{"a"}) {
		t.Error(got, f.c.Found())
	}
	if i := f.ready(f.c.Append(ctx, "a", rowsOf(4, 1, 3, nil), "")); i.Version != 3 {
		t.Error(i)
	}
}

// TestRecordsAreLost: what lost records said is found again by the manifests, also of a version
// that is pinned, and of numbers by the versions.
func TestRecordsAreLost(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.several()
	if err := f.c.Pin("ints", 0, "owner"); err != nil {
		t.Fatal(err)
	}
	f.ready(f.c.Append(ctx, "ints", rowsOf(30, 3, 3, nil), ""))
	want, pinned := f.all(), f.ids()["pinned"]
	lose := func(names ...string) {
		t.Helper()
		f.restart(func() {
			bolt, err := openDatabase(f.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer bolt.Close()
			err = bolt.Update(func(tx *bbolt.Tx) error {
				root := tx.Bucket([]byte(rootBucket))
				for _, name := range names {
					if err := root.DeleteBucket([]byte(name)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		if d := cmp.Diff(want, f.all()); d != "" {
			t.Error(names, d)
		}
		if got := f.ids()["pinned"]; len(pinned) == 0 || !slices.Equal(got, pinned) {
			t.Error(names, got, pinned)
		}
		f.exact()
	}
	for _, names := range [][]string{{retiredBucket}, {namesBucket}, {namesBucket, retiredBucket}, {numbersBucket}, {keysBucket}} {
		lose(names...)
	}
	if i := f.ready(f.c.Append(ctx, "ints", rowsOf(40, 1, 3, nil), "")); i.Version != 5 {
		t.Error(i)
	}
	if err := f.c.Unpin("owner"); err != nil {
		t.Error(err)
	}
	f.exact()
}

// TestDamagedManifests: manifests that are cut, also that of a pinned version, are written again.
func TestDamagedManifests(t *testing.T) {
	f := newFolder(t, Options{})
	f.several()
	if err := f.c.Pin("ints", 0, "owner"); err != nil {
		t.Fatal(err)
	}
	f.ready(f.c.Append(context.Background(), "ints", rowsOf(30, 3, 3, nil), ""))
	want, pinned := f.all(), f.ids()["pinned"]
	bases := f.notes()
	f.restart(func() {
		for _, base := range bases {
			if err := os.Truncate(f.at(base+".version"), 30); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, base := range bases {
		if m, err := f.c.readManifest(base); err != nil || !m.Ready {
			t.Error(m, err)
		}
	}
	if d := cmp.Diff(want, f.all()); d != "" || !slices.Equal(f.ids()["pinned"], pinned) {
		t.Error(d, f.ids()["pinned"], pinned)
	}
	f.exact()
}

// TestCheckRecord: records with a byte of zero, or under another name, are told from those that the
// catalog writes.
func TestCheckRecord(t *testing.T) {
	f := newFolder(t, Options{})
	f.several()
	if err := f.c.Pin("ints", 0, "owner"); err != nil {
		t.Fatal(err)
	}
	f.ready(f.c.Append(context.Background(), "ints", rowsOf(30, 3, 3, nil), ""))
	n := map[string]int{}
	err := f.db.View(func(tx *bbolt.Tx) error {
		for _, name := range []string{namesBucket, retiredBucket, numbersBucket, pinsBucket, keysBucket} {
			path := rootBucket + "/" + name
			err := bucket(tx, name).ForEach(func(k, v []byte) error {
				n[name]++
				if err := Schema().CheckRecord(path, k, v); err != nil {
					t.Error(err)
				}
				for i := range v {
					bad := slices.Clone(v)
					if bad[i] = 0; Schema().CheckRecord(path, k, bad) == nil && (name != numbersBucket || i == len(v)-1) {
						t.Errorf("%s %q: byte %d may be 0", name, k, i)
					}
				}
				if Schema().CheckRecord(path, append([]byte{0}, k[1:]...), v) == nil {
					t.Errorf("%s %q: its first byte may be 0", name, k)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(n) != 5 {
		t.Error(n, err)
	}
	if Schema().CheckRecord(rootBucket, []byte(namesBucket), []byte{}) == nil || Schema().CheckRecord(rootBucket+"/"+namesBucket, []byte("a"), nil) == nil || Schema().CheckRecord("files", []byte("records"), nil) != nil {
		t.Error("a record in the place of a bucket")
	}
}

// TestNumberOfAFailedVersion: the number of a version that failed is not used again, though no file is
// left of it and the database has lost which numbers were used.
func TestNumberOfAFailedVersion(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{})
	f.ready(f.c.Create(ctx, "a", rowsOf(0, 4, 3, nil), CreateOptions{Metric: "ip"}, ""))
	f.failed(f.c.Create(ctx, "a", Source{Body: strings.NewReader("[1,2]\n[3]\n")}, CreateOptions{Metric: "ip", Replace: true}, ""))
	if err := f.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket([]byte(rootBucket)).DeleteBucket([]byte(numbersBucket)) }); err != nil {
		t.Fatal(err)
	}
	f.restart(func() {})
	if i := f.ready(f.c.Append(ctx, "a", rowsOf(4, 1, 3, nil), "")); i.Version != 3 {
		t.Errorf("version %d", i.Version)
	}
}

// TestPinsAreLost: a replaced version whose pin is lost stays for the owner of lost pins, until its
// former owner has had the time to pin it again.
func TestPinsAreLost(t *testing.T) {
	ctx := context.Background()
	f := newFolder(t, Options{LostOwner: "nobody"})
	f.several()
	for round := range 2 {
		version := int64(3 + round)
		if err := f.c.Pin("ints", version, "owner"); err != nil {
			t.Fatal(err)
		}
		f.ready(f.c.Append(ctx, "ints", rowsOf(30+round, 1, 3, nil), ""))
		err := f.db.Update(func(tx *bbolt.Tx) error {
			return errors.Join(tx.Bucket([]byte(rootBucket)).DeleteBucket([]byte(pinsBucket)), Schema().Create(tx))
		})
		if err != nil {
			t.Fatal(err)
		}
		f.restart(func() {})
		if owners, err := f.c.Owners("nobody"); err != nil || len(owners) != 1 {
			t.Error(owners, err)
		}
		again := round == 0
		if again {
			if err := f.c.PinAgain("ints", version, "owner"); err != nil {
				t.Error(err)
			}
		}
		if err := f.c.Unpin("nobody"); err != nil {
			t.Error(err)
		}
		if v, err := f.c.Use("ints", version); (err == nil) != again {
			t.Errorf("round %d: %v", round, err)
		} else if again {
			v.Release()
		}
		if err := f.c.Unpin("owner"); err != nil {
			t.Error(err)
		}
		f.exact()
	}
}
