package main

import "testing"

// TestStampedVersion: a program linked with a revision reports it.
func TestStampedVersion(t *testing.T) {
	defer func(was string) { stamped = was }(stamped)
	for stamp, want := range map[string]buildInfo{
		"":                           {Version: "devel"},
		"0123456789abcdef0123":       {Version: "devel-0123456789ab", Revision: "0123456789abcdef0123"},
		"0123456789abcdef0123+dirty": {Version: "devel-0123456789ab+dirty", Revision: "0123456789abcdef0123", Modified: true},
	} {
		stamped = stamp
		if got := readBuildInfo(); got.Version != want.Version || got.Revision != want.Revision || got.Modified != want.Modified {
			t.Errorf("%q: %+v", stamp, got)
		}
	}
}
