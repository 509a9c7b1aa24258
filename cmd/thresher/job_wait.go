package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service/api"
	"thresher/service/client"
)

func newJobWaitCommand(a *app, f *serverFlags) *cobra.Command {
	w := &waiting{serverFlags: f}
	cmd := &cobra.Command{
		Use:     "wait BATCH",
		Short:   "Wait until a job is done, and show its progress",
		Example: `  thresher job wait batch_abc`,
		Args:    oneBatch,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.Connect()
			if err != nil {
				return err
			}
			return a.waitFor(cmd.Context(), c, w, args[0])
		},
	}
	w.addFlags(cmd)
	return cmd
}

// waiting configures the wait for a batch.
type waiting struct {
	*serverFlags
	interval time.Duration
	patience time.Duration
	look     time.Duration // timeout of one request
}

// maxLook bounds the time of describing a batch, with retries.
const maxLook = 30 * time.Second

func (w *waiting) addFlags(cmd *cobra.Command) {
	w.look = maxLook
	cmd.Flags().DurationVar(&w.interval, "interval", time.Second, "`time` between status requests")
	cmd.Flags().DurationVar(&w.patience, "patience", time.Minute, "`time` without an answer before giving up, for restarts of the server")
}

// waitFor shows the progress of the batch until it is final, and its outcome.
func (a *app) waitFor(ctx context.Context, c *client.Client, w *waiting, id string) error {
	b, err := a.awaited(ctx, c, w, id)
	if err != nil {
		return err
	}
	if err := a.showBatch(&b, w.json); err != nil {
		return err
	}
	return outcome(&b)
}

// awaited returns a batch once it is final.
func (a *app) awaited(ctx context.Context, c *client.Client, w *waiting, id string) (api.Batch, error) {
	if w.interval < time.Millisecond {
		return api.Batch{}, fmt.Errorf("job wait: --interval %v is below 1ms", w.interval)
	}
	b, err := a.watch(ctx, c, w, id)
	if ctx.Err() != nil {
		return b, cli.Exit(cli.ExitInterrupted, fmt.Errorf("interrupted; the job continues, and thresher job wait %s waits for it again", id))
	}
	if err != nil {
		return b, remote.WithExitCode(err)
	}
	return b, nil
}

// outcome is the error of a final batch that has not completed.
func outcome(b *api.Batch) error {
	if b.Status == "completed" {
		return nil
	}
	text := fmt.Sprintf("batch %s: %s", b.ID, b.Status)
	if all := reasons(b); len(all) > 0 {
		text += ": " + strings.Join(all, "; ")
	}
	return cli.Exit(cli.ExitWrong, errors.New(text))
}

// watch polls the batch until it is final.
func (a *app) watch(ctx context.Context, c *client.Client, w *waiting, id string) (api.Batch, error) {
	p := a.NewProgress("waiting")
	defer p.Done()
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	heard := time.Now()
	for {
		b, err := w.ask(ctx, c, id)
		switch {
		case err == nil && b.Status.Final():
			return b, nil
		case err == nil:
			heard = time.Now()
			p.Retitle(doing(&b))
			p.Set(b.RequestCounts.Completed+b.RequestCounts.Failed, b.RequestCounts.Total)
		case !away(err) || time.Since(heard) >= w.patience:
			return b, err
		default:
			p.Retitle("the server does not answer")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return b, ctx.Err()
		}
	}
}

// ask requests the batch once. A timeout is an error of the server.
func (w *waiting) ask(ctx context.Context, c *client.Client, id string) (api.Batch, error) {
	look, end := context.WithTimeout(ctx, w.look)
	defer end()
	b, err := c.Batch(look, id)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = &client.LostError{Server: c.Server(), Err: err}
	}
	return b, err
}

// away reports whether the server may be available again later.
func away(err error) bool {
	var lost *client.LostError
	var p *client.Problem
	return errors.As(err, &lost) || errors.As(err, &p) && p.Passing()
}

// doing describes the progress of a batch in a few words.
func doing(b *api.Batch) string {
	text := statusOf(b)
	if p := b.Progress; p.Queries > 0 {
		text += fmt.Sprintf(", %.0f queries/s", p.QueriesPerSecond)
		if p.Saving > 0 { // else it is withheld
			text += fmt.Sprintf(", saving %.1fx", p.Saving)
		}
	}
	if left := b.Progress.SecondsLeft; left != nil {
		text += ", " + leftOf(*left) + " left"
	}
	if all := reasons(b); len(all) > 0 {
		text += ", stands still: " + all[0]
	}
	return text
}
