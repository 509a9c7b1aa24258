package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/internal/cli"
)

// flagHeadings are the headings under which help lists flags. A flag means the same in every command that has it.
var flagHeadings = map[string]string{
	cli.InputFlags: `vectors vectors-column queries queries-column answers candidates header zeros integers with with-column
		offsets set data demo roots from server token token-file tournament collection query embedded metadata`,
	cli.WantedFlags: `k ks metric method delta epsilon min-score max-score min-distance max-distance k-column min-score-column max-distance-column min-distance-column
		max-score-column exclude exclude-self symmetric mutual max-pairs guarantee require strict-delta ignore-scores fail-under
		unchecked sample all live limit after wait key window listen grpc-listen tokens tls-cert tls-key insecure proxies
		cors-origins`,
	cli.OutputFlags: `out ids scores distances components missed certificates errors output-format json overwrite resume save license
		to keep backup-folder backup-keep metrics-collections metrics-open`,
	cli.SpeedFlags: `threads backend device kernels costs chunk way deadline memory coalesce-queries coalesce-window
		batches-chunk batches-concurrency`,
	cli.ExpertFlags: `seed basis read-limit dense-limit calibrate count plans pulls repeats sigma parent interval patience
		batches-keep drain-lame-duck drain-timeout files-keep slates-keep slates-kept slates-memory timeouts-body timeouts-header
		timeouts-idle timeouts-search tournaments-keep tournaments-memory turns-length`,
}

// limitFlags begin so: what a server takes at most.
const limitFlags = "limits-"

// groupFlags has help list the flags of a command and of its commands under their headings.
func groupFlags(cmd *cobra.Command) {
	headings := map[string]string{}
	for heading, names := range flagHeadings {
		for name := range strings.FieldsSeq(names) {
			headings[name] = heading
		}
	}
	var group func(*cobra.Command)
	group = func(cmd *cobra.Command) {
		for _, fs := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			fs.VisitAll(func(f *pflag.Flag) {
				heading := headings[f.Name]
				if strings.HasPrefix(f.Name, limitFlags) {
					heading = cli.ExpertFlags
				}
				if heading != "" {
					cli.GroupFlags(fs, heading, f.Name)
				}
			})
		}
		for _, c := range cmd.Commands() {
			group(c)
		}
	}
	group(cmd)
}
