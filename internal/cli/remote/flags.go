// Package remote is what the commands share that call a server: the flags and variables of the environment that name
// it and the token, a client, and the exit codes of its errors.
package remote

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"thresher/internal/cli"
	"thresher/service/client"
)

// Variables of the environment that stand for flags that are not given.
const (
	ServerVariable    = "THRESHER_SERVER"
	TokenVariable     = "THRESHER_TOKEN"
	TokenFileVariable = "THRESHER_TOKEN_FILE"
)

// defaultServer is the default address of thresher serve.
const defaultServer = "http://127.0.0.1:8080"

// Flags identify a server, and the client by its token.
type Flags struct{ Server, Token, TokenFile string }

// Add defines the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.Server, "server", "", "`address` of the server (default $"+ServerVariable+", or else "+defaultServer+")")
	fs.StringVar(&f.Token, "token", "", "bearer `token` (default $"+TokenVariable+")")
	fs.StringVar(&f.TokenFile, "token-file", "", "`file` that holds the bearer token (default $"+TokenFileVariable+")")
}

// Connect makes the client, without calling the server.
func (f *Flags) Connect() (*client.Client, error) {
	token, err := f.bearer()
	if err != nil {
		return nil, err
	}
	return client.New(cmp.Or(f.Server, os.Getenv(ServerVariable), defaultServer), &client.Options{
		Token: token, Attempts: 4, Backoff: 100 * time.Millisecond, // few retries, because a user waits
	})
}

// bearer returns the token, "" if there is none.
func (f *Flags) bearer() (string, error) {
	if f.Token != "" && f.TokenFile != "" {
		return "", errors.New("--token and --token-file exclude each other")
	}
	if f.Token != "" {
		return f.Token, nil
	}
	if t := os.Getenv(TokenVariable); t != "" && f.TokenFile == "" {
		return t, nil
	}
	path := cmp.Or(f.TokenFile, os.Getenv(TokenFileVariable))
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

// WithExitCode adds the exit code to an error of the client.
func WithExitCode(err error) error {
	var lost *client.LostError
	var p *client.Problem
	switch {
	case errors.As(err, &lost), errors.As(err, &p) && p.Status >= 500:
		return cli.Exit(cli.ExitBackend, err)
	}
	return err
}
