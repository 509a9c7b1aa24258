package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thresher/internal/cli"
	"thresher/service/client"
)

// Environment variables of the verbs that call a server.
const (
	serverVariable    = "THRESHER_SERVER"
	tokenVariable     = "THRESHER_TOKEN"
	tokenFileVariable = "THRESHER_TOKEN_FILE"
)

// defaultServer is the default address of thresher serve.
const defaultServer = "http://127.0.0.1:8080"

// remote identifies the server, and the client by its token.
type remote struct {
	server, token, tokenFile string
	json                     bool
}

func newJobCommand(a *app) *cobra.Command {
	f := &remote{}
	cmd := &cobra.Command{
		Use:   "job",
		Short: "Run offline jobs on a server: files of queries",
		Long: `Run offline jobs on a server: submit a file of queries, wait for the job (a batch in
the API), fetch the answers. A job continues when this command ends, and after the
server restarts.

The server is --server or $` + serverVariable + `. The bearer token is read from --token-file,
$` + tokenVariable + `, the file named by $` + tokenFileVariable + `, or --token, in this order;
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

// addFlags adds the flags of the verbs that call a server.
func (f *remote) addFlags(fs *pflag.FlagSet) {
	f.addServerFlags(fs)
	fs.BoolVar(&f.json, "json", false, "one JSON object on stdout")
}

// addServerFlags adds those that name the server and the token.
func (f *remote) addServerFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.server, "server", "", "`address` of the server (default $"+serverVariable+", or else "+defaultServer+")")
	fs.StringVar(&f.token, "token", "", "bearer `token` (default $"+tokenVariable+")")
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` that holds the bearer token (default $"+tokenFileVariable+")")
}

// connect makes the client, without calling the server.
func (f *remote) connect() (*client.Client, error) {
	token, err := f.bearer()
	if err != nil {
		return nil, err
	}
	return client.New(cmp.Or(f.server, os.Getenv(serverVariable), defaultServer), &client.Options{
		Token: token, Attempts: 4, Backoff: 100 * time.Millisecond, // few retries, because a user waits
	})
}

// bearer returns the token, "" if there is none.
func (f *remote) bearer() (string, error) {
	if f.token != "" && f.tokenFile != "" {
		return "", errors.New("--token and --token-file exclude each other")
	}
	if f.token != "" {
		return f.token, nil
	}
	if t := os.Getenv(tokenVariable); t != "" && f.tokenFile == "" {
		return t, nil
	}
	path := cmp.Or(f.tokenFile, os.Getenv(tokenFileVariable))
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("token: %s has %d bytes, which are not a token", path, len(text))
	}
	return token, nil
}

// oneBatch is a check of arguments.
func oneBatch(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("job %s: %d batches named, wants one", cmd.Name(), len(args))
	}
	return nil
}

// withExitCode adds the exit code to an error of the client.
func withExitCode(err error) error {
	var lost *client.LostError
	var p *client.Problem
	switch {
	case errors.As(err, &lost), errors.As(err, &p) && p.Status >= 500:
		return cli.Exit(cli.ExitBackend, err)
	}
	return err
}
