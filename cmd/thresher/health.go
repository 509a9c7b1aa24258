package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service/api"
	"thresher/service/client"
)

// healthFlags are the flags of health.
type healthFlags struct {
	server   string
	live     bool
	json     bool
	deadline time.Duration
}

func newHealthCommand(a *app) *cobra.Command {
	f := &healthFlags{}
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a server whether it is ready",
		Long: `Ask a server whether it is ready to search, once, and say so by the exit code: for the
HEALTHCHECK of a container, which has no curl, and for scripts.

The server is --server or $` + remote.ServerVariable + `. Without them it is the one on this machine at the
address --listen (or $THRESHER_LISTEN, or that of the configuration file), by HTTPS if
tls.cert is set; its certificate is not verified then, because it is made out to another
name than this machine has for itself, and no token is sent. The certificate of a --server
is verified.

A server is ready from when its collections are loaded until it stops. With --live it is
enough that it answers, also while it loads collections or drains.

Exit codes: 0 ready; 1 not ready, or no answer within --deadline; 2 usage error.`,
		Example: `  thresher health
  thresher health --listen :9090
  thresher health --server https://search.example.org --deadline 10s`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runHealth(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.server, "server", "", "`address` of the server")
	cmd.Flags().BoolVar(&f.live, "live", false, "it is enough that the server answers")
	cmd.Flags().DurationVar(&f.deadline, "deadline", 3*time.Second, "`time` to wait for the answer")
	cmd.Flags().BoolVar(&f.json, "json", false, "one JSON object on stdout")
	addSettings(cmd, "listen", "tls.cert")
	return cmd
}

func (a *app) runHealth(ctx context.Context, f *healthFlags) error {
	if f.deadline <= 0 {
		return fmt.Errorf("health: --deadline %v is not above 0", f.deadline)
	}
	c, err := a.healthClient(f)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.deadline)
	defer cancel()
	said, err := api.Readiness{Status: "alive"}, error(nil)
	if f.live {
		err = c.Alive(ctx)
	} else {
		said, err = c.Readiness(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within --deadline %v", f.deadline)
	}
	if err != nil {
		return cli.Exit(cli.ExitWrong, fmt.Errorf("health: %s: %w", c.Server(), err))
	}
	if f.json {
		return json.NewEncoder(a.Out).Encode(said)
	}
	fmt.Fprintf(a.Out, "%s is %s\n", c.Server(), said.Status)
	return nil
}

// healthClient makes a client that asks once.
func (a *app) healthClient(f *healthFlags) (*client.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment}
	server := cmp.Or(f.server, os.Getenv(remote.ServerVariable))
	if server == "" {
		var err error
		if server, err = a.ownServer(); err != nil {
			return nil, err
		}
		transport.Proxy = nil
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // says the help, and why
	}
	return client.New(server, &client.Options{HTTP: &http.Client{Transport: transport}, Attempts: 1})
}

// ownServer returns the URL of the server on this machine that the settings describe.
func (a *app) ownServer() (string, error) {
	c := &a.Config.Server
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", err
	}
	if port == "0" {
		return "", fmt.Errorf("listen is %s, any free port: give the server's address by --server", c.Listen)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if c.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}
