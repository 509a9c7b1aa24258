package duel

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

const (
	// skipFor is how many duels are drawn before a skipped one is issued to the same judge
	// again, if there are that many.
	skipFor = 10
	// maxSkips bounds the judges remembered for a duel.
	maxSkips = 16
	// MaxJudgeName bounds the characters of a judge's name.
	MaxJudgeName = 256
)

// Skip gives back duels that a judge does not want to judge. Each is issued again: to other
// judges (NextFor) at once, to this one after some others, if there are others. Skipping a
// duel that has a result changes nothing. If any duel was never issued or was withdrawn, Skip
// skips none and its error wraps ErrUnknown or ErrWithdrawn.
func (t *Tournament) Skip(judge string, ids ...uint64) error {
	if err := checkJudge(judge); err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.known(id); err != nil {
			return err
		}
	}
	skipped := false
	for _, id := range ids {
		e := t.entry(id)
		if e == nil || e.Answered {
			continue
		}
		skipped = true
		e.Expires, e.Again = past, t.issued+skipFor
		e.SkippedBy = slices.DeleteFunc(e.SkippedBy, func(name string) bool { return name == judge })
		if len(e.SkippedBy) == maxSkips {
			e.SkippedBy = e.SkippedBy[1:]
		}
		e.SkippedBy = append(e.SkippedBy, judge)
	}
	if skipped {
		t.history.note(undoStep{Skip: slices.Clone(ids), Judge: judge})
	}
	return nil
}

// deferred reports whether others should be issued to the judge before this duel, when issued
// duels have been drawn. A judge without a name may be any of those who skipped it.
func (e *pendingDuel) deferred(judge string, issued uint64) bool {
	return issued < e.Again && (judge == "" || slices.Contains(e.SkippedBy, judge))
}

// checkJudge rejects names that JSON would change, or that are long.
func checkJudge(name string) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("duel: the judge's name %q is not UTF-8", name)
	}
	if n := utf8.RuneCountInString(name); n > MaxJudgeName {
		return fmt.Errorf("duel: the judge's name has %d characters; at most %d", n, MaxJudgeName)
	}
	return nil
}
