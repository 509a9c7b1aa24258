package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpListsFlagsUnderHeadings: in the order of the headings, those without one last; hidden flags nowhere, and
// a command without any heading as cobra lists it.
func TestHelpListsFlagsUnderHeadings(t *testing.T) {
	var out bytes.Buffer
	root := &cobra.Command{Use: "x"}
	root.PersistentFlags().String("config", "", "settings")
	root.SetUsageFunc(usage)
	root.SetOut(&out)
	grouped := &cobra.Command{Use: "grouped", Example: "  x grouped --in A", Run: func(*cobra.Command, []string) {}}
	grouped.Flags().String("plain", "", "has no heading")
	grouped.Flags().Int64Slice("starts", nil, "`numbers` of rows")
	grouped.Flags().StringSlice("names", nil, "`names` of files")
	grouped.Flags().String("out", "", "where")
	grouped.Flags().String("in", "", "what")
	grouped.Flags().String("old", "", "hidden")
	if err := grouped.Flags().MarkHidden("old"); err != nil {
		t.Fatal(err)
	}
	GroupFlags(grouped.Flags(), OutputFlags, "out")
	GroupFlags(grouped.Flags(), InputFlags, "in", "old")
	plain := &cobra.Command{Use: "plain", Run: func(*cobra.Command, []string) {}}
	plain.Flags().Int("n", 3, "a number")
	root.AddCommand(grouped, plain)
	for name, want := range map[string][]string{
		"grouped": {"Usage:\n  x grouped [flags]", "Examples:\n  x grouped --in A", "Input:\n      --in", "Output:\n      --out", ExpertFlags + ":\n      --config", "-h, --help", "Flags:\n      --names names      names of files\n", "--plain", "--starts numbers   numbers of rows\n"},
		"plain":   {"Usage:\n  x plain [flags]", "Flags:\n  -h, --help", "--n int", "Global Flags:\n      --config"},
	} {
		out.Reset()
		root.SetArgs([]string{name, "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		rest := out.String()
		for _, w := range want {
			at := strings.Index(rest, w)
			if at < 0 {
				t.Fatalf("%s: no %q, in this order, in\n%s", name, w, out.String())
			}
			rest = rest[at:]
		}
		if strings.Contains(out.String(), "--old") || strings.Count(out.String(), "--config") != 1 {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}

// TestGroupFlagsRefuses flags and headings that there are not.
func TestGroupFlagsRefuses(t *testing.T) {
	fs := (&cobra.Command{}).Flags()
	fs.Int("n", 0, "a number")
	for name, call := range map[string]func(){
		"flag":    func() { GroupFlags(fs, InputFlags, "m") },
		"heading": func() { GroupFlags(fs, "Misc", "n") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", name)
				}
			}()
			call()
		}()
	}
}
