package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
)

// programFlags describe a program that judges.
type programFlags struct {
	judgeCommand
	texts    string
	parallel int
}

func (f *programFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.line, "judge-command", "", "`command` that judges, run by sh -c once for each duel; two texts on its standard input, 1, 2 or tie on its standard output")
	fs.StringVar(&f.texts, "texts", "", "`folder` of files named for their arms, or file of lines {\"arm\":\"x\",\"text\":\"...\"}: shown in place of the names; without --arms, all of them are the arms")
	fs.StringVar(&f.question, "question", "", "`text` passed to the judge command with each duel")
	fs.BoolVar(&f.bothOrders, "both-orders", false, "ask the judge command in both orders; a contradiction is a tie")
	fs.IntVar(&f.parallel, "parallel", 1, "`number` of judge commands that run at once")
	fs.DurationVar(&f.timeout, "judge-timeout", 2*time.Minute, "longest time for a call of the judge command")
	fs.IntVar(&f.retries, "judge-retries", 2, "`number` of times that a failed call is repeated before the run stops")
	fs.DurationVar(&f.wait, "judge-wait", time.Second, "time before the first of these, doubled each time")
}

// check rejects values out of range.
func (f *programFlags) check(cmd *cobra.Command) error {
	const maxParallel, maxRetries = 256, 20
	switch {
	case f.parallel < 1 || f.parallel > maxParallel:
		return fmt.Errorf("--parallel %d is not in [1, %d]", f.parallel, maxParallel)
	case f.timeout <= 0:
		return fmt.Errorf("--judge-timeout %v is not positive", f.timeout)
	case f.retries < 0 || f.retries > maxRetries:
		return fmt.Errorf("--judge-retries %d is not in [0, %d]", f.retries, maxRetries)
	case f.wait < 0:
		return fmt.Errorf("--judge-wait %v is negative", f.wait)
	case f.line != "":
		return nil
	case cmd.Flags().Changed("judge-command"):
		return errors.New("--judge-command is empty; give the command that judges, such as './judge'")
	}
	for _, flag := range []string{"question", "both-orders", "parallel", "judge-timeout", "judge-retries", "judge-wait"} {
		if cmd.Flags().Changed(flag) {
			return fmt.Errorf("--%s needs --judge-command with a command", flag)
		}
	}
	return nil
}

// ruling is a verdict on a duel, or why there is none.
type ruling struct {
	duel    duel.Duel
	verdict verdict
	err     error
}

// judgeByProgram has the judge command decide duels, several at once. When a call fails for
// good, the others are awaited, and what they say is kept.
func (a *app) judgeByProgram(ctx context.Context, t *tournament, f *programFlags) error {
	calls, cancel := context.WithCancel(ctx)
	defer cancel()
	rulings := make(chan ruling)
	running := 0
	shown := a.NewProgress("judgments")
	defer shown.Done()
	var notice standoffNotice
	var lean leanNotice
	var failed error
	for done := false; ; {
		for !done && failed == nil && running < f.parallel && ctx.Err() == nil {
			duels, err := t.nextDuels(1)
			if errors.Is(err, duel.ErrEnded) {
				done = true
				cancel() // what still runs was withdrawn
			} else if err != nil {
				failed = err
			}
			if err != nil || len(duels) == 0 {
				break
			}
			running++
			go func(d duel.Duel) {
				v, err := f.judge(calls, d.ID, t.texts.text(t.names[d.A]), t.texts.text(t.names[d.B]))
				rulings <- ruling{d, v, err}
			}(duels[0])
		}
		if running == 0 {
			break
		}
		r := <-rulings
		running--
		if err := t.rule(&r); err != nil && failed == nil && !done {
			failed = err
		}
		shown.Retitle(standing(t))
		shown.Set(t.State().Duels, -1)
		if notice.due(t) || lean.due(t) {
			shown.Done()
			lean.tell(a, t)
			notice.tell(a, t, "Ctrl-C")
		}
	}
	shown.Done()
	failed = errors.Join(failed, t.save())
	if err := ctx.Err(); err != nil {
		return a.stoppedTournament(t, err)
	}
	if failed != nil {
		return failed
	}
	return a.describeTournament(t)
}

// standing states the number of judgments, the leader, and the failure probability of the moment if there is one.
func standing(t *tournament) string {
	s := t.State()
	text := fmt.Sprintf("%d judgments; ", s.Duels)
	if t.leaderless(&s) {
		return text + "no leader yet"
	}
	text += inSentence(t.names[s.Leader]) + " leads"
	switch {
	case s.Ranking != nil:
		text += fmt.Sprintf(", %d of %d pairs known", s.Ranking.Safe, s.Ranking.Pairs)
	case s.Guarantee != nil:
		text += fmt.Sprintf(", wrong with probability at most %.2g", s.Guarantee.Failure)
	}
	return text
}

// rule applies a ruling.
func (t *tournament) rule(r *ruling) error {
	if r.err != nil {
		return fmt.Errorf("--judge-command, duel %d, %q first and %q second: %w; what was judged is kept", r.duel.ID, t.names[r.duel.A], t.names[r.duel.B], r.err)
	}
	_, err := t.Report(duel.Result{Duel: r.duel.ID, AWon: r.verdict == firstBetter, Tie: r.verdict == neither, Judge: t.judgedBy})
	if err != nil && !errors.Is(err, duel.ErrWithdrawn) {
		return err
	}
	return t.save()
}
