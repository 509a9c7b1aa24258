package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
	"thresher/internal/cli/remote"
	"thresher/service"
	"thresher/service/api"
	"thresher/service/client"
	"thresher/store"
)

// backupFlags are the flags of data backup.
type backupFlags struct {
	serverFlags
	to   string
	keep int
}

func newDataBackupCommand(a *app) *cobra.Command {
	f := &backupFlags{}
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy a data folder as it is at one instant, also while it is served",
		Long: `Copy a data folder, as it is at one instant, to a new folder in --to, and check the copy.
Files that the newest backup there has too, byte for byte, are hard links to it. A copy
appears complete or not at all.

If a server uses the data folder it makes the backup, in its own folder for them (its
setting backup.folder), which --to may repeat; it is asked at --server or
$` + remote.ServerVariable + ` with a token that may write, from --token-file, $` + remote.TokenVariable + `,
$` + remote.TokenFileVariable + ` or --token. With --server the data folder may be on another machine.

Exit code 0: a backup was made, and everything in it is intact; 1: a backup was made of
data that is damaged, as it says; 2: no backup was made; 4: no answer from the server;
130: interrupted, and nothing is left of the backup.`,
		Example: `  thresher data backup --data /var/lib/thresher --to /mnt/backups --keep 14
  thresher data backup --server http://127.0.0.1:8080 --token-file token`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runDataBackup(cmd.Context(), f, cmd.Flags().Changed("data"))
		},
	}
	f.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&f.to, "to", "", "`folder` of the backups")
	cmd.Flags().IntVar(&f.keep, "keep", 0, "backups that stay: older `ones` are removed after a new one; 0 = all")
	addSettings(cmd, "data")
	return cmd
}

// backups makes the backups of a data folder.
type backups interface {
	start(context.Context) (api.Backup, error)
	state(context.Context) (api.Backups, error)
	cancel(context.Context) error
}

func (a *app) runDataBackup(ctx context.Context, f *backupFlags, named bool) error {
	if f.keep < 0 {
		return fmt.Errorf("data backup: --keep %d is below 0", f.keep)
	}
	if f.Server == "" && (named || os.Getenv(remote.ServerVariable) == "") {
		done, err := a.backUpIdle(ctx, f)
		if done || err != nil {
			return err
		}
		named = true // the server must be the one that uses this folder
	}
	b, err := a.serverBackups(ctx, f, named)
	if err != nil {
		return err
	}
	return a.backUp(ctx, b, f.json)
}

// backUpIdle makes a backup of a data folder unless a server uses it.
func (a *app) backUpIdle(ctx context.Context, f *backupFlags) (done bool, err error) {
	if f.to == "" {
		if _, err := os.Stat(a.Config.Server.Data); err != nil {
			return false, fmt.Errorf("data backup: %w", err)
		}
	}
	idle, err := a.extensions().OpenIdle(a.Config.Server.Data, service.Backups{Folder: f.to, Keep: f.keep}, readBuildInfo().Version, a.Log)
	if errors.Is(err, store.ErrInUse) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("data backup: %w", err)
	}
	defer func() { err = errors.Join(err, idle.Close()) }()
	if f.to == "" {
		return false, errors.New("data backup: no server uses the data folder; --to is missing: the folder of the backups")
	}
	return true, a.backUp(ctx, inProcess{idle}, f.json)
}

// serverBackups asks a server for its folder of backups, which must be the one that the flags name; if
// the data folder is named that must be the server's.
func (a *app) serverBackups(ctx context.Context, f *backupFlags, named bool) (backups, error) {
	c, err := f.Connect()
	if err != nil {
		return nil, fmt.Errorf("data backup: %w", err)
	}
	if f.keep > 0 {
		return nil, errors.New("data backup: --keep is for a data folder that no server uses; how many backups of a server stay is its setting backup.keep")
	}
	state, err := c.Backups(ctx)
	if err != nil {
		return nil, remote.WithExitCode(fmt.Errorf("data backup: the server %s: %w", c.Server(), err))
	}
	if named && !sameFolder(a.Config.Server.Data, state.Data) {
		return nil, fmt.Errorf("data backup: the server %s uses %s, another one uses %s; name it by --server", c.Server(), state.Data, a.Config.Server.Data)
	}
	if f.to != "" && !sameFolder(f.to, state.Folder) {
		return nil, fmt.Errorf("data backup: the server %s writes backups to %s, its setting backup.folder, and not to --to %s", c.Server(), state.Folder, f.to)
	}
	return asked{c}, nil
}

// sameFolder reports whether two paths are of one folder, which may not exist yet.
func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, other := os.Stat(b)
	if err == nil && other == nil {
		return os.SameFile(x, y)
	}
	a, err = filepath.Abs(a)
	return err == nil && a == b
}

// lookAgain is the time between two looks at the progress of a backup.
const lookAgain = 100 * time.Millisecond

// cancelWait bounds the time of cancelling a backup.
const cancelWait = 30 * time.Second

// backUp makes one backup and prints it.
func (a *app) backUp(ctx context.Context, all backups, asJSON bool) error {
	begun, err := all.start(ctx)
	if err != nil {
		return remote.WithExitCode(fmt.Errorf("data backup: %w", err))
	}
	b, state, err := a.watchBackup(ctx, all, &begun)
	if ctx.Err() != nil {
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
		defer stop()
		return cli.Exit(cli.ExitInterrupted, errors.Join(errors.New("data backup: interrupted"), all.cancel(last)))
	}
	if err != nil {
		return remote.WithExitCode(fmt.Errorf("data backup: %w", err))
	}
	return a.printBackup(b, state.Folder, asJSON)
}

// watchBackup shows the progress of a backup until it has ended.
func (a *app) watchBackup(ctx context.Context, all backups, begun *api.Backup) (*api.Backup, *api.Backups, error) {
	p := a.NewProgress("backup")
	defer p.Done()
	for {
		state, err := all.state(ctx)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case state.Last != nil && state.Last.CreatedAt.Equal(begun.CreatedAt):
			return state.Last, &state, nil
		case state.Running == nil || !state.Running.CreatedAt.Equal(begun.CreatedAt):
			return nil, nil, errors.New("the server does not know the backup any more: it was restarted, and nothing is left of the backup")
		}
		p.Retitle(cmp.Or(state.Running.Phase, "backup"))
		p.Set(state.Running.BytesDone, state.Running.Bytes)
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// printBackup prints a backup that has ended; its error has the exit code.
func (a *app) printBackup(b *api.Backup, folder string, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(a.Out).Encode(b); err != nil {
			return err
		}
	}
	if b.Status != api.BackupCompleted {
		return fmt.Errorf("data backup: %s: %s", b.Status, b.Error)
	}
	if !asJSON {
		fmt.Fprintf(a.Out, "%s: %d files, %d bytes, of which %d are shared with the backup before\n", filepath.Join(folder, b.Name), b.Files, b.Bytes, b.BytesLinked)
		for _, name := range b.Removed {
			fmt.Fprintf(a.Out, "removed %s\n", name)
		}
		for _, name := range b.LeftOut {
			fmt.Fprintf(a.Out, "left out: %s, which is not the server's\n", name)
		}
		for _, what := range b.Damaged {
			fmt.Fprintf(a.Out, "damaged: %s\n", what)
		}
	}
	if b.Error != "" {
		a.Log.Warn("backup", "reason", b.Error)
	}
	if n := len(b.Damaged); n > 0 {
		return cli.Exit(cli.ExitWrong, fmt.Errorf("data backup: the backup is made, of damaged data: %s", strings.Join(b.Damaged[:min(n, 3)], "; ")))
	}
	return nil
}

// inProcess makes backups of a folder that this process has open.
type inProcess struct{ f *service.IdleFolder }

func (p inProcess) start(context.Context) (api.Backup, error) { return p.f.Start("this command") }

func (p inProcess) state(context.Context) (api.Backups, error) { return p.f.State() }

func (p inProcess) cancel(ctx context.Context) error {
	_, err := p.f.Cancel(ctx, "this command")
	return err
}

// asked has a server make backups.
type asked struct{ c *client.Client }

func (s asked) start(ctx context.Context) (api.Backup, error) { return s.c.StartBackup(ctx) }

func (s asked) state(ctx context.Context) (api.Backups, error) { return s.c.Backups(ctx) }

func (s asked) cancel(ctx context.Context) error {
	_, err := s.c.CancelBackup(ctx)
	return err
}
