//go:build unix

package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thresher/internal/sniffers"
)

// TestSniffers: open refuses what has two readings, names the field that decides, and follows it.
func TestSniffers(t *testing.T) {
	c := newClient(t, testOptions(t))
	for _, s := range sniffers.Cases() {
		t.Run(s.Decides+"/"+s.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), s.File)
			if err := os.WriteFile(path, s.Data, 0o600); err != nil {
				t.Fatal(err)
			}
			if s.Words != nil {
				r := c.call("open", object{"path": path, "metric": "ip"})
				if r.Error == nil {
					t.Fatal("is read")
				}
				for _, word := range append([]string{string(s.Word)}, s.Words...) {
					if !strings.Contains(r.Error.Message, word) {
						t.Errorf("%q lacks %q", r.Error.Message, word)
					}
				}
			}
			if s.Rows == 0 {
				return
			}
			fields := object{"path": path, "metric": "ip"}
			for name, value := range map[string]string{"column": s.Choice.Column, "header": s.Choice.Header, "ids": s.Choice.IDs} {
				if value != "" {
					fields[name] = value
				}
			}
			var info about
			c.must(&info, "open", fields)
			if info.N != s.Rows || info.Dim != s.Dim || info.VectorColumns == "" {
				t.Errorf("%+v, want %d x %d and the columns", info, s.Rows, s.Dim)
			}
		})
	}
}
