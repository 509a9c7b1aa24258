package main

import (
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"

	"thresher/internal/cli"
	"thresher/internal/release"
)

const released = "v" + release.Version

// TestStampedVersion: a program linked with a revision reports it.
func TestStampedVersion(t *testing.T) {
	defer func(was string) { stamped = was }(stamped)
	for stamp, want := range map[string]buildInfo{
		"":                           {Version: released},
		"0123456789abcdef0123":       {Version: released + "+0123456789ab", Revision: "0123456789abcdef0123"},
		"0123456789abcdef0123+dirty": {Version: released + "+0123456789ab.dirty", Revision: "0123456789abcdef0123", Modified: true},
	} {
		stamped = stamp
		if got := readBuildInfo(); got.Version != want.Version || got.Revision != want.Revision || got.Modified != want.Modified {
			t.Errorf("%q: %+v", stamp, got)
		}
	}
}

// TestDescribeBuild: a binary names its version whatever Go recorded of its build: nothing, sources
// without version control data (go build -buildvcs=false), a released module (go install), a commit.
func TestDescribeBuild(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "true"}}
	of := func(version string, settings []debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	for name, x := range map[string]struct {
		info *debug.BuildInfo
		want buildInfo
	}{
		"nothing":          {nil, buildInfo{Version: released}},
		"no module":        {of("", nil), buildInfo{Version: released}},
		"no vcs data":      {of("(devel)", nil), buildInfo{Version: released}},
		"release":          {of("v1.2.3", nil), buildInfo{Version: "v1.2.3"}},
		"release's tree":   {of(released, vcs[:1]), buildInfo{Version: released, Revision: revision}},
		"commit":           {of("(devel)", vcs), buildInfo{Version: released + "+0123456789ab.dirty", Revision: revision, Modified: true}},
		"installed commit": {of("v0.0.0-20260102030405-0123456789ab", nil), buildInfo{Version: "v0.0.0-20260102030405-0123456789ab"}},
		"commit's module":  {of("v0.0.0-20260102030405-0123456789ab", vcs[:1]), buildInfo{Version: released + "+0123456789ab", Revision: revision}},
	} {
		got := describeBuild(x.info)
		if got.Version != x.want.Version || got.Revision != x.want.Revision || got.Modified != x.want.Modified || got.Go == "" || got.Platform == "" {
			t.Errorf("%s: %+v; want %+v", name, got, x.want)
		}
	}
}

// TestVersionWithoutRevision: this test's binary has no version control data.
func TestVersionWithoutRevision(t *testing.T) {
	r := thresher(t, "version")
	if r.WantCode(t, cli.ExitOK); !strings.Contains(r.Out, released) || !strings.Contains(r.Out, "built without version control data") {
		t.Errorf("%s", r.Out)
	}
	var b buildInfo
	r = thresher(t, "version", "--json")
	if r.WantCode(t, cli.ExitOK); json.Unmarshal([]byte(r.Out), &b) != nil || b.Version != released || b.Revision != "" {
		t.Errorf("%s", r.Out)
	}
	if r = thresher(t, "--version"); r.Out != "thresher "+released+"\n" {
		t.Errorf("%s", r.Out)
	}
}
