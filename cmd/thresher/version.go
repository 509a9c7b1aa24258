package main

import (
	"cmp"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"thresher/gpu/device"
	"thresher/internal/cli"
	"thresher/internal/release"
	"thresher/simd"
)

// buildInfo describes this binary for bug reports.
type buildInfo struct {
	// Version is that of the release, with a leading v; between releases that of the tree, and the revision if it is known.
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the sources; "" if unknown
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"`       // the best set that this processor supports
	GPU      string `json:"gpu,omitempty"` // of the command: driver and devices, or why there is none
}

// stamped is the revision set by the linker if Go records none: -ldflags "-X
// main.stamped=REVISION", followed by dirty if there are changes.
var stamped string

const (
	dirty    = "+dirty" // of a stamped revision
	modified = ".dirty" // of a version, which has one +
)

// packaged is the version of the package that brings this binary, if one does; set by the linker:
// -ldflags "-X main.packaged=VERSION".
var packaged string

// gpuInfo describes the driver and the devices, or says why there are none.
func gpuInfo() string {
	driver, err := device.DriverVersion()
	if err != nil {
		return "none: " + err.Error()
	}
	said := []string{driver}
	names, unused := usableGPUs()
	said = append(said, names...)
	for _, s := range unusedGPUs(unused...) {
		said = append(said, "unused: "+s)
	}
	return strings.Join(said, "; ")
}

func readBuildInfo() buildInfo {
	info, _ := debug.ReadBuildInfo() // nil if the binary has none
	b := describeBuild(info)
	b.Kernels = simd.Best().String()
	return b
}

// describeBuild returns what Go recorded of a build, which may be nil.
func describeBuild(info *debug.BuildInfo) buildInfo {
	b := buildInfo{Version: "v" + release.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	module := ""
	if info != nil {
		module = info.Main.Version
		b.revise(info.Settings)
	}
	if b.Revision == "" {
		b.Revision = strings.TrimSuffix(stamped, dirty)
		b.Modified = b.Revision != stamped
	}
	switch {
	case packaged != "":
		b.Version = packaged
	case b.Revision != "" && module != b.Version: // Go makes up a version for a commit without a tag
		b.Version += "+" + b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			b.Version += modified
		}
	case module != "" && module != "(devel)":
		b.Version = module
	}
	return b
}

// revise sets the revision that version control data of a build say.
func (b *buildInfo) revise(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
}

func newVersionCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "Say what this binary is",
		Args:        cli.NoArguments,
		Annotations: map[string]string{cli.WithoutConfig: ""},
		RunE: func(*cobra.Command, []string) error {
			b := readBuildInfo()
			b.GPU = gpuInfo()
			if asJSON {
				return json.NewEncoder(a.Out).Encode(b)
			}
			revision := cmp.Or(b.Revision, "unknown: built without version control data")
			if b.Modified {
				revision += " with changes"
			}
			t := cli.NewTable(a.Out)
			t.Row("thresher", b.Version)
			t.Row("revision", revision)
			t.Row("go", b.Go)
			t.Row("platform", b.Platform)
			t.Row("kernels", b.Kernels)
			t.Row("gpu", b.GPU)
			return t.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object on stdout")
	return cmd
}
