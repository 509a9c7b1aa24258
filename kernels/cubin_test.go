package kernels

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestCubinsOfTheTree checks that every module has the code of every GPU, each in the archive of its GPU.
func TestCubinsOfTheTree(t *testing.T) {
	gpus := [][2]int{{8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {12, 0}}
	var want []string
	for _, gpu := range gpus {
		want = append(want, fmt.Sprintf("cubins/sm_%d%d.zip", gpu[0], gpu[1]))
		for _, name := range Names() {
			code, err := Cubin(name, gpu[0], gpu[1])
			if err != nil {
				t.Errorf("%v: %s", err, remedy)
			} else if got := capability(code); got != 10*gpu[0]+gpu[1] {
				t.Errorf("%s for %v: code for %d: %s", name, gpu, got, remedy)
			}
		}
	}
	archives, err := fs.Glob(embedded, "cubins/*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, archives); diff != "" {
		t.Errorf("archives that there must be (-) and are (+): %s\n%s", remedy, diff)
	}
}

// capability returns ten times the compute capability that an ELF file's flags name, 0 if it is none. ptxas writes it to
// bits 0 to 7, or 8 to 15 where the version of the format is 8 or later.
func capability(code []byte) int {
	if len(code) < 64 || !strings.HasPrefix(string(code), "\x7fELF") {
		return 0
	}
	flags := binary.LittleEndian.Uint32(code[48:])
	if code[8] >= 8 {
		flags >>= 8
	}
	return int(flags & 0xff)
}

// TestTarget checks which code a GPU gets: of its major capability, the greatest minor one not above its own.
func TestTarget(t *testing.T) {
	m := module{CubinsSHA256: map[string]string{"sm_80": "a", "sm_86": "b", "sm_89": "c", "sm_90": "d", "sm_100": "e", "sm_120": "f"}}
	got := map[string]string{}
	for _, gpu := range [][2]int{{7, 5}, {8, 0}, {8, 5}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {11, 0}, {12, 0}, {12, 1}, {13, 0}} {
		got[fmt.Sprint(gpu[0], ".", gpu[1])] = m.target(gpu[0], gpu[1])
	}
	want := map[string]string{
		"7.5": "", "8.0": "sm_80", "8.5": "sm_80", "8.6": "sm_86", "8.7": "sm_86", "8.9": "sm_89", "9.0": "sm_90",
		"10.0": "sm_100", "10.3": "sm_100", "11.0": "", "12.0": "sm_120", "12.1": "sm_120", "13.0": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (module{CubinsSHA256: map[string]string{"sm_86": "b"}}).target(8, 0); got != "" {
		t.Errorf("a GPU of 8.0 is given %s", got)
	}
}

func TestCubinThatDoesNotMatchIsRefused(t *testing.T) {
	const code = "\x7fELF code"
	archive := func(name, content string) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, content)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	manifest := fmt.Appendf(nil, `{"modules":[{"name":"copy","cubins_sha256":{"sm_80":"%x"}}]}`, sha256.Sum256([]byte(code)))
	for _, c := range []struct {
		name, module string
		archive      []byte
		major, minor int
		want         string // in the error, "" for none
	}{
		{"as written", "copy", archive("copy.cubin", code), 8, 6, ""},
		{"no code for it", "copy", nil, 9, 0, ""},
		{"one byte more", "copy", archive("copy.cubin", code+"\n"), 8, 0, "cubins/sm_80.zip: copy.cubin has SHA-256 "},
		{"no such file", "copy", archive("scan.cubin", code), 8, 0, "cubins/sm_80.zip: open copy.cubin: file does not exist"},
		{"cut short", "copy", archive("copy.cubin", code)[:30], 8, 0, "cubins/sm_80.zip: zip: not a valid zip file"},
		{"no archive", "copy", nil, 8, 0, "cubins/sm_80.zip: file does not exist"},
		{"not listed", "scan", archive("scan.cubin", code), 8, 0, `lists no module "scan"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"manifest.json": {Data: manifest}}
			if c.archive != nil {
				files["cubins/sm_80.zip"] = &fstest.MapFile{Data: c.archive}
			}
			got, err := readCubin(files, c.module, c.major, c.minor)
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
					t.Errorf("%q, %v, want an error with %q", got, err, c.want)
				}
			case err != nil:
				t.Error(err)
			case c.major == 8 && string(got) != code || c.major != 8 && got != nil:
				t.Errorf("got %q", got)
			}
		})
	}
}
