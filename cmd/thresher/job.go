package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/internal/cli"
	"thresher/internal/cli/remote"
)

// serverFlags are the flags of the verbs that call a server.
type serverFlags struct {
	remote.Flags
	json bool
}

func newJobCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Run offline jobs on a server: files of queries",
		Long: `Run offline jobs on a server: submit a file of queries, wait for the job (a batch in
the API), fetch the answers. A job continues when this command ends, and after the
server restarts.

The server is --server or $` + remote.ServerVariable + `. The bearer token is read from --token-file,
$` + remote.TokenVariable + `, the file named by $` + remote.TokenFileVariable + `, or --token, in this order;
other users of this machine can see --token.

Exit codes: 0 success; 1 the job failed, expired, was cancelled or is not done yet;
2 usage error or refused; 4 no answer from the server; 130 interrupted.`,
		Example: `  thresher job submit queries.npy --collection films -k 10 --output-format npz
  thresher job wait batch_abc
  thresher job fetch batch_abc --out answers.npz`,
		Args: cli.NoSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f.addFlags(cmd.PersistentFlags())
	cmd.AddCommand(
		newJobSubmitCommand(a, f),
		newJobStatusCommand(a, f),
		newJobListCommand(a, f),
		newJobWaitCommand(a, f),
		newJobCancelCommand(a, f),
		newJobFetchCommand(a, f),
	)
	return cmd
}

func (f *serverFlags) addFlags(fs *pflag.FlagSet) {
	f.Add(fs)
	fs.BoolVar(&f.json, "json", false, "one JSON object on stdout")
}

// oneBatch is a check of arguments.
func oneBatch(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("job %s: %d batches named, wants one", cmd.Name(), len(args))
	}
	return nil
}
