//go:build cuda && cgo

package device

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePTX(t *testing.T) {
	const head = ".version 8.4\n.target sm_80\n.address_size 64\n"
	integer, long := ptxParam{bytes: 4}, ptxParam{bytes: 8}
	single, double := ptxParam{bytes: 4, float: true}, ptxParam{bytes: 8, float: true}
	for _, c := range []struct {
		name, text string
		want       map[string][]ptxParam
	}{
		{"no kernel", head, map[string][]ptxParam{}},
		{"all kinds", head + ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u32 a,.param .s32 b, .param .f32 c,\n\t.param .f64 d,\n\t.param .b64 e\n)\n.maxntid 256, 1, 1\n{ ret; }",
			map[string][]ptxParam{"k": {long, integer, integer, single, double, long}}},
		{"pointers with attributes", head + ".entry k(.param .u64 .ptr .global .align 16 p, .param .u64 .ptr .align 1 q){}",
			map[string][]ptxParam{"k": {long, long}}},
		{"no parameters", head + ".entry none()\n{}\n.entry bare\n{ .param .u64 inner; }",
			map[string][]ptxParam{"none": nil, "bare": nil}},
		{"two kernels and a function", head + ".func (.param .b32 r) f(.param .b64 x);\n.entry a(.param .u8 x){}\n.entry b(.param .f64 y){ call (r), f, (x); }",
			map[string][]ptxParam{"a": {{bytes: 1}}, "b": {double}}},
		{"small struct", head + ".entry k(.param .align 4 .b8 s[8], .param .u16 h)",
			map[string][]ptxParam{"k": {long, {bytes: 2}}}},
		{"structure", head + ".entry k(.param .align 8 .b8 s[88], .param .u32 n)",
			map[string][]ptxParam{"k": {{bytes: 88}, integer}}},
		{"comments", "// .version 1.0\n/* .entry ghost( */" + head + ".entry /* name */ k // (\n(.param .u64 p /* ) */ )",
			map[string][]ptxParam{"k": {long}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parsePTX(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got.major != 8 || got.minor != 4 || got.target != "sm_80" {
				t.Errorf("version %d.%d, target %q", got.major, got.minor, got.target)
			}
			if diff := cmp.Diff(c.want, got.entries, cmp.AllowUnexported(ptxParam{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParsePTXRefuses(t *testing.T) {
	const head = ".version 8.4\n.target sm_80\n"
	for _, c := range []struct{ text, want string }{
		{"", "no .version"},
		{"not PTX at all", "no .version"},
		{".version 8.4", "no .target"},
		{".version eight\n.target sm_80", `version "eight"`},
		{head + ".entry k(.param .align 4 .b8 big[12])", "parameter 0 has 12 bytes"},
		{head + ".entry k(.param .u64 p, .param .b8 big[9])", "parameter 1 has 9 bytes"},
		{head + ".entry k(.param .texref t)", "parameter 0 has 0 bytes"},
		{head + ".entry k(.param .b8 a[])", "unknown length"},
		{head + ".entry k(.param .b8 a[99999999])", "unknown length"},
		{head + ".entry k(.param .u64 p", "no end"},
		{head + ".entry k() .entry k()", `entry "k", named twice`},
		{head + ".entry", `entry "", named twice or not at all`},
		{head + ".entry (.param .u64 p)", "not at all"},
	} {
		_, err := parsePTX(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzParsePTX(f *testing.F) {
	f.Add(".version 8.4\n.target sm_80\n.visible .entry k(.param .u64 p, .param .align 4 .b8 s[8], .param .f32 x)\n.maxntid 256, 1, 1\n{}")
	f.Add("/*/*.entry k(.param .u64 .ptr .align 1 p[3]//\n")
	f.Fuzz(func(t *testing.T, text string) {
		info, err := parsePTX(text)
		if err != nil {
			return
		}
		for name, params := range info.entries {
			if name == "" || !strings.Contains(text, name) {
				t.Errorf("entry %q", name)
			}
			for i, p := range params {
				if p.bytes < 1 || p.bytes > 8 && p.bytes%8 != 0 || p.words() < 1 {
					t.Errorf("%s: parameter %d has %d bytes", name, i, p.bytes)
				}
			}
		}
	})
}
