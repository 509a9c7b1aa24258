package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service/api"
	"thresher/service/client"
)

// jobFetch is one run of the verb.
type jobFetch struct {
	*serverFlags
	verb        string
	out, errors string
	force       bool
}

// fetched is the output of --json.
type fetched struct {
	Batch  api.Batch `json:"batch"`
	Output string    `json:"output,omitempty"` // path
	Errors string    `json:"errors,omitempty"` // path
	Bytes  int64     `json:"bytes"`            // of both
}

func newJobFetchCommand(a *app, f *serverFlags) *cobra.Command {
	j := &jobFetch{serverFlags: f, verb: "job fetch"}
	cmd := &cobra.Command{
		Use:   "fetch BATCH --out FILE",
		Short: "Fetch the answers of a job that is done",
		Long: `Fetch the answers of a job that is done. Files are written atomically. A job that did
not complete may have some answers; they are fetched too, with exit code 1.`,
		Example: `  thresher job fetch batch_abc --out answers.npz`,
		Args:    oneBatch,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runFetch(cmd.Context(), j, args[0]) },
	}
	j.addFlags(cmd)
	return cmd
}

func (j *jobFetch) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&j.out, "out", "", "`file` for the answers; - is stdout")
	fs.StringVar(&j.errors, "errors", "", "`file` for the requests that failed")
	fs.BoolVar(&j.force, "overwrite", false, "overwrite files")
}

// wanted reports whether there is something to fetch.
func (j *jobFetch) wanted() bool { return j.out != "" || j.errors != "" }

func (j *jobFetch) check() error {
	switch {
	case !j.wanted():
		return errors.New(j.verb + ": --out or --errors names a file to write")
	case j.out == cli.Stdio && j.json:
		return errors.New(j.verb + ": --json puts a summary on stdout, where the answers go; name an --out file")
	case j.errors == cli.Stdio:
		return errors.New(j.verb + ": --errors names a file")
	case j.out != "" && j.errors != "" && filepath.Clean(j.out) == filepath.Clean(j.errors):
		return fmt.Errorf("%s: %s is named for answers and errors", j.verb, j.out)
	}
	for _, path := range []string{j.out, j.errors} {
		if path == "" || path == cli.Stdio {
			continue
		}
		if err := cli.RefuseExisting(j.force, path); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) runFetch(ctx context.Context, j *jobFetch, id string) error {
	if err := j.check(); err != nil {
		return err
	}
	c, err := j.Connect()
	if err != nil {
		return err
	}
	b, err := c.Batch(ctx, id)
	if err != nil {
		return remote.WithExitCode(err)
	}
	if !b.Status.Final() {
		return cli.Exit(cli.ExitWrong, fmt.Errorf("batch %s is not done: %s, %s; thresher job wait %s waits for it", id, statusOf(&b), countsOf(&b), id))
	}
	return a.fetchAll(ctx, c, j, b)
}

// fetchAll fetches the files of a final batch, and fails if the batch has failed.
func (a *app) fetchAll(ctx context.Context, c *client.Client, j *jobFetch, b api.Batch) error {
	id, report := b.ID, fetched{Batch: b}
	for _, x := range []struct {
		path string
		id   *string
		what string
		to   *string
	}{{j.out, b.OutputFileID, "answers", &report.Output}, {j.errors, b.ErrorFileID, "requests with errors", &report.Errors}} {
		if x.path == "" {
			continue
		}
		if x.id == nil {
			fmt.Fprintf(a.Err, "batch %s has no %s; %s is not written\n", id, x.what, x.path)
			continue
		}
		n, err := a.fetch(ctx, c, *x.id, x.path, j.force)
		if err != nil {
			return remote.WithExitCode(err)
		}
		*x.to = x.path
		report.Bytes += n
	}
	if j.json {
		if err := json.NewEncoder(a.Out).Encode(report); err != nil {
			return err
		}
	}
	return outcome(&b)
}

// fetch writes a file of the server to path atomically.
func (a *app) fetch(ctx context.Context, c *client.Client, id, path string, force bool) (int64, error) {
	f, err := c.File(ctx, id)
	if err != nil {
		return 0, err
	}
	p := a.NewProgress("fetching")
	defer p.Done()
	counted := func(w io.Writer) io.Writer {
		return &countingWriter{w: w, tell: func(n int64) { p.Set(n, f.Bytes) }}
	}
	if path == cli.Stdio {
		return c.Download(ctx, id, counted(a.Out))
	}
	out, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	defer out.Discard()
	n, err := c.Download(ctx, id, counted(out))
	if err == nil && n != f.Bytes {
		err = fmt.Errorf("%s: %d bytes came, the file has %d", path, n, f.Bytes)
	}
	if err != nil {
		return n, err
	}
	return n, out.Commit(force)
}

// countingWriter reports the number of bytes written through it.
type countingWriter struct {
	w    io.Writer
	n    int64
	tell func(n int64)
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}
