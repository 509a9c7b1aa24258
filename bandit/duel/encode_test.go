package duel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/bandit/philox"
)

// midway is a tournament with duels out and, mostly, arms eliminated.
func midway(t testing.TB, d Design, duels int) *Tournament {
	t.Helper()
	f := Constant(5, .45)
	tournament := begin(t, Config{Arms: names(5), Design: d, Seed: 9}, newClock().time)
	order := rand.New(philox.New(4, 4))
	for range duels {
		next, err := tournament.Next(2)
		if err != nil {
			break
		}
		if len(next) == 0 {
			tournament.Recall()
			continue
		}
		if _, err := tournament.Report(judge(9, f, next[order.IntN(len(next))])); err != nil && !errors.Is(err, ErrWithdrawn) {
			t.Fatal(err)
		}
	}
	return tournament
}

func TestBothFormsAgree(t *testing.T) {
	for name, d := range designs() {
		a := midway(t, d, 60)
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{text, raw} {
			b, err := Restore(data, newClock().time)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := json.Marshal(b)
			if err != nil || !bytes.Equal(again, text) {
				t.Errorf("%s, %v: was\n%s\nis\n%s", name, err, text, again)
			}
		}
	}
}

// The format on disk: a file of the first version must be read for ever.
func TestStoredStatesAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/state-1.*")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	want, err := json.Marshal(midway(t, designs()["beat strict"], 40))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Restore(bytes.TrimSuffix(data, []byte("\n")), newClock().time)
		if err != nil {
			t.Fatal(file, err)
		}
		if got, err := json.Marshal(b); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", file, err, got, want)
		}
	}
}

func TestDamagedStates(t *testing.T) {
	a := midway(t, designs()["beat sweep"], 60)
	raw, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 0x10
		if _, err := Restore(bad, nil); err == nil {
			t.Fatalf("byte %d of %d changed, and no error", i, len(raw))
		}
		if _, err := Restore(raw[:i], nil); err == nil {
			t.Fatalf("cut at %d of %d, and no error", i, len(raw))
		}
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{`"version":1`, `"version":2`, "version 2"},
		{`"told":[`, `"told":[1`, "told"},
		{`"gamma":1`, `"gamma":0.5`, "gamma 0.5"},
		{`"active":[`, `"active":[7,`, "no arm below 5"},
		{`"place":`, `"please":`, "unknown field"},
		{`"issued":`, `"issued":9`, "in place of duel"},
	} {
		bad := strings.Replace(string(text), c[0], c[1], 1)
		before, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.UnmarshalJSON([]byte(bad)); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s for %s: %v, want %q", c[1], c[0], err, c[2])
		}
		if after, err := json.Marshal(a); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: a refused state changed the tournament, %v", c[1], err)
		}
	}
}

// Whatever is restored can be played on and saved again, and bytes that are no
// state are refused without a panic.
func FuzzRestore(f *testing.F) {
	for _, d := range designs() {
		a := midway(f, d, 30)
		text, err := json.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := a.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if rest, ok := bytes.CutPrefix(data, []byte(magic)); ok && len(rest) >= 4 {
			// Past the checksum is where there is something to find.
			end := len(data) - 4
			data = binary.LittleEndian.AppendUint32(bytes.Clone(data[:end]), checksum(data[:end]))
		}
		a, err := Restore(data, newClock().time)
		if err != nil {
			return
		}
		for range 20 {
			duels, err := a.Next(3)
			if err != nil {
				break
			}
			for _, d := range duels {
				if _, err := a.Report(Result{d.ID, d.ID%3 == 0}); err != nil && !errors.Is(err, ErrWithdrawn) {
					t.Fatal(err)
				}
			}
		}
		a.State()
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(text, nil); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
