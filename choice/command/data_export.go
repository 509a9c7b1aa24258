package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"thresher/choice/serve"
	"thresher/choice/serve/choiceapi"
	"thresher/choice/serve/choiceclient"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service"
	"thresher/store"
)

// exportFlags are the flags of data export-judgments.
type exportFlags struct {
	remote.Flags
	tournament, out string
	force           bool
}

func newDataExportCommand(a *app) *cobra.Command {
	f := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export-judgments",
		Short: "Write everything that was judged in a tournament",
		Long: `Write all calls of a tournament of a server, in their order, as lines of JSON: which duels
were issued, how they were judged and by whom, what was skipped and taken back. Of a
damaged database everything that can be read is written, and the calls that are lost are
named. Nothing in the data folder is changed.

If a server uses the data folder it is asked, at --server or $` + remote.ServerVariable + `.

Exit code 0: all calls are written; 1: some are lost, as the output says; 2: there is no
such tournament, or the folder cannot be read; 4: no answer from the server.`,
		Example: `  thresher data export-judgments --data /var/lib/thresher --tournament tournament_abc --out judged.jsonl`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runDataExport(cmd.Context(), f, cmd.Flags().Changed("data"))
		},
	}
	f.Add(cmd.Flags())
	cmd.Flags().StringVar(&f.tournament, "tournament", "", "`id` of the tournament")
	cmd.Flags().StringVar(&f.out, "out", "-", "`file` to write; - is standard output")
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "replace --out if it exists")
	cli.AddSettings(cmd, "data")
	return cmd
}

func (a *app) runDataExport(ctx context.Context, f *exportFlags, named bool) error {
	if f.tournament == "" {
		return errors.New("data export-judgments: --tournament is missing: the id of a tournament")
	}
	write := func(w io.Writer) (lost int64, err error) { return a.exportJudgments(ctx, f, named, w) }
	var lost int64
	var err error
	if f.out == "-" {
		out := bufio.NewWriter(a.Out)
		if lost, err = write(out); err == nil {
			err = out.Flush()
		}
	} else {
		lost, err = f.toFile(write)
	}
	if err != nil {
		return remote.WithExitCode(fmt.Errorf("data export-judgments: %w", err))
	}
	if lost > 0 {
		return cli.Exit(cli.ExitWrong, fmt.Errorf("data export-judgments: %d calls are lost; the output says which", lost))
	}
	return nil
}

// toFile writes --out, which appears complete or not at all.
func (f *exportFlags) toFile(write func(io.Writer) (int64, error)) (lost int64, err error) {
	if _, err := os.Lstat(f.out); err == nil && !f.force {
		return 0, fmt.Errorf("--out %s exists; --overwrite replaces it", f.out)
	}
	out, err := atomicfile.Create(f.out, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Discard()
	if lost, err = write(out); err != nil {
		return 0, err
	}
	return lost, out.Commit(f.force)
}

// exportJudgments writes the export of the data folder or, if a server uses it, of the server.
func (a *app) exportJudgments(ctx context.Context, f *exportFlags, named bool, w io.Writer) (lost int64, err error) {
	if f.Server == "" && (named || os.Getenv(remote.ServerVariable) == "") {
		if err := service.IsDataFolder(a.Config.Server.Data); err != nil {
			return 0, err
		}
		j, err := serve.ExportJudgments(ctx, a.Config.Server.Data, f.tournament, w)
		if err == nil || !errors.Is(err, store.ErrInUse) {
			for _, fault := range j.Unread {
				a.Log.Warn("the database is damaged", "fault", fault)
			}
			if j.Why != nil {
				a.Log.Warn("the last calls are written as they were recorded", "reason", j.Why)
			}
			return j.Lost, err
		}
	}
	c, err := f.Connect()
	if err != nil {
		return 0, err
	}
	lines, err := choiceclient.Of(c).Judgments(ctx, f.tournament)
	if err != nil {
		return 0, err
	}
	defer lines.Close()
	end := &lastLine{w: w}
	if _, err := io.Copy(end, lines); err != nil {
		return 0, err
	}
	var last choiceapi.JudgmentsEnd
	if json.Unmarshal(end.last, &last) != nil || last.Object != "end" {
		return 0, errors.New("the server's answer was cut off")
	}
	return last.Lost, nil
}

// lastLine passes on what is written and keeps the last line.
type lastLine struct {
	w     io.Writer
	last  []byte
	ended bool // last is complete
}

func (l *lastLine) Write(p []byte) (int, error) {
	for _, b := range p {
		if l.ended {
			l.last, l.ended = l.last[:0], false
		}
		if b == '\n' {
			l.ended = true
			continue
		}
		l.last = append(l.last, b)
	}
	return l.w.Write(p)
}
