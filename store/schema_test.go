package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// TestSchema: entries are checked by the bucket that they are in, and what is a bucket and what is not is
// told apart; other roots, and what lies in buckets of buckets, are nobody's.
func TestSchema(t *testing.T) {
	s := Schema{Root: "root", Buckets: []Entries{
		{Name: "things", Check: func(key, value []byte) error {
			if string(value) != "good" {
				return errors.New("it is " + string(value))
			}
			return nil
		}},
		{Name: "holder"},
	}}
	bucket := []byte(nil)
	for _, test := range []struct {
		bucket, key string
		value       []byte
		want        string
	}{
		{"root/things", "a", []byte("good"), ""},
		{"root/things", "a", []byte("bad"), "it is bad"},
		{"root/things", "a", bucket, "it is a bucket"},
		{"root", "things", bucket, ""},
		{"root", "things", []byte("good"), "it is not a bucket"},
		{"root/holder", "a", bucket, ""},
		{"root/holder", "a", []byte("good"), "it is not a bucket"},
		{"root/holder/a", "b", []byte("bad"), ""},
		{"root/holder/a", "b", bucket, ""},
		{"root/unknown", "a", []byte("bad"), ""},
		{"root/unknown", "a", bucket, "it is a bucket"},
		{"rootless", "a", []byte("bad"), ""},
		{"other/things", "a", []byte("bad"), ""},
	} {
		got := ""
		if err := s.CheckRecord(test.bucket, []byte(test.key), test.value); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %s, %q: %q, want %q", test.bucket, test.key, test.value, got, test.want)
		}
	}
}

// TestEach: records come in order with the errors of those that cannot be read, buckets among them are
// left out, and so is everything after the reader has enough.
func TestEach(t *testing.T) {
	db, _, err := Open(filepath.Join(t.TempDir(), "a.db"), &Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read := func(key, text []byte) (string, error) {
		if string(text) == "bad" {
			return "", errors.New("bad " + string(key))
		}
		return string(key) + string(text), nil
	}
	for range Each(nil, read) {
		t.Error("a bucket that does not exist has records")
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		if err != nil {
			return err
		}
		_, err = b.CreateBucket([]byte("2"))
		err = errors.Join(err, b.Put([]byte("1"), []byte("x")), b.Put([]byte("3"), []byte("bad")), b.Put([]byte("4"), []byte("y")), b.Put([]byte("5"), nil))
		var got []string
		for text, err := range Each(b, read) {
			if err != nil {
				text = err.Error()
			}
			if got = append(got, text); text == "4y" {
				break
			}
		}
		if !slices.Equal(got, []string{"1x", "bad 3", "4y"}) {
			t.Error(got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
