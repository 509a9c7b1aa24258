package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

func newDuelRunCommand(a *app) *cobra.Command {
	f := &duelRunFlags{}
	cmd := &cobra.Command{
		Use:   "run --arms FILE (--delta D [--epsilon E] | --horizon T)",
		Short: "Ask for judgments until there is a winner",
		Long: `Ask for judgments until there is a winner. The arms are the lines of a file. Each
judgment is durable in the file --state before the next duel is shown; the same
command continues where the last one stopped.

The state file holds a snapshot, followed by the judgments since then, one a line. It
may be moved and copied while no run uses it. --overwrite starts over; it overwrites
tournaments only, never other files.

Type 1 or 2 for the better one, = if neither is, s to skip the duel for now, u to undo
the last judgment (100 at least, also those of earlier runs), or q to stop. A tie is
settled by a fair coin drawn from the seed; undo is for slips only.

With --jsonl duels are written to standard output, {"duel":7,"a":"x","b":"y"}, and
judgments are read from standard input, in any order: {"duel":7,"winner":"x"},
{"duel":7,"winner":"tie"}, {"duel":7,"skip":true}. The last line has the outcome.
{"undo":true} is answered by {"undone":[7]}: forget all duels written after duel 7 was
judged; those that follow replace them. --judge names the judge, or "judge" in a line;
what judges disagree on is part of the outcome.

With --json the outcome is one JSON object on standard output, and nothing else.

Two equally good arms never end without --epsilon or --horizon. When two arms turn out to
be hard to tell apart, you are told on standard error, again whenever the number of
judgments has doubled.

With the algorithm anytime, the default, you may stop whenever you like: the outcome
says how sure the leader is. Which of the two is shown first is drawn at random, so that
a preference for the first place cancels out; the outcome estimates it.

With --judge-command a program judges, such as a language model. It is run by sh -c for
each duel and gets one line of JSON, {"duel":7,"question":"...","first":"...",
"second":"..."}: the texts of --texts, or the names if there are none. It writes 1, 2 or
tie, or {"winner":1} with any other members. Texts never become part of the command line.
With --both-orders it is asked twice for each duel, and a contradiction is a tie. A call
that fails, takes too long or writes anything else is repeated; then the run stops and
says what the program wrote. What was judged is kept, also after Ctrl-C.

Beat-the-Mean sometimes draws a duel of an arm against itself; a coin decides it, and
nobody is asked.

With --ratings nobody is asked at all: films are the arms, and the judges of a duel
are the people who rated both, in a MovieLens folder (ratings.csv or ratings.dat,
movies.dat or movies.csv). Each duel draws one of those who rated them differently.

With --matrix duels are drawn from known probabilities, to try an algorithm. The file
holds P(row wins against column), as .csv or .json:
  ,a,b            {"arms":["a","b"],
  a,0.5,0.6        "wins":[[0.5,0.6],
  b,0.4,0.5                [0.4,0.5]]}
Its arms are those of the tournament, or a subset named by --arms.`,
		Example: `  thresher duel run --arms rankers.txt --delta .05
  thresher duel run --arms rankers.txt --epsilon .1 --delta .05
  thresher duel run --matrix wins.csv --horizon 1e5 --algorithm double-thompson
  thresher duel run --ratings ml-1m --most 10 --horizon 1e6 --state films.duel
  thresher duel run --texts answers.jsonl --delta .05 --judge-command ./judge --both-orders --parallel 8
  mkfifo answers; thresher duel run --arms rankers.txt --horizon 1e5 --testing sweep --jsonl <answers | ./judge >answers`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runDuels(cmd, f) },
	}
	f.add(cmd)
	f.addSources(cmd)
	return cmd
}

func (a *app) runDuels(cmd *cobra.Command, f *duelRunFlags) (err error) {
	if err := f.check(); err != nil {
		return fmt.Errorf("duel %s: %w", cmd.Name(), err)
	}
	if err := f.program.check(cmd); err != nil {
		return fmt.Errorf("duel %s: %w", cmd.Name(), err)
	}
	if f.program.texts != "" {
		if f.given, err = readTexts(f.program.texts); err != nil {
			return fmt.Errorf("duel %s: --texts: %w", cmd.Name(), err)
		}
	}
	p, err := f.panel()
	if err != nil {
		return fmt.Errorf("duel %s: %w", cmd.Name(), err)
	}
	t, err := a.openTournament(cmd, f, p)
	if err != nil {
		return fmt.Errorf("duel %s: %w", cmd.Name(), err)
	}
	defer func() { err = errors.Join(err, t.close()) }()
	t.judgedBy, t.texts, t.json = f.judge, f.given, f.json
	err = t.texts.cover(t.names)
	if err == nil {
		err = t.checkTexts()
	}
	if err != nil {
		return fmt.Errorf("duel %s: --texts: %w", cmd.Name(), err)
	}
	if n, name := t.texts.other(t.names); n > 0 && !t.created {
		fmt.Fprintf(a.Err, "note: --texts %s: %d texts are of no arm of this tournament, among them that of %q; arms are chosen when a tournament starts\n", t.texts.path, n, name)
	}
	if p == nil {
		if err := t.prepareUndo(f.undo); err != nil {
			return fmt.Errorf("duel %s: %w", cmd.Name(), err)
		}
	}
	if f.batch == 0 {
		f.batch = 1
		if t.Config().Testing == duel.Sweep {
			f.batch = len(t.names)
		}
	}
	if p != nil {
		j, err := p.jury(t.Config())
		if err != nil {
			return fmt.Errorf("duel %s: %w", cmd.Name(), err)
		}
		return a.judgeByJury(cmd.Context(), t, j, f.batch)
	}
	if f.program.line != "" {
		return a.judgeByProgram(cmd.Context(), t, &f.program)
	}
	lines := readLines(a.In)
	defer lines.stop()
	if f.jsonl {
		return a.judgeByLines(cmd.Context(), t, lines, f.batch)
	}
	return a.judgeByHand(cmd.Context(), t, lines)
}

const keptUndo = 100 // judgments that can be undone at least

// prepareUndo keeps judgments from now on, so that they can be undone, and undoes the last.
func (t *tournament) prepareUndo(undo int) error {
	if err := t.KeepUndo(keptUndo); err != nil {
		return err
	}
	for i := range undo {
		if _, err := t.Undo(); err != nil {
			return fmt.Errorf("--undo %d: %w after %d", undo, err, i)
		}
	}
	if undo > 0 {
		t.Recall()
	}
	return nil
}

// openTournament resumes the tournament in --state or starts it.
func (a *app) openTournament(cmd *cobra.Command, f *duelRunFlags, p panel) (t *tournament, err error) {
	path := f.state
	if path == "" {
		path = filepath.Clean(cmp.Or(f.arms, f.matrix, f.program.texts)) + ".duel"
	}
	if err := cli.RefuseFolders(path); err != nil {
		return nil, err
	}
	file, saved, err := openDuelFile(path, false)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.arms == "" && f.most == 0 && f.matrix == "" && f.program.texts == "":
		return nil, fmt.Errorf("%w; --arms starts a tournament there", err)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	}
	t = &tournament{file: file}
	if !isTournament(saved) {
		also := ""
		if f.force {
			also = ", and --overwrite overwrites tournaments only"
		}
		return nil, errors.Join(fmt.Errorf("%s: is not a tournament%s; name another file with --state", path, also), file.close())
	}
	if len(saved) > 0 && !f.force {
		var torn int
		torn, err = t.resume(cmd, f, saved, p)
		if err != nil {
			err = fmt.Errorf("%s: %w; --overwrite starts over", path, err)
		}
		if torn > 0 {
			a.Log.Warn("a run was killed while saving a judgment; it is asked for again", "file", path, "bytes", torn)
		}
	} else {
		err = t.createTournament(f, path, a.Config.Seed, p)
	}
	if err != nil {
		if t.file != nil {
			err = errors.Join(err, t.file.close())
		}
		return nil, err
	}
	return t, nil
}

// isTournament reports whether content is that of a tournament file, including an empty,
// damaged or newer one. --overwrite overwrites no other files.
func isTournament(content []byte) bool {
	const head = 256
	start := bytes.Join(bytes.Fields(content[:min(len(content), head)]), nil)
	return len(content) == 0 || bytes.HasPrefix(content, []byte("thresher duel ")) ||
		bytes.HasPrefix(start, []byte(`{"version":`)) && bytes.Contains(start, []byte(`"config":`))
}

// createTournament starts a tournament and creates its file.
func (t *tournament) createTournament(f *duelRunFlags, path string, seed uint64, p panel) error {
	config, err := f.config(seed, p)
	if err != nil {
		return err
	}
	if p != nil { // before the file is created
		if _, err := p.jury(config); err != nil {
			return err
		}
	}
	if t.Tournament, err = duel.New(config, nil); err != nil {
		return err
	}
	t.ready()
	t.created = true
	if t.file != nil {
		return nil
	}
	file, saved, err := openDuelFile(path, true)
	if err != nil {
		return err
	}
	t.file = file
	if len(saved) > 0 {
		return fmt.Errorf("%s: another run has started it meanwhile", path)
	}
	return nil
}

func (f *duelRunFlags) config(seed uint64, p panel) (duel.Config, error) {
	design, err := f.design()
	if err != nil {
		return duel.Config{}, err
	}
	arms, err := f.readArms(p)
	if err != nil {
		return duel.Config{}, err
	}
	const pair = 64 // bytes for each pair of arms, in the tournament and while saving it
	err = cli.NeedMemory(fmt.Sprintf("a tournament of %d arms", len(arms)), pair*float64(len(arms))*float64(len(arms)))
	return duel.Config{Arms: arms, Design: design, Seed: seed, Order: duel.RandomOrder}, err
}

// readArms returns the arms of --arms or of the panel.
func (f *duelRunFlags) readArms(p panel) ([]string, error) {
	switch {
	case f.arms != "":
		arms, err := readArms(f.arms)
		if err == nil {
			if err = f.given.cover(arms); err != nil {
				err = fmt.Errorf("--texts: %w", err)
			}
		}
		return arms, err
	case f.given != nil:
		if n := len(f.given.names); n < 2 || n > duel.MaxArms {
			return nil, fmt.Errorf("--texts: %s: %d texts; a tournament has 2 to %d arms", f.given.path, n, duel.MaxArms)
		}
		return f.given.names, nil
	case p != nil:
		return p.arms()
	}
	return nil, errors.New("--arms: no file named")
}

// resume restores a tournament and rejects flags that differ from it. torn is that of
// restoreTournament.
func (t *tournament) resume(cmd *cobra.Command, f *duelRunFlags, saved []byte, p panel) (torn int, err error) {
	restored, torn, err := restoreTournament(saved)
	if err != nil {
		return 0, err
	}
	restored.file = t.file
	*t = *restored
	c := t.Config()
	if err := f.checkOnly(c); err != nil {
		return 0, err
	}
	for flag, is := range map[string]string{
		"algorithm": string(c.Algorithm), "horizon": fmt.Sprint(float64(c.Horizon)), "epsilon": fmt.Sprint(c.Epsilon),
		"delta": fmt.Sprint(c.Delta), "gamma": fmt.Sprint(c.Gamma), "radius": string(c.Radius), "testing": string(c.Testing), "seed": fmt.Sprint(c.Seed),
		"top": fmt.Sprint(c.Top),
	} {
		if given := cmd.Flags().Lookup(flag); given != nil && given.Changed && given.Value.String() != is {
			return 0, fmt.Errorf("is a tournament with %s %s, not %s", flag, is, given.Value)
		}
	}
	if f.arms != "" || f.most != 0 {
		arms, err := f.readArms(p)
		if err != nil {
			return 0, err
		}
		if !slices.Equal(arms, c.Arms) {
			return 0, errors.New("is a tournament of other arms")
		}
	}
	t.Recall() // the judges of the previous run are gone
	return torn, nil
}
