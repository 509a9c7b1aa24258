package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"go.etcd.io/bbolt"
)

// listed are the records before an id, newest first.
func listed(s Sequence, id string) (texts []string, found bool) {
	entries, found := s.Before(id)
	for _, text := range entries {
		texts = append(texts, string(text))
	}
	return texts, found
}

func TestSequenceIsListedNewestFirst(t *testing.T) {
	bolt, _, err := Open(filepath.Join(t.TempDir(), "meta.db"), &Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bolt.Close()
	err = bolt.Update(func(tx *bbolt.Tx) error {
		if Bucket(tx, "store", "records") != nil {
			t.Error("a bucket that nobody created")
		}
		for range 2 { // creating twice changes nothing
			if err := (Schema{Root: "store", Buckets: []Entries{{Name: "records"}, {Name: "ids"}}}).Create(tx); err != nil {
				return err
			}
		}
		s := Sequence{Bucket(tx, "store", "records"), Bucket(tx, "store", "ids")}
		for i := range 300 { // keys of more than one byte
			if n := s.Next(); n != uint64(i+1) {
				t.Fatalf("number %d after %d records", n, i)
			}
			if err := s.Put(s.Next(), fmt.Sprint("id", i), fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		if err := errors.Join(s.Put(300, "id299", []byte("new")), s.Remove(299, "id298")); err != nil {
			return err
		}
		for _, c := range []struct {
			id    string
			want  []string
			found bool
		}{{"", []string{"new", "297", "296"}, true}, {"id256", []string{"255", "254", "253"}, true}, {"id0", nil, true}} {
			if got, found := listed(s, c.id); found != c.found || !slices.Equal(got[:min(3, len(got))], c.want) {
				t.Errorf("before %q: %t %q, want %q", c.id, found, got[:min(3, len(got))], c.want)
			}
		}
		if _, found := listed(s, "id298"); found || s.Get("id298") != nil || string(s.Get("id7")) != "7" {
			t.Error("the removed record is found, or another is not")
		}
		return s.reindexed(t)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// reindexed loses ids and the sequence number, damages a record and moves another, and checks that
// Reindex restores all but the damaged one, which keeps its id.
func (s Sequence) reindexed(t *testing.T) error {
	err := errors.Join(s.IDs.Delete([]byte("id7")), s.IDs.Put([]byte("id6"), Key(3)), s.IDs.Put([]byte("id"), Key(2)),
		s.Records.SetSequence(3), s.Records.Put(Key(9), []byte("bad")), s.Records.Delete(Key(6)), s.Records.Put(Key(0), []byte("5")))
	if err != nil {
		return err
	}
	err = s.Reindex(func(text []byte) (uint64, string, error) {
		if string(text) == "new" {
			return 300, "id299", nil
		}
		i, err := strconv.Atoi(string(text))
		return uint64(i + 1), "id" + string(text), err
	})
	for id, want := range map[string]string{"id7": "7", "id8": "bad", "id5": "5", "id299": "new", "id6": "6", "id": ""} {
		if got := string(s.Get(id)); got != want {
			t.Errorf("%s is %q, want %q", id, got, want)
		}
	}
	if s.Next() != 301 || string(s.Records.Get(Key(6))) != "5" || s.Records.Get(Key(0)) != nil {
		t.Error(s.Next(), s.Records.Get(Key(6)), s.Records.Get(Key(0)))
	}
	return err
}
