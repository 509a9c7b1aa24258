package db

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"thresher/service/problem"
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
			if err := CreateBuckets(tx, "store", "records", "ids"); err != nil {
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

// reindexed deletes the ids and the sequence number, and checks that Reindex restores both.
func (s Sequence) reindexed(t *testing.T) error {
	if err := errors.Join(s.IDs.Delete([]byte("7")), s.Records.SetSequence(3)); err != nil {
		return err
	}
	err := s.Reindex(func(text []byte) (string, error) {
		if string(text) == "8" {
			return "", errors.New("damaged")
		}
		return string(text), nil
	})
	if string(s.Get("7")) != "7" || s.Get("8") != nil || s.Next() != 301 {
		t.Error(s.Get("7"), s.Get("8"), s.Next())
	}
	return err
}

func TestPageSize(t *testing.T) {
	for limit, want := range map[int]int{0: DefaultPage, 1: 1, MostPage: MostPage} {
		if got, err := PageSize(limit); err != nil || got != want {
			t.Error(limit, got, err)
		}
	}
	for _, limit := range []int{-1, MostPage + 1} {
		if _, err := PageSize(limit); problem.Of(err).Field != "limit" {
			t.Error(limit, err)
		}
	}
}
