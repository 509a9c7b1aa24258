package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Headings under which help lists flags, in this order. Flags of a command without any are listed as cobra does.
const (
	InputFlags  = "Input"
	WantedFlags = "What is wanted"
	OutputFlags = "Output"
	SpeedFlags  = "Speed"
	// PublishedFlags are options of the published methods.
	PublishedFlags = "Published methods"
	ExpertFlags    = "For experts"
)

var headings = []string{InputFlags, WantedFlags, OutputFlags, SpeedFlags, PublishedFlags, ExpertFlags}

// headingAnnotation is the key of a flag's annotation that says under which heading it is.
const headingAnnotation = "thresher-heading"

// GroupFlags has help list flags of fs under a heading, one of the constants above. It panics if fs has no flag of
// a name, or if there is no such heading, which are programming errors.
func GroupFlags(fs *pflag.FlagSet, heading string, names ...string) {
	if !slices.Contains(headings, heading) {
		panic(fmt.Sprintf("cli: help has no heading %q", heading))
	}
	for _, name := range names {
		if err := fs.SetAnnotation(name, headingAnnotation, []string{heading}); err != nil {
			panic(fmt.Sprintf("cli: %v", err))
		}
	}
}

// Headings are the headings of the flags of several commands: by heading, one of the constants above, the names of flags,
// separated by white space; a name that ends in - is that of all flags which begin so. A command in which a flag means
// something else gives it its heading by GroupFlags.
type Headings map[string]string

// Group has help list the flags of a command, and of the commands below it, under their headings. It leaves flags alone
// that are under none of h, or have a heading.
func (h Headings) Group(cmd *cobra.Command) {
	for _, fs := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) {
			if heading := h.of(f.Name); heading != "" && f.Annotations[headingAnnotation] == nil {
				GroupFlags(fs, heading, f.Name)
			}
		})
	}
	for _, c := range cmd.Commands() {
		h.Group(c)
	}
}

// of returns the heading of a flag, "" if it is under none.
func (h Headings) of(flag string) string {
	for heading, names := range h {
		for name := range strings.FieldsSeq(names) {
			if name == flag || strings.HasSuffix(name, "-") && strings.HasPrefix(flag, name) {
				return heading
			}
		}
	}
	return ""
}

// HeadingOf returns the heading under which help lists a flag, "" if it has none. What every command has is for experts.
func HeadingOf(f *pflag.Flag) string {
	if given := f.Annotations[headingAnnotation]; len(given) == 1 {
		return given[0]
	}
	switch f.Name {
	case "help", "config", "log-level", "log-format":
		return ExpertFlags
	}
	return ""
}

// usage prints how a command is called: what cobra prints, with flags under headings.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if cmd.Runnable() {
		b.WriteString("\n  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	if cmd.HasExample() {
		b.WriteString("\n\nExamples:\n" + cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	b.WriteString("\n\n" + flagUsages(cmd))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), b.String())
	return err
}

// flagUsages lists the flags of a command, those of its parents included, under their headings.
func flagUsages(cmd *cobra.Command) string {
	found := map[string]*pflag.FlagSet{}
	grouped := false
	add := func(f *pflag.Flag) {
		if f.DefValue == "[]" && !statesNoList(f) {
			f.DefValue = "" // no numbers are no default to state
		}
		heading := HeadingOf(f)
		grouped = grouped || f.Annotations[headingAnnotation] != nil
		if found[heading] == nil {
			found[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
		}
		found[heading].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if !grouped {
		return cobraFlagUsages(cmd)
	}
	var parts []string
	for _, heading := range append(slices.Clone(headings), "") {
		if fs := found[heading]; fs != nil && fs.HasAvailableFlags() {
			title := heading
			if title == "" {
				title = "Flags"
			}
			parts = append(parts, title+":\n"+strings.TrimRight(fs.FlagUsages(), "\n"))
		}
	}
	return strings.Join(parts, "\n\n")
}

// statesNoList reports whether pflag leaves out the default [] of a flag's type by itself; it would state an empty one.
func statesNoList(f *pflag.Flag) bool {
	return slices.Contains([]string{"intSlice", "stringSlice", "stringArray"}, f.Value.Type())
}

// cobraFlagUsages lists the flags of a command, then those of its parents.
func cobraFlagUsages(cmd *cobra.Command) string {
	text := "Flags:\n" + strings.TrimRight(cmd.LocalFlags().FlagUsages(), "\n")
	if cmd.HasAvailableInheritedFlags() {
		text += "\n\nGlobal Flags:\n" + strings.TrimRight(cmd.InheritedFlags().FlagUsages(), "\n")
	}
	return text
}
