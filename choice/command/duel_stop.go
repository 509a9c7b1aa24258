package command

import (
	"errors"
	"fmt"

	"thresher/internal/cli"
)

// interrupted saves a tournament that ctx, whose error err is, has stopped, and says how to go on.
func (a *app) interrupted(t *tournament, err error) error {
	if failed := t.save(); failed != nil {
		return errors.Join(err, failed)
	}
	return cli.Exit(cli.ExitInterrupted, fmt.Errorf("interrupted; what was judged is kept in %s; the same command, without --overwrite and --undo, goes on with it", t.file.path))
}

// stoppedTournament is interrupted, and prints how the tournament stands.
func (a *app) stoppedTournament(t *tournament, err error) error {
	fmt.Fprintln(a.Err) // ends the line of a question, or of ^C
	return errors.Join(a.describeTournament(t), a.interrupted(t, err))
}
