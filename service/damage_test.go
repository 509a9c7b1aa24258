package service

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/internal/race"
	"thresher/service/servicetest"
)

// full fills a server with something of each kind that a database has records of, and returns
// what it holds.
func (s *site) full() map[string]string {
	s.t.Helper()
	s.stocked()
	s.fill()
	s.do("PUT", "/v1/collections/keyed?wait&metric=l2", npy(gaussian(4, 7*dim), dim), "Content-Type", npyType, "Idempotency-Key", "a collection").want(201)
	body, kind := form(s.t, [2]string{"purpose", "batch"}, [2]string{"file:in.jsonl", string(requests(5, nil))})
	var f struct{ ID string }
	s.do("POST", "/v1/files", body, "Content-Type", kind, "Idempotency-Key", "a file").want(200).into(&f)
	spec := map[string]any{"input_file_id": f.ID, "endpoint": "/v1/collections/films/search", "completion_window": "24h"}
	var j job
	s.do("POST", "/v1/batches", spec).want(200).into(&j)
	s.over(j.ID)
	s.do("POST", "/v1/notes", `{"text":"under a key"}`, "Idempotency-Key", "a note").want(201)
	return s.holds()
}

// holds requests all that a server holds, by kind and name.
func (s *site) holds() map[string]string {
	s.t.Helper()
	got := s.everything()
	for name := range got {
		if id, ok := strings.CutPrefix(name, "file "); ok {
			got["content "+id] = string(s.do("GET", "/v1/files/"+id+"/content", nil).want(200).body)
		}
	}
	var files struct{ Data []struct{ ID string } }
	s.do("GET", "/v1/files", nil).want(200).into(&files)
	got["order of files"] = fmt.Sprint(files.Data)
	var batches struct{ Data []job }
	s.do("GET", "/v1/batches", nil).want(200).into(&batches)
	for _, j := range batches.Data {
		got["batch "+j.ID] = fmt.Sprint(j.Status, j.Counts, *j.Output)
	}
	return got
}

// TestDamagedRecords zeroes four bytes of a record of each kind, in its value and in its key: the
// check names it, the server starts, says so, and has all that it had, but for a note whose
// own record it is; after that the check finds no damage.
func TestDamagedRecords(t *testing.T) {
	race.Skip(t, "a server begins again and again, and reads; TestRestore and TestBackupUnderFire begin servers, too")
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.full()
	s.stopAll()
	all := servicetest.Entries(t, filepath.Join(dir, metaName))
	if len(all) < 12 {
		t.Fatal(slices.Sorted(maps.Keys(all)))
	}
	maps.Copy(all, servicetest.Entries(t, filepath.Join(dir, talliesName)))
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		e := all[kind]
		name := metaName
		changes := e.Damages()
		if string(e.Path[0]) == "tallies" {
			name = talliesName
			delete(changes, "key") // that of another collection
		}
		for part, to := range changes {
			t.Run(kind+" "+part, func(t *testing.T) {
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				e.Put(t, filepath.Join(copied, name), to.Key, to.Value)
				if verdicts(t, copied) == "" {
					t.Error("the check finds no damage")
				}
				lost, damaged := resume(t, copied, want)
				if own := kind == "notes/texts" || name == talliesName; !own && len(lost) > 0 || len(lost) > 1 {
					t.Error("lost:", lost)
				}
				if damaged == 0 {
					t.Error("it does not say so")
				}
				if bad := verdicts(t, copied); bad != "" {
					t.Error("the check after the start:", bad)
				}
			})
		}
	}
}

// TestMisplacedBuckets: buckets in the place of records, which a page of before can bring, and records
// in the place of buckets do not keep the server from starting, and are named.
func TestMisplacedBuckets(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.full()
	s.stopAll()
	stray := []byte("stray")
	for name, change := range map[string]func(b *bbolt.Bucket) error{
		"bucket": func(b *bbolt.Bucket) error {
			in, err := b.CreateBucket(stray)
			return errors.Join(err, in.Put(stray, stray))
		},
		"record": func(b *bbolt.Bucket) error { return b.Put(stray, []byte("{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			n := 0
			servicetest.Alter(t, filepath.Join(copied, metaName), func(tx *bbolt.Tx) error {
				return tx.ForEach(func(_ []byte, root *bbolt.Bucket) error {
					if name == "record" {
						n++
						return change(root)
					}
					return root.ForEachBucket(func(k []byte) error {
						n++
						return change(root.Bucket(k))
					})
				})
			})
			if bad := strings.Split(verdicts(t, copied), "\n"); len(bad) != n {
				t.Errorf("the check names %d of %d: %s", len(bad), n, bad)
			}
			if lost, damaged := resume(t, copied, want); len(lost) > 0 || damaged != n {
				t.Errorf("lost %s, %d damaged parts of %d", lost, damaged, n)
			}
			if bad := verdicts(t, copied); bad != "" {
				t.Error("the check after the start:", bad)
			}
		})
	}
}

// resume starts a server on a folder, which must hold what it did, but for notes and tallies, whose names
// it returns with the number of damaged parts that the server has found.
func resume(t *testing.T, dir string, want map[string]string) (lost []string, damaged int) {
	t.Helper()
	s := startIn(t, dir, nil)
	defer s.stopAll()
	got := s.holds()
	for name := range want {
		if own := strings.HasPrefix(name, "note ") || strings.HasPrefix(name, "tally "); own && got[name] != want[name] {
			lost = append(lost, name+": "+got[name])
			got[name] = want[name]
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d, s.log)
	}
	return lost, s.Found()["damaged"]
}

// TestDamagedPages zeroes each page of the database in turn, and a sector of it: the server starts
// and has all but notes, which it says, and which the check named before.
func TestDamagedPages(t *testing.T) {
	race.Skip(t, "a server begins again and again, and reads; TestRestore and TestBackupUnderFire begin servers, too")
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.full()
	s.stopAll()
	whole := readFile(t, filepath.Join(dir, metaName))
	r := rand.New(rand.NewPCG(5, 11))
	const page, sector = 4096, 512
	for at := 0; at < len(whole); at += page {
		for _, size := range []int{page, sector} {
			from := at + r.IntN(page/size)*size
			t.Run(fmt.Sprint(size, " at ", from), func(t *testing.T) {
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				broken := bytes.Clone(whole)
				clear(broken[from : from+size])
				path := filepath.Join(copied, metaName)
				if err := os.WriteFile(path, broken, 0o600); err != nil {
					t.Fatal(err)
				}
				named := verdicts(t, copied)
				lost, damaged := resume(t, copied, want)
				if len(lost) > 0 && (damaged == 0 || named == "") {
					t.Error("lost without a word:", lost, named)
				}
				if damaged > 0 && !bytes.Equal(readFile(t, filepath.Join(copied, "lost+found", metaName)), broken) {
					t.Error("the damaged file is not kept")
				}
			})
		}
	}
}

// TestDamagedNotes: notes that are damaged or lost while the database knows what they said are
// written again, so that the database can be lost later.
func TestDamagedNotes(t *testing.T) {
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.full()
	s.stopAll()
	for what, damage := range map[string]func(path string) error{
		"halved": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.Truncate(path, info.Size()/2)
		},
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"lost":  os.Remove,
	} {
		t.Run(what, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, pattern := range []string{"collections/*.version", "files/*.about", "batches/*.batch"} {
				paths, err := filepath.Glob(filepath.Join(copied, pattern))
				if err != nil || len(paths) == 0 {
					t.Fatal(pattern, paths, err)
				}
				for _, path := range paths {
					n++
					if err := damage(path); err != nil {
						t.Fatal(err)
					}
				}
			}
			if bad := strings.Split(verdicts(t, copied), "\n"); len(bad) != n {
				t.Errorf("the check names %d of %d: %s", len(bad), n, bad)
			}
			if lost, _ := resume(t, copied, want); len(lost) > 0 {
				t.Error("lost:", lost)
			}
			if bad := verdicts(t, copied); bad != "" {
				t.Error("the check after the start:", bad)
			}
			if err := os.Remove(filepath.Join(copied, metaName)); err != nil {
				t.Fatal(err)
			}
			resume(t, copied, want)
		})
	}
}
