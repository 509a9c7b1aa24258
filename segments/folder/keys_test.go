package folder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"thresher/collection"
)

// keyOf is the idempotency key of a write of a number, whose answer is what the change will do.
func keyOf(number uint64) *Key {
	return &Key{Name: fmt.Sprint("key ", number), Fingerprint: fmt.Sprint("print ", number), At: time.Unix(1700000000, int64(number)),
		Answering: func(will Written, vectors int) ([]byte, error) { return fmt.Appendf(nil, "%+v %d", will, vectors), nil }}
}

// checkKey fails unless the key of a number is there, or is not.
func checkKey(t fataler, f *Folder, number uint64, there bool) {
	t.Helper()
	want, got := keyOf(number), f.FindKey(fmt.Sprint("key ", number))
	if (got != nil) != there || there && (got.Name != want.Name || got.Fingerprint != want.Fingerprint || !got.At.Equal(want.At)) {
		t.Fatalf("key %d is %+v", number, got)
	}
}

// TestKeysAreDurable: keys of changes that come together or alone have answers that say what was done, in the folder that is opened again and in its copies.
func TestKeysAreDurable(t *testing.T) {
	b, ctx := newBackend(t), context.Background()
	for seed := range uint64(4) {
		path, r := created(t, collection.InnerProduct, 6), rand.New(rand.NewPCG(seed, 5))
		f := opened(t, path, Options{Backend: b, ByHand: true})
		var mu sync.Mutex
		answers := map[uint64]Written{}
		apply := func(number uint64, c Change) {
			c.Key = keyOf(number)
			done, err := f.Apply(ctx, c)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers[number] = done
		}
		var all sync.WaitGroup
		for number := range uint64(40) {
			c := drawChange(r, 6, 30, 8, seed%2 == 0)
			if number%9 == 8 {
				c = Change{IDs: idsOf(nil, false)} // of nothing
			}
			all.Go(func() { apply(number, c) })
			if number%10 == 0 {
				all.Wait()
			}
		}
		all.Wait()
		copied := filepath.Join(t.TempDir(), "copy")
		if _, err := f.Copy(copied); err != nil {
			t.Fatal(err)
		}
		cloned := filepath.Join(t.TempDir(), "clone")
		if err := Clone(copied, cloned); err != nil {
			t.Fatal(err)
		}
		closed(t, f)
		for _, path := range []string{path, copied, cloned} {
			f = opened(t, path, Options{Backend: b, ByHand: true})
			now := f.Snapshot()
			vectors, newest := now.Len(), now.Version()
			now.Release()
			for number, done := range answers {
				checkKey(t, f, number, true)
				want := fmt.Sprintf("%+v ", done)
				if done.Version == newest {
					want += fmt.Sprint(vectors)
				}
				if got := string(f.FindKey(fmt.Sprint("key ", number)).Answer); !strings.HasPrefix(got, want) {
					t.Errorf("%s, key %d: %s, want %s", path, number, got, want)
				}
			}
			if len(f.Keys()) != len(answers) || len(answers) != 40 {
				t.Errorf("%d keys of %d", len(f.Keys()), len(answers))
			}
			closed(t, f)
		}
	}
}

// TestRefusedKey: a change whose key is refused is not made, nor does it hinder those beside it.
func TestRefusedKey(t *testing.T) {
	b, ctx := newBackend(t), context.Background()
	f := opened(t, created(t, collection.InnerProduct, 2), Options{Backend: b, ByHand: true})
	defer closed(t, f)
	change := func(id string, k *Key) Change {
		return Change{IDs: idsOf([]string{id}, false), Rows: []float32{1, 2}, Only: OnlyNew, Key: k}
	}
	refused := errors.New("refused")
	for _, k := range []*Key{{}, {Name: "large", Answer: make([]byte, maxKeyBytes)}, {Name: "k", Answering: func(Written, int) ([]byte, error) { return nil, refused }}} {
		if _, err := f.Apply(ctx, change("7", k)); err == nil || k.Name == "k" && !errors.Is(err, refused) {
			t.Error(err)
		}
	}
	if _, err := f.Apply(ctx, change("7", keyOf(1))); err != nil {
		t.Error(err)
	}
	if _, err := f.Apply(ctx, change("7", keyOf(2))); !errors.Is(err, ErrThere) {
		t.Error(err)
	}
	checkKey(t, f, 1, true)
	checkKey(t, f, 2, false)
}

// TestKeysAreHandedOver: keys are given to whoever keeps them before their logs are removed, or when there are many; while that fails the logs stay.
func TestKeysAreHandedOver(t *testing.T) {
	b, ctx, path := newBackend(t), context.Background(), created(t, collection.InnerProduct, 2)
	kept := map[string]bool{}
	full := errors.New("full")
	var fail error
	o := Options{Backend: b, ByHand: true, SealRows: 10, KeepKeys: func(keys []*Key) error {
		for _, k := range keys {
			kept[k.Name] = kept[k.Name] || fail == nil
		}
		return fail
	}}
	f := opened(t, path, o)
	put := func(first, n int) {
		for id := first; id < first+n; id++ {
			if _, err := f.Apply(ctx, Change{IDs: idsOf([]string{fmt.Sprint(id)}, false), Rows: []float32{1, 2}, Key: keyOf(uint64(id))}); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(0, 9)
	if err := f.Maintain(ctx); err != nil || len(kept) > 0 {
		t.Error(kept, err)
	}
	put(9, 3)
	fail = full
	if err := f.Maintain(ctx); !errors.Is(err, full) {
		t.Error(err)
	}
	closed(t, f)
	f = opened(t, path, o)
	checkKey(t, f, 0, true)
	checkKey(t, f, 11, true)
	fail = nil
	put(12, 1)
	if err := f.Maintain(ctx); err != nil || len(kept) != 13 || !kept["key 0"] || !kept["key 12"] {
		t.Error(kept, err)
	}
	checkKey(t, f, 0, false)
	for id := range 4096 {
		f.remember(keyOf(uint64(100+id)), 14) // in place of as many writes that seal nothing
	}
	if err := f.Maintain(ctx); err != nil || len(kept) != 13+4096 || len(f.Keys()) != 0 {
		t.Error(len(kept), len(f.Keys()), err)
	}
	put(13, 20)
	closed(t, f)
	o.KeepKeys = nil
	f = opened(t, path, o)
	if err := f.Maintain(ctx); err != nil || len(f.Keys()) != 0 {
		t.Error(len(f.Keys()), err)
	}
	closed(t, f)
	f = opened(t, path, o)
	if len(f.Keys()) != 0 {
		t.Errorf("%d keys are left", len(f.Keys()))
	}
	closed(t, f)
}
