package dataset

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestCovers: what a file covers is kept in every format that states it, with the first answer, and is not
// in the way of the others.
func TestCovers(t *testing.T) {
	covers := json.RawMessage(`{"queries":"ab","shards":[{"digest":"c","rows":3}]}`)
	all := sampleResults()
	for _, x := range []struct {
		name  string
		write func(out *bytes.Buffer, covers json.RawMessage) error
	}{
		{"a.jsonl", func(out *bytes.Buffer, covers json.RawMessage) error {
			return Covering(spoolOf(all), covers)(func(_ int64, r *Result) error {
				_, err := out.Write(AppendJSONL(nil, r, false))
				return err
			})
		}},
		{"a.npz", func(out *bytes.Buffer, covers json.RawMessage) error {
			return WriteNPZ(Covering(spoolOf(all), covers), 3, out)
		}},
		{"a.parquet", func(out *bytes.Buffer, covers json.RawMessage) error {
			return WriteParquet(Covering(spoolOf(all), covers), out)
		}},
	} {
		for _, want := range []json.RawMessage{covers, nil} {
			var out bytes.Buffer
			if err := x.write(&out, want); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), x.name)
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			got, _, err := readResults(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[0].Covers, want) || got[1].Covers != nil {
				t.Errorf("%s: %s and %s, want %s", x.name, got[0].Covers, got[1].Covers, want)
			}
		}
	}
	for text, want := range map[string]bool{`{"a":1}`: true, `null`: false, `{`: false, ``: false, `[1]`: false} {
		if got := coversOf([]byte(text)) != nil; got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
