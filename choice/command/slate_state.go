package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"thresher/choice/slate"
	"thresher/internal/atomicfile"
	"thresher/internal/cli"
	"thresher/internal/filelock"
)

// Numbers of slates that a state remembers. Rewards of older ones are refused.
const (
	maxOpen     = 100
	maxAnswered = 1000
)

const slateStateVersion = 1

// slateState is the content of a user's file: the learned estimate, the slates that wait
// for rewards, and those already answered.
type slateState struct {
	Version int `json:"version"`
	// Topics names the d features of the estimate.
	Topics []string `json:"topics"`
	// Last is the number of the latest slate.
	Last     int             `json:"last"`
	Open     []openSlate     `json:"open"`
	Answered []answeredSlate `json:"answered"`
	// User is the learned estimate.
	User *slate.Estimator `json:"user"`
	// Checksum is the CRC-32C of this struct without it, as json.Marshal writes it, so
	// white space and the order of members do not matter. Older files have none.
	Checksum string `json:"crc32c,omitempty"`

	path string
}

// openSlate holds the features of the items as they were shown, so that rewards refer to
// them even if the file of items changes. Features has len(Items)*d values.
type openSlate struct {
	Slate    int       `json:"slate"`
	Items    []string  `json:"items"`
	Features []float64 `json:"features"`
}

type answeredSlate struct {
	Slate   int       `json:"slate"`
	Rewards []float64 `json:"rewards"`
}

// slateStatePath returns the path of the state file: --state itself or, with --user, that
// user's file in the folder --state.
func slateStatePath(cmd *cobra.Command, state, user string) (string, error) {
	switch {
	case state == "":
		return "", errors.New("--state: no file named")
	case !cmd.Flags().Changed("user"):
		if err := cli.RefuseFolders(state); err != nil {
			return "", err
		}
		return linkedFile(state)
	case user == "":
		return "", errors.New("--user: is empty")
	}
	return linkedFile(filepath.Join(state, url.PathEscape(user)+".json"))
}

// readSlateState reads and checks a state file. A missing file is fs.ErrNotExist.
func readSlateState(path string) (*slateState, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := parseSlateState(b)
	if err != nil {
		return nil, fmt.Errorf("%s: is not a state file of slates: %w", path, err)
	}
	s.path = path
	return s, nil
}

func parseSlateState(b []byte) (*slateState, error) {
	s := &slateState{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	return s, s.check()
}

// newSlateState returns the state of a new user.
func newSlateState(path string, topics []string, ridge float64) (*slateState, error) {
	user, err := slate.NewEstimator(len(topics), ridge)
	if err != nil {
		return nil, err
	}
	return &slateState{Version: slateStateVersion, Topics: topics, User: user, path: path}, nil
}

// sum computes the checksum of s, ignoring the one stored.
func (s slateState) sum() (string, error) {
	s.Checksum = ""
	b, err := json.Marshal(s)
	return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)), err
}

// check rejects states that save cannot have written.
func (s *slateState) check() error {
	if s.Version != slateStateVersion {
		return fmt.Errorf("version %d; this program reads %d", s.Version, slateStateVersion)
	}
	if s.Checksum != "" {
		if sum, err := s.sum(); err != nil || sum != s.Checksum {
			return errors.Join(err, fmt.Errorf("its checksum is %s, not %s as recorded: the file was changed", sum, s.Checksum))
		}
	}
	if s.User == nil {
		return errors.New("has no user")
	}
	d := s.User.Features()
	if len(s.Topics) != d {
		return fmt.Errorf("%d topics, of the user %d are known", len(s.Topics), d)
	}
	const most = 1 << 53 // integers that JSON represents exactly
	if s.Last < 0 || s.Last > most {
		return fmt.Errorf("last slate %d", s.Last)
	}
	before := 0
	for _, o := range s.Open {
		if o.Slate <= before || o.Slate > s.Last {
			return fmt.Errorf("open slate %d behind %d, the last being %d", o.Slate, before, s.Last)
		}
		before = o.Slate
		if len(o.Items) == 0 || len(o.Features) != len(o.Items)*d {
			return fmt.Errorf("slate %d: %d features of %d items with %d topics", o.Slate, len(o.Features), len(o.Items), d)
		}
		for i, x := range o.Features {
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("slate %d, item %d, topic %d: %g is not in [0, 1]", o.Slate, i/d, i%d, x)
			}
		}
	}
	for _, a := range s.Answered {
		if a.Slate < 1 || a.Slate > s.Last || s.openIndex(a.Slate) >= 0 {
			return fmt.Errorf("answered slate %d, the last being %d", a.Slate, s.Last)
		}
	}
	return nil
}

// openIndex returns the index of a slate in Open, or -1.
func (s *slateState) openIndex(id int) int {
	return slices.IndexFunc(s.Open, func(o openSlate) bool { return o.Slate == id })
}

// addSlate stores a slate that waits for rewards and returns its number.
func (s *slateState) addSlate(items []string, features []float64) int {
	s.Last++
	s.Open = append(s.Open, openSlate{s.Last, items, features})
	s.Open = s.Open[max(0, len(s.Open)-maxOpen):]
	return s.Last
}

// reward learns from the rewards of a slate's first items and reports whether they are new.
// The first rewards of a slate are final: repeating them changes nothing, others are an
// error.
func (s *slateState) reward(id int, rewards []float64) (bool, error) {
	if len(rewards) == 0 {
		return false, fmt.Errorf("slate %d: no rewards", id)
	}
	for i, y := range rewards {
		if !(y >= 0 && y <= 1) {
			return false, fmt.Errorf("slate %d, reward %d: %g is not in [0, 1]", id, i+1, y)
		}
	}
	for _, a := range s.Answered {
		if a.Slate == id && !slices.Equal(a.Rewards, rewards) {
			return false, fmt.Errorf("slate %d: already has the rewards %v, which are final", id, a.Rewards)
		}
		if a.Slate == id {
			return false, nil
		}
	}
	if id < 1 || id > s.Last {
		return false, fmt.Errorf("slate %d does not exist; the last is %d", id, s.Last)
	}
	at := s.openIndex(id)
	if at < 0 {
		return false, fmt.Errorf("slate %d: was evicted; the last %d open and %d answered slates are kept", id, maxOpen, maxAnswered)
	}
	o := s.Open[at]
	if len(rewards) > len(o.Items) {
		return false, fmt.Errorf("slate %d: %d rewards for %d items", id, len(rewards), len(o.Items))
	}
	if err := s.User.Update(o.Features[:len(rewards)*len(s.Topics)], rewards); err != nil {
		return false, fmt.Errorf("slate %d: %w", id, err)
	}
	s.Open = slices.Delete(s.Open, at, at+1)
	s.Answered = append(s.Answered, answeredSlate{id, rewards})
	s.Answered = s.Answered[max(0, len(s.Answered)-maxAnswered):]
	return true, nil
}

// save replaces the file atomically.
func (s *slateState) save() error {
	sum, err := s.sum()
	if err != nil {
		return err
	}
	s.Checksum = sum
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return replaceFile(s.path, append(b, '\n'))
}

// replaceFile replaces a file atomically and durably: a crash leaves the old content or
// the new one, and the next call removes any temporary file. The file keeps its
// permissions. The caller holds the lock of the folder.
func replaceFile(path string, content []byte) error {
	next, err := atomicfile.CreateNext(path)
	if err != nil {
		return err
	}
	defer next.Discard()
	if _, err := next.Write(content); err != nil {
		return err
	}
	return next.Commit(true)
}

// lockFolder waits for the exclusive lock of a folder, which makes a read and the following
// replacement atomic. Closing the result releases the lock.
func lockFolder(ctx context.Context, dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := filelock.Wait(ctx, f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: cannot be locked: %w", dir, err), f.Close())
	}
	return f, nil
}
