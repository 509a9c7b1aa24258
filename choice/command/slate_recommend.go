package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thresher/choice/slate"
	"thresher/choice/slate/items"
	"thresher/internal/cli"
)

type slateRecommendFlags struct {
	optionFlags
	limitFlags
	items, state, user string
	algorithm          string
	json               bool
}

func newSlateRecommendCommand(a *app) *cobra.Command {
	f := &slateRecommendFlags{}
	cmd := &cobra.Command{
		Use:   "recommend --items FILE --state FILE [-k N] [--budget X] [--group-limit N]",
		Short: "Make a list for a user",
		Long: `Make a list for a user from what was learned of their taste. This state, and the list
until its rewards arrive, is stored in the file --state or, with --user, in that
user's file in the folder --state; a user without a file is new.

Items are a folder of MovieLens 100K, CSV with columns id, title, groups (split by |),
score, feature.NAME, cost, cost.NAME, or JSON lines:
  {"id":"7","title":"Up","groups":["Drama"],"score":0.8,"features":{"loss":0.7},"costs":{"minutes":96}}
Features say how much of a topic an item covers, from 0 to 1; without them an item
covers its groups by its score.`,
		Example: `  thresher slate recommend --items ml-100k --state ann.json -k 5 --budget 1 --group-limit 2
  thresher slate feedback --state ann.json --slate 1 --rewards 1,0,0,1,0`,
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.recommendSlate(cmd, f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.items, "items", "", "`file` of items (.csv, .jsonl), or a folder of MovieLens 100K")
	addStateFlags(cmd, &f.state, &f.user)
	f.limitFlags.add(cmd)
	fs.StringVar(&f.algorithm, "algorithm", string(slate.AFSM), "chooses the list ("+strings.Join(slateAlgorithms(), ", ")+")")
	f.optionFlags.add(cmd)
	fs.BoolVar(&f.json, "json", false, "the list as JSON")
	complete(cmd, "algorithm", slateAlgorithms())
	cli.AddSettings(cmd, "seed")
	cmd.Flags().Lookup("seed").Usage = cli.SeedOfDraws
	return cmd
}

func addStateFlags(cmd *cobra.Command, state, user *string) {
	cmd.Flags().StringVar(state, "state", "", "`file` of the learned state; with --user, the folder of such files")
	cmd.Flags().StringVar(user, "user", "", "`name` of the user's file in the folder of --state")
}

func (a *app) recommendSlate(cmd *cobra.Command, f *slateRecommendFlags) (err error) {
	if f.items == "" {
		return errors.New("slate recommend: --items: no file named")
	}
	limits, err := f.limitFlags.read(cmd)
	if err != nil {
		return err
	}
	options, err := f.options()
	if err != nil {
		return err
	}
	set, err := items.ReadWithin(f.items, cli.SpareMemory())
	if err != nil {
		return fmt.Errorf("--items: %w", err)
	}
	c, err := constrain(set, limits)
	if err != nil {
		return err
	}
	path, err := slateStatePath(cmd, f.state, f.user)
	if err != nil {
		return fmt.Errorf("slate recommend: %w", err)
	}
	if f.user != "" {
		if err := os.MkdirAll(f.state, 0o755); err != nil {
			return fmt.Errorf("--state: %w", err)
		}
	}
	lock, err := lockFolder(cmd.Context(), filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	s, err := readSlateState(path)
	if errors.Is(err, fs.ErrNotExist) {
		s, err = newSlateState(path, set.Topics, f.ridge)
	}
	if err != nil {
		return err
	}
	if err := s.knows(set); err != nil {
		return err
	}
	if given := cmd.Flags().Lookup("ridge"); given.Changed && s.User.Lambda() != f.ridge {
		return fmt.Errorf("%s: was created with --ridge %g, not %g", path, s.User.Lambda(), f.ridge)
	}
	options.Algorithm, options.Seed, options.Round = slate.Algorithm(f.algorithm), a.Config.Seed, uint64(s.Last)
	options.Memory = cli.SpareMemory()
	chosen, err := slate.Recommend(c.Constraint, s.User, options)
	if err != nil {
		return tooLong(err)
	}
	if len(chosen.Picks) == 0 {
		return fmt.Errorf("no item is worth its cost; lower --lowest")
	}
	list := chosen.Items()
	features, err := c.Items().Features(list)
	if err != nil {
		return err
	}
	var ids []string
	for _, e := range list {
		ids = append(ids, set.IDs[e])
	}
	r := &slateReport{chosen: chosen, of: c, Slate: s.addSlate(ids, features)}
	if err := s.save(); err != nil {
		return err
	}
	r.fill(s.User)
	if f.json {
		return json.NewEncoder(a.Out).Encode(r)
	}
	return a.describeSlate(r)
}

// tooLong adds the remedy to the error of lists that take too much memory.
func tooLong(err error) error {
	if scratch := (*slate.ScratchError)(nil); errors.As(err, &scratch) {
		return fmt.Errorf("%w, three quarters of what is free; give a smaller -k than %d, or fewer items", err, scratch.Length)
	}
	return err
}

// knows checks that the items can be scored by the learned state.
func (s *slateState) knows(set *items.Set) error {
	if slices.Equal(s.Topics, set.Topics) {
		return nil
	}
	return fmt.Errorf("%s: has the topics %q, the items have %q", s.path, s.Topics, set.Topics)
}
