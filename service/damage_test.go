package service

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"thresher/choice/serve/choiceapi"
	"thresher/internal/race"
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
	for _, key := range []string{"one", "two"} {
		var t struct{ ID string }
		order := []string{"a", "b", "c"}
		s.do("POST", "/v1/tournaments", map[string]any{"arms": order, "mode": "online", "horizon": 100000, "testing": "sweep"}, "Idempotency-Key", key).want(201).into(&t)
		for range 3 {
			var issued struct{ Duels []choiceapi.Duel }
			s.do("POST", "/v1/tournaments/"+t.ID+"/next", `{"count":2}`).want(200).into(&issued)
			s.do("POST", "/v1/tournaments/"+t.ID+"/report", judge(order, issued.Duels)).want(200)
		}
	}
	return s.holds()
}

// holds requests all that a server holds, by kind and name. A tournament that cannot be played
// is the kind of its problem.
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
	var names []string
	_ = s.db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("tournaments")).Bucket([]byte("ids")).ForEach(func(id, _ []byte) error {
			names = append(names, string(id))
			return nil
		})
	})
	for _, id := range names {
		a := s.do("GET", "/v1/tournaments/"+id, nil)
		var t struct {
			Type  string
			State struct{ Duels int }
		}
		a.into(&t)
		got["tournament "+id] = fmt.Sprint(a.status, t.Type, t.State.Duels)
		if a.status != http.StatusOK && t.Type != "/problems/tournament-unplayable" {
			s.t.Errorf("tournament %s: %d %s", id, a.status, a.body)
		}
	}
	return got
}

// entry is a record in a database.
type entry struct {
	path       [][]byte
	key, value []byte
}

// kind is the path of the entry's bucket without numbers and names.
func (e entry) kind() string {
	var parts []string
	for _, p := range e.path {
		if slices.ContainsFunc(p, func(c byte) bool { return c < ' ' }) {
			p = []byte("*")
		}
		parts = append(parts, string(p))
	}
	if kind := strings.Join(parts, "/"); kind == "tournaments/games/*" || strings.HasPrefix(kind, "collections/") {
		return kind + "/" + string(e.key)
	} else if strings.HasSuffix(kind, "/keys") {
		return kind + "/" + string(e.key[:1])
	} else {
		return kind
	}
}

// firsts returns the first record of each kind in a database.
func firsts(t *testing.T, path string) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	alter(t, path, func(tx *bbolt.Tx) error {
		var visit func(path [][]byte, b *bbolt.Bucket) error
		visit = func(path [][]byte, b *bbolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error {
				if v == nil {
					return visit(append(slices.Clone(path), bytes.Clone(k)), b.Bucket(k))
				}
				e := entry{path, bytes.Clone(k), bytes.Clone(v)}
				if _, ok := all[e.kind()]; !ok {
					all[e.kind()] = e
				}
				return nil
			})
		}
		return tx.ForEach(func(name []byte, b *bbolt.Bucket) error { return visit([][]byte{bytes.Clone(name)}, b) })
	})
	return all
}

// alter runs a transaction on the database at path.
func alter(t *testing.T, path string, do func(*bbolt.Tx) error) {
	t.Helper()
	bolt, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bolt.Close()
	if err := bolt.Update(do); err != nil {
		t.Fatal(err)
	}
}

// zeroed returns b with the four bytes from at on, or its last four, replaced by zeros.
func zeroed(b []byte, at int) []byte {
	b = bytes.Clone(b)
	at = max(0, min(at, len(b)-4))
	clear(b[at:min(at+4, len(b))])
	return b
}

// put replaces a record in a database.
func (e entry) put(t *testing.T, path string, key, value []byte) {
	t.Helper()
	alter(t, path, func(tx *bbolt.Tx) error {
		b := tx.Bucket(e.path[0])
		for _, name := range e.path[1:] {
			b = b.Bucket(name)
		}
		if err := b.Delete(e.key); err != nil {
			return err
		}
		return b.Put(key, value)
	})
}

// TestDamagedRecords zeroes four bytes of a record of each kind, in its value and in its key: the
// check names it, the server starts, says so, and has all that it had, but for a tournament whose
// own record it is; after that the check finds no other damage.
func TestDamagedRecords(t *testing.T) {
	race.Skip(t, "a server begins again and again, and reads; TestRestore and TestBackupUnderFire begin servers, too")
	dir := t.TempDir()
	s := startIn(t, dir, nil)
	want := s.full()
	s.stopAll()
	all := firsts(t, filepath.Join(dir, metaName))
	if len(all) < 15 {
		t.Fatal(slices.Sorted(maps.Keys(all)))
	}
	for kind, e := range firsts(t, filepath.Join(dir, "slates.db")) {
		if strings.HasSuffix(kind, "/counts") { // damage of others is that of the users concerned
			all[kind] = e
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		e := all[kind]
		name := metaName
		if e.path[0][0] == 'c' && string(e.path[0]) == "collections" {
			name = "slates.db"
		}
		changes := map[string][2][]byte{"key": {zeroed(e.key, len(e.key)), e.value}}
		if len(e.value) > 0 {
			changes["value"] = [2][]byte{e.key, zeroed(e.value, 2)}
			if len(e.value) == 8 {
				changes["value"] = [2][]byte{e.key, zeroed(e.value, 4)}
			}
		}
		if name == "slates.db" {
			delete(changes, "key") // a record of an unknown name
		}
		for part, to := range changes {
			t.Run(kind+" "+part, func(t *testing.T) {
				copied := t.TempDir()
				if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
				e.put(t, filepath.Join(copied, name), to[0], to[1])
				if verdicts(t, copied) == "" {
					t.Error("the check finds no damage")
				}
				own := strings.HasPrefix(kind, "tournaments/games") || kind == "tournaments/records" && part == "value"
				lost, damaged := resume(t, copied, want)
				if !own && len(lost) > 0 || len(lost) > 1 {
					t.Error("lost:", lost)
				}
				if index := kind == "tournaments/records" && part == "key"; !own && !index && damaged == 0 {
					t.Error("it does not say so")
				}
				if bad := verdicts(t, copied); own != (bad != "") {
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
			alter(t, filepath.Join(copied, metaName), func(tx *bbolt.Tx) error {
				return tx.ForEach(func(_ []byte, root *bbolt.Bucket) error {
					if name == "record" {
						n++
						return change(root)
					}
					return root.ForEachBucket(func(k []byte) error {
						if string(k) == "games" {
							return nil
						}
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

// resume starts a server on a folder, which must hold what it did, but for tournaments, whose names
// it returns with the number of damaged parts that the server has found.
func resume(t *testing.T, dir string, want map[string]string) (lost []string, damaged int) {
	t.Helper()
	s := startIn(t, dir, nil)
	defer s.stopAll()
	got := s.holds()
	for name := range want {
		if strings.HasPrefix(name, "tournament ") && got[name] != want[name] {
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
// and has all but tournaments, which it says, and which the check named before.
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
				// The bytes of a snapshot are verified when it is loaded, and by the check.
				named := verdicts(t, copied)
				lost, damaged := resume(t, copied, want)
				if len(lost) > 0 && (damaged == 0 && !strings.Contains(lost[0], "tournament-unplayable") || named == "") {
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
