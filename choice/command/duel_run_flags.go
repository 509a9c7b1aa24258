package command

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

type duelRunFlags struct {
	designFlags
	program     programFlags
	given       *armTexts // of --texts
	arms, state string
	ratings     string
	matrix      string
	most, batch int
	jsonl, json bool
	force       bool
	judge       string
	undo        int
	only        []duel.Algorithm // that can be continued; any if empty
}

// addSources adds the flags for arms, judgments and the file of the tournament.
func (f *duelRunFlags) addSources(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.arms, "arms", "", "`file` of arms, one on each line; not needed to continue")
	cmd.Flags().StringVar(&f.state, "state", "", "`file` of the tournament; default: the name of --arms or --matrix with .duel appended; JSON if it ends in .json")
	cmd.Flags().StringVar(&f.ratings, "ratings", "", "`folder` of ratings that decide duels")
	cmd.Flags().StringVar(&f.matrix, "matrix", "", "`file` of win probabilities from which duels are drawn")
	cmd.Flags().IntVar(&f.most, "most", 0, "with --ratings, instead of --arms: take this `number` of films with the most ratings")
	cmd.Flags().IntVar(&f.batch, "batch", 0, "duels to hand out at a time with --jsonl; 0 = one, or the whole sweep")
	cmd.Flags().BoolVar(&f.jsonl, "jsonl", false, "duels and judgments as JSON lines")
	cmd.Flags().BoolVar(&f.json, "json", false, "the outcome as one JSON object on stdout")
	cmd.Flags().BoolVar(&f.force, "overwrite", false, "start over, overwriting the tournament in --state")
	cmd.Flags().StringVar(&f.judge, "judge", "", "`name` of the judge, whose judgments are compared with those of others")
	cmd.Flags().IntVar(&f.undo, "undo", 0, "first undo this `number` of the last judgments, also after a winner was named")
	f.program.add(cmd)
	cli.AddSettings(cmd, "seed")
	cmd.Flags().Lookup("seed").Usage = cli.SeedOfDraws
}

// checkJudgeName rejects names of judges that package duel rejects.
func checkJudgeName(name string) error {
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > duel.MaxJudgeName {
		return fmt.Errorf("%.40q; a name has at most %d characters of UTF-8", name, duel.MaxJudgeName)
	}
	return nil
}

// panel returns the panel of --ratings or --matrix; nil if people are asked.
func (f *duelRunFlags) panel() (panel, error) {
	switch {
	case f.ratings != "":
		return readAudience(f.ratings, f.most)
	case f.matrix != "":
		m, err := readMatrix(f.matrix)
		if err != nil {
			return nil, fmt.Errorf("--matrix: %w", err)
		}
		return m, nil
	}
	return nil, nil
}

// check rejects conflicting flags.
func (f *duelRunFlags) check() error {
	switch {
	case f.batch < 0:
		return fmt.Errorf("--batch %d is negative", f.batch)
	case f.program.line != "" && (f.jsonl || f.ratings != "" || f.matrix != ""):
		return errors.New("--judge-command excludes --jsonl, --ratings and --matrix: it decides the duels")
	case f.program.texts != "" && (f.jsonl || f.ratings != "" || f.matrix != ""):
		return errors.New("--texts is for --judge-command, or for judging by hand")
	case f.undo < 0:
		return fmt.Errorf("--undo %d is negative", f.undo)
	case (f.undo > 0 || f.judge != "") && (f.ratings != "" || f.matrix != ""):
		return errors.New("--undo and --judge need judges; --ratings and --matrix decide the duels")
	case checkJudgeName(f.judge) != nil:
		return fmt.Errorf("--judge %w", checkJudgeName(f.judge))
	case f.ratings != "" && f.matrix != "":
		return errors.New("--ratings and --matrix exclude each other")
	case f.json && f.jsonl:
		return errors.New("--json and --jsonl exclude each other: the last line of --jsonl is the outcome")
	case f.ratings != "" && f.jsonl:
		return errors.New("--ratings and --jsonl exclude each other: ratings decide the duels")
	case f.matrix != "" && f.jsonl:
		return errors.New("--matrix and --jsonl exclude each other: the matrix decides the duels")
	case f.most != 0 && (f.ratings == "" || f.arms != ""):
		return errors.New("--most needs --ratings and excludes --arms")
	case f.most != 0 && f.state == "":
		return errors.New("--state: no file named, and no --arms to derive its name from")
	case f.state == "" && f.arms == "" && f.matrix == "" && f.program.texts == "":
		return errors.New("--arms: no file named; to try an algorithm, --matrix takes win probabilities")
	}
	return nil
}
