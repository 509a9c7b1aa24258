package corpus

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestEmbedded(t *testing.T) {
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Entries) < 5000 || !strings.HasPrefix(c.Version, "go1.") || c.Source != "" {
		t.Errorf("%d entries of %q from %q", len(c.Entries), c.Version, c.Source)
	}
	if len(extract) > 3<<20 {
		t.Errorf("extract of %d bytes", len(extract))
	}
	if !slices.Equal(c.Entries, tidy(slices.Clone(c.Entries))) {
		t.Error("entries are not tidy")
	}
	if !strings.Contains(License, "The Go Authors") || !strings.Contains(License, "Redistributions in binary form") {
		t.Error("the licence of the texts is missing")
	}
}

func TestExtractRoundTrip(t *testing.T) {
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	c.Entries = c.Entries[:300]
	var b bytes.Buffer
	if err := c.WriteExtract(&b); err != nil {
		t.Fatal(err)
	}
	again, err := readExtract(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if again.Version != c.Version || !slices.Equal(again.Entries, c.Entries) {
		t.Error("what was written is not what is read")
	}
	var twice bytes.Buffer
	if err := again.WriteExtract(&twice); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(twice.Bytes(), b.Bytes()) {
		t.Error("two writings differ")
	}
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadExtractRefuses(t *testing.T) {
	const entry = `{"p":"io","n":"EOF","t":"the end"}` + "\n"
	good := zipped(t, `{"version":"go1","entries":1}`+"\n"+entry)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"not gzip":       {[]byte("plain"), "extract"},
		"nothing":        {nil, "extract"},
		"empty":          {zipped(t, ""), "line 1"},
		"no header":      {zipped(t, "go1\n"), "line 1"},
		"negative":       {zipped(t, `{"entries":-1}`+"\n"), "-1 entries"},
		"too few":        {zipped(t, `{"entries":2}`+"\n"+entry), "line 3 of 3"},
		"too many":       {zipped(t, `{"entries":1}`+"\n"+entry+entry), "more lines"},
		"not an entry":   {zipped(t, `{"entries":1}`+"\n[]\n"), "line 2 of 2"},
		"truncated":      {good[:len(good)-6], "extract"},
		"wrong checksum": {append(bytes.Clone(good[:len(good)-8]), make([]byte, 8)...), "extract"},
		"endless line":   {zipped(t, strings.Repeat(" ", maxLine+1)), "line 1: "},
	} {
		_, err := readExtract(bytes.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
	if c, err := readExtract(bytes.NewReader(good)); err != nil || len(c.Entries) != 1 {
		t.Errorf("good extract: %v, %v", c, err)
	}
}

func TestWriteExtractTellsFailure(t *testing.T) {
	full := errors.New("disk full")
	var whole bytes.Buffer
	if err := (&Corpus{}).WriteExtract(&whole); err != nil {
		t.Fatal(err)
	}
	for room := range whole.Len() { // the last bytes are written when the extract is closed
		if err := (&Corpus{}).WriteExtract(&failing{full, room}); !errors.Is(err, full) {
			t.Errorf("room for %d of %d bytes: %v, want %v", room, whole.Len(), err, full)
		}
	}
}

// failing accepts a number of bytes and then fails.
type failing struct {
	err  error
	room int
}

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	if n < len(b) {
		return n, f.err
	}
	return n, nil
}

func FuzzReadExtract(f *testing.F) {
	f.Add(zipped(f, ""))
	f.Add(zipped(f, `{"version":"go1","entries":1}`+"\n"+`{"p":"io","n":"EOF","t":"the end"}`+"\n"))
	f.Add(zipped(f, `{"entries":9007199254740993}`+"\n"))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readExtract(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := c.WriteExtract(&b); err != nil {
			t.Fatal(err)
		}
		again, err := readExtract(&b)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if !slices.Equal(again.Entries, c.Entries) {
			t.Fatal("entries change by writing")
		}
	})
}
