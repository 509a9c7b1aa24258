package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thresher/internal/cli"
)

type slateFeedbackFlags struct {
	state, user   string
	slate         int
	rewards, from string
	json          bool
}

func newSlateFeedbackCommand(a *app) *cobra.Command {
	f := &slateFeedbackFlags{}
	cmd := &cobra.Command{
		Use:   "feedback --state FILE (--slate N --rewards Y,Y,.. | --from FILE)",
		Short: "Learn from the rewards of a list",
		Long: `Learn from the rewards of a list, one for each item in order, from 0 to 1; leave out
the items after the last one that the user looked at. An item's reward is for what it
adds to the items above it.

The first rewards of a slate are final. Repeating them changes nothing; giving others
is an error. --from applies many, all or none, one on each line:
  {"slate":7,"rewards":[1,0,1]}`,
		Example: `  thresher slate feedback --state ann.json --slate 1 --rewards 1,0,0,1
  thresher slate feedback --state users --user ann --from clicks.jsonl`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.learnSlates(cmd, f) },
	}
	addStateFlags(cmd, &f.state, &f.user)
	fs := cmd.Flags()
	fs.IntVar(&f.slate, "slate", 0, "`number` of the slate")
	fs.StringVar(&f.rewards, "rewards", "", "`numbers` from 0 to 1, separated by commas")
	fs.StringVar(&f.from, "from", "", "`file` of rewards as JSON lines; - is standard input")
	fs.BoolVar(&f.json, "json", false, "report on the rewards as JSON lines")
	cli.AddSettings(cmd)
	return cmd
}

// slateRewards are the rewards of one slate, and where they were read.
type slateRewards struct {
	slate   int
	rewards []float64
	where   string
}

// jsonRewards distinguishes a reward from null, which is not one.
type jsonRewards struct {
	Slate   *int       `json:"slate"`
	Rewards []*float64 `json:"rewards"`
}

// slateReceipt says what was done with the rewards.
type slateReceipt struct {
	Slate   int  `json:"slate"`
	Rewards int  `json:"rewards"`
	New     bool `json:"new"`
	// Observations counts all rewards learned from.
	Observations int64 `json:"observations"`
}

func (a *app) learnSlates(cmd *cobra.Command, f *slateFeedbackFlags) (err error) {
	all, err := a.readRewards(cmd, f)
	if err != nil {
		return err
	}
	path, err := slateStatePath(cmd, f.state, f.user)
	if err != nil {
		return fmt.Errorf("slate feedback: %w", err)
	}
	lock, err := lockFolder(cmd.Context(), filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--state: %w; slate recommend creates it", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := readSlateState(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; slate recommend creates it", err)
	}
	if err != nil {
		return err
	}
	// The memory of the estimate of d topics, and of its text.
	if d := float64(len(s.Topics)); s.User.Cold() {
		if err := cli.NeedMemory(fmt.Sprintf("%s: what is learned of a user by %d topics", path, len(s.Topics)), 40*d*d); err != nil {
			return err
		}
	}
	receipts, changed := make([]slateReceipt, len(all)), false
	for i, r := range all {
		isNew, err := s.reward(r.slate, r.rewards)
		if err != nil {
			return fmt.Errorf("%s: %s%w", path, r.where, err)
		}
		changed = changed || isNew
		receipts[i] = slateReceipt{r.slate, len(r.rewards), isNew, s.User.Observations()}
	}
	if changed {
		if err := s.save(); err != nil {
			return err
		}
	}
	return a.printReceipts(receipts, f.json)
}

func (a *app) printReceipts(receipts []slateReceipt, asJSON bool) error {
	for _, r := range receipts {
		if asJSON {
			if err := json.NewEncoder(a.Out).Encode(r); err != nil {
				return err
			}
			continue
		}
		what := "learned from"
		if !r.New {
			what = "had been learned from, nothing changed:"
		}
		if _, err := fmt.Fprintf(a.Out, "slate %d: %s %d rewards; %d so far\n", r.Slate, what, r.Rewards, r.Observations); err != nil {
			return err
		}
	}
	return nil
}

// readRewards reads the rewards from the flags or the file.
func (a *app) readRewards(cmd *cobra.Command, f *slateFeedbackFlags) ([]slateRewards, error) {
	one := cmd.Flags().Changed("slate") || cmd.Flags().Changed("rewards")
	switch {
	case one == (f.from != ""):
		return nil, errors.New("slate feedback: give --slate and --rewards, or --from")
	case f.from == cli.Stdio:
		return scanRewards(a.In, "standard input")
	case f.from != "":
		if err := cli.RefuseFolders(f.from); err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		file, err := os.Open(f.from)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		defer file.Close()
		return scanRewards(file, f.from)
	}
	for _, flag := range []string{"slate", "rewards"} {
		if !cmd.Flags().Changed(flag) {
			return nil, fmt.Errorf("slate feedback: --%s is missing", flag)
		}
	}
	r := slateRewards{slate: f.slate}
	for i, text := range strings.Split(f.rewards, ",") {
		y, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return nil, fmt.Errorf("--rewards %s: reward %d: %q is not a number", f.rewards, i+1, text)
		}
		r.rewards = append(r.rewards, y)
	}
	return []slateRewards{r}, nil
}

func scanRewards(in io.Reader, name string) ([]slateRewards, error) {
	var all []slateRewards
	lines := bufio.NewScanner(in)
	number := 0
	for lines.Scan() {
		number++
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.DisallowUnknownFields()
		r := slateRewards{where: fmt.Sprintf("%s, line %d: ", name, number)}
		var given jsonRewards
		err := decoder.Decode(&given)
		if err == nil && decoder.More() {
			err = errors.New("more than one object")
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w; rewards are {\"slate\":7,\"rewards\":[1,0,1]}", r.where, cli.InWords(err, "a line"))
		}
		if given.Slate == nil {
			return nil, fmt.Errorf("%sslate is missing; rewards are {\"slate\":7,\"rewards\":[1,0,1]}", r.where)
		}
		r.slate = *given.Slate
		for i, y := range given.Rewards {
			if y == nil {
				return nil, fmt.Errorf("%sslate %d, reward %d: null is not a number; leave out what the user did not look at", r.where, r.slate, i+1)
			}
			r.rewards = append(r.rewards, *y)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", name, number+1, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no rewards", name)
	}
	return all, nil
}
