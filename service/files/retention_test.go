package files

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestExpire: files that are old enough go, with their notes; what is held, in use or younger stays.
func TestExpire(t *testing.T) {
	f := newFolder(t, Options{})
	old, held, used := f.create("old", "batch", "1"), f.create("held", "batch", "22"), f.create("used", "batch_output", "333")
	if err := f.Hold(held.ID, "batch_1"); err != nil {
		t.Fatal(err)
	}
	expire := func(before time.Time) (told []string) {
		t.Helper()
		err := f.Expire(t.Context(), before, func(x File) bool { return x.ID == used.ID }, func(x File) { told = append(told, x.Name) })
		if err != nil {
			t.Fatal(err)
		}
		return told
	}
	if told := expire(old.CreatedAt); told != nil {
		t.Errorf("none is older than the first, and %v went", told)
	}
	later := time.Now().Add(time.Hour)
	if d := cmp.Diff([]string{"old"}, expire(later)); d != "" {
		t.Error(d)
	}
	if told := expire(later); told != nil {
		t.Errorf("again: %v", told)
	}
	if n := len(f.there()); n != 2 || f.content(held.ID) != "22" || f.content(used.ID) != "333" {
		t.Errorf("%d files are there", n)
	}
	if err := f.Release("batch_1"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"held"}, expire(later)); d != "" {
		t.Error(d)
	}
}
