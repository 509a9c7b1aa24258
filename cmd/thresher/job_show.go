package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service/api"
	"thresher/service/client"
)

func newJobStatusCommand(a *app, f *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "status BATCH",
		Short:   "Show the progress of a job",
		Example: `  thresher job status batch_abc`,
		Args:    oneBatch,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBatch(f, func(c *client.Client) (api.Batch, error) { return c.Batch(cmd.Context(), args[0]) })
		},
	}
}

func newJobCancelCommand(a *app, f *serverFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel BATCH",
		Short:   "Cancel a job; finished answers stay",
		Example: `  thresher job cancel batch_abc`,
		Args:    oneBatch,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBatch(f, func(c *client.Client) (api.Batch, error) { return c.CancelBatch(cmd.Context(), args[0]) })
		},
	}
}

// withBatch calls the server for a batch and shows it.
func (a *app) withBatch(f *serverFlags, ask func(*client.Client) (api.Batch, error)) error {
	c, err := f.Connect()
	if err != nil {
		return err
	}
	b, err := ask(c)
	if err != nil {
		return remote.WithExitCode(err)
	}
	return a.showBatch(&b, f.json)
}

func (a *app) showBatch(b *api.Batch, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(a.Out).Encode(b)
	}
	t := cli.NewTable(a.Out)
	t.Row("batch", b.ID)
	t.Row("status", statusOf(b))
	t.Row("requests", countsOf(b))
	var names []string
	for _, c := range b.Collections {
		names = append(names, fmt.Sprintf("%s version %d", c.Name, c.Version))
	}
	t.Row("searched", strings.Join(names, ", "))
	if p := b.Progress; p.Queries > 0 {
		t.Row("speed", fmt.Sprintf("%.0f queries/s", p.QueriesPerSecond))
		if p.Saving > 0 { // else it is withheld
			t.Row("read", describeRead(p.Saving, "the data"))
		}
	}
	if b.Progress.SecondsLeft != nil {
		t.Row("left", leftOf(*b.Progress.SecondsLeft))
	}
	t.Row("created", time.Unix(b.CreatedAt, 0).Format(time.DateTime))
	for _, x := range []struct {
		name string
		id   *string
	}{{"output", b.OutputFileID}, {"errors", b.ErrorFileID}} {
		if x.id != nil {
			t.Row(x.name, "file "+*x.id)
		}
	}
	for _, e := range reasons(b) {
		t.Row("reason", e)
	}
	return t.Flush()
}

// reasons lists why a batch failed, or is paused.
func reasons(b *api.Batch) []string {
	if b.Errors == nil {
		return nil
	}
	var all []string
	for _, e := range b.Errors.Data {
		text := e.Message
		if e.Line != nil && !strings.HasPrefix(text, "line ") {
			text = fmt.Sprintf("line %d: %s", *e.Line, text)
		}
		all = append(all, text)
	}
	return all
}

func statusOf(b *api.Batch) string {
	if n := b.Progress.Position; n > 0 && !b.Status.Final() {
		return fmt.Sprintf("%s, waits behind %d others", b.Status, n)
	}
	return string(b.Status)
}

func countsOf(b *api.Batch) string {
	n := b.RequestCounts
	switch {
	case n.Total == 0 && b.Status.Final():
		return "none answered"
	case n.Total == 0:
		return "not counted yet"
	}
	text := fmt.Sprintf("%d of %d answered", n.Completed, n.Total)
	if n.Failed > 0 {
		text += fmt.Sprintf(", %d with errors", n.Failed)
	}
	return text
}

func leftOf(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

func newJobListCommand(a *app, f *serverFlags) *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the jobs, newest first",
		Example: `  thresher job list --limit 20`,
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listBatches(cmd.Context(), f, after, limit) },
	}
	cmd.Flags().StringVar(&after, "after", "", "list the jobs after this `batch`")
	cmd.Flags().IntVar(&limit, "limit", 20, "most `jobs` to list, 1 to 100")
	return cmd
}

func (a *app) listBatches(ctx context.Context, f *serverFlags, after string, limit int) error {
	if limit < 1 || limit > 100 {
		return fmt.Errorf("job list: --limit %d is not in 1..100", limit)
	}
	c, err := f.Connect()
	if err != nil {
		return err
	}
	page, err := c.Batches(ctx, after, limit)
	if err != nil {
		return remote.WithExitCode(err)
	}
	if f.json {
		return json.NewEncoder(a.Out).Encode(page)
	}
	t := cli.NewTable(a.Out)
	t.Row("BATCH", "CREATED", "STATUS", "REQUESTS")
	for i := range page.Data {
		b := &page.Data[i]
		t.Row(b.ID, time.Unix(b.CreatedAt, 0).Format(time.DateTime), statusOf(b), countsOf(b))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(page.Data); page.HasMore && n > 0 {
		fmt.Fprintf(a.Out, "there are more: --after %s\n", page.Data[n-1].ID)
	}
	return nil
}
