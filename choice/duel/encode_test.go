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

	"thresher/internal/philox"
)

// midway returns a tournament with duels in flight and, mostly, arms eliminated.
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

// bothForms returns both forms of a tournament's state.
func bothForms(t testing.TB, a *Tournament) (text, raw []byte) {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err = a.MarshalBinary(); err != nil {
		t.Fatal(err)
	}
	return text, raw
}

func TestBothFormsAgree(t *testing.T) {
	for name, d := range designs() {
		text, raw := bothForms(t, midway(t, d, 60))
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

// The stored format: a file of the first version must remain readable for ever.
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

// unsealed returns JSON without its checksum.
func unsealed(text []byte) []byte {
	i := bytes.LastIndex(text, []byte(`,"crc32c":"`))
	return append(bytes.Clone(text[:i]), '}')
}

// Split finds a state in front of any other data.
func TestSplit(t *testing.T) {
	a := midway(t, designs()["beat sweep"], 60)
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := a.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range [][]byte{text, raw} {
		for _, rest := range []string{"", "\n", "\n{\"more\":1}\n", "\x00\x00"} {
			s, r := Split(append(bytes.Clone(state), rest...))
			if !bytes.Equal(s, state) || string(r) != rest {
				t.Errorf("%.20q: %d bytes and %q; want %d and %q", state, len(s), r, len(state), rest)
			}
		}
	}
	for _, none := range []string{"", "{", "thresher", "thresher duel 2\n...", "thresher duel 1\n\xff", string(raw[:len(raw)-1])} {
		if s, r := Split([]byte(none)); string(s) != none || r != nil {
			t.Errorf("%.20q: %q and %q", none, s, r)
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
	sealed, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	// Any character that changes what the JSON says is detected, at the latest by the checksum.
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1 // one digit becomes another
		if b, err := Restore(bad, nil); err == nil {
			t.Fatalf("%q for %q at %d of %s, and no error: %v", bad[i], sealed[i], i, sealed, b)
		}
	}
	var spaced bytes.Buffer
	if err := json.Indent(&spaced, sealed, "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(spaced.Bytes(), nil); err != nil {
		t.Errorf("indented: %v", err)
	}
	text := unsealed(sealed) // older states have no checksum, and must be consistent too
	if _, err := Restore(text, nil); err != nil {
		t.Errorf("without a checksum: %v", err)
	}
	for _, c := range [][3]string{
		{`"version":1`, `"version":3`, "version 3"},
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

// States that are intact but that no tournament writes are rejected: they would lead to
// wrong results or indices out of range.
func TestImpossibleStates(t *testing.T) {
	saved := func(d Design, out bool) string {
		a := begin(t, Config{Arms: names(3), Design: d, Seed: 1}, nil)
		if out {
			if _, err := a.Next(1); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		return string(unsealed(text))
	}
	beat, thompson := saved(Design{Algorithm: BeatTheMean, Horizon: 100}, false), saved(Design{Algorithm: DoubleThompson, Horizon: 100}, true)
	for _, c := range []struct{ text, from, to, want string }{
		{beat, `}`, `} {}`, "something follows it"},
		{beat, `}`, `} }`, "something follows it"},
		{beat, `"active":[0,1,2]`, `"active":[1]`, "1 arms active and 0 eliminated"},
		{thompson, `"queue":[{"id":1,"a":`, `"queue":[{"id":1,"a":7`, "duel 1 is of arms 7"},
		{thompson, `"queue":[{"id":1,"a":`, `"queue":[{"id":1,"a":-1,"b":`, "duel 1 is of arms -1"},
		{beat, `"taken":0`, `"taken":9`, "9 results taken"},
		{strings.Replace(beat, `"taken":0`, `"taken":9`, 1), `"told":[0]`, `"told":[9]`, "0 duels counted, 9 told"},
		{"", "", "", "cut short"},
		{"", "", "thresher d", "cut short"},
		{"", "", "thresher duel 1\n", "cut short"},
		{"", "", "thresher duel 3\n{}", `version "3", not 1 or 2`},
	} {
		last := strings.LastIndex(c.text, c.from)
		bad := c.text[:last] + c.to + c.text[last+len(c.from):]
		if a, err := Restore([]byte(bad), nil); a != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %q", c.to, c.from, err, c.want)
		}
	}
}

// Whatever is restored can be played on and saved again; bytes that are no state are
// rejected without a panic.
func FuzzRestore(f *testing.F) {
	for _, d := range designs() {
		text, raw := bothForms(f, midway(f, d, 30))
		f.Add(text)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if rest, ok := afterMagic(data); ok && len(rest) >= 4 {
			// With the checksum corrected, the fuzzer gets beyond it.
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
				if _, err := a.Report(Result{Duel: d.ID, AWon: d.ID%3 == 0}); err != nil && !errors.Is(err, ErrWithdrawn) {
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
