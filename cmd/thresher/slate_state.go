package main

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

	"thresher/internal/atomicfile"
	"thresher/internal/filelock"
	"thresher/slate"
)

// How many slates a state remembers. Rewards of older ones are refused.
const (
	mostOpen     = 100
	mostAnswered = 1000
)

const slateStateVersion = 1

// slateState is what one user's file holds: what was learned, the slates that wait
// for rewards, and those that had them.
type slateState struct {
	Version int `json:"version"`
	// Topics name the d features that the user is known by.
	Topics []string `json:"topics"`
	// Last is the highest number of a slate.
	Last     int             `json:"last"`
	Open     []openSlate     `json:"open"`
	Answered []answeredSlate `json:"answered"`
	// User is what was learned.
	User *slate.Estimator `json:"user"`
	// Checksum is the CRC-32C of the JSON without it, as json.Marshal writes it, so that
	// spaces and the order of members do not count. Files of before have none.
	Checksum string `json:"crc32c,omitempty"`

	path string
}

// openSlate holds what the rewards are about, so that they count for what was shown
// whatever the file of items says by then. Features are len(Items)*d.
type openSlate struct {
	Slate    int       `json:"slate"`
	Items    []string  `json:"items"`
	Features []float64 `json:"features"`
}

type answeredSlate struct {
	Slate   int       `json:"slate"`
	Rewards []float64 `json:"rewards"`
}

// slateStatePath is the file of a user in a folder, or the file itself.
func slateStatePath(cmd *cobra.Command, state, user string) (string, error) {
	switch {
	case state == "":
		return "", errors.New("--state: no file named")
	case !cmd.Flags().Changed("user"):
		if err := refuseFolders(state); err != nil {
			return "", err
		}
		return linkedFile(state)
	case user == "":
		return "", errors.New("--user: is empty")
	}
	return linkedFile(filepath.Join(state, url.PathEscape(user)+".json"))
}

// readSlateState is fs.ErrNotExist if there is none.
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

// newSlateState is that of a user nobody knows anything of.
func newSlateState(path string, topics []string, ridge float64) (*slateState, error) {
	user, err := slate.NewEstimator(len(topics), ridge)
	if err != nil {
		return nil, err
	}
	return &slateState{Version: slateStateVersion, Topics: topics, User: user, path: path}, nil
}

// sum is the checksum of s, which has none, or another.
func (s slateState) sum() (string, error) {
	s.Checksum = ""
	b, err := json.Marshal(s)
	return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)), err
}

// check refuses what save does not write.
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
	const most = 1 << 53 // of numbers that JSON keeps
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
		if a.Slate < 1 || a.Slate > s.Last || s.open(a.Slate) >= 0 {
			return fmt.Errorf("answered slate %d, the last being %d", a.Slate, s.Last)
		}
	}
	return nil
}

// open is where a slate waits, -1 if it does not.
func (s *slateState) open(id int) int {
	return slices.IndexFunc(s.Open, func(o openSlate) bool { return o.Slate == id })
}

// add keeps a slate to be answered and returns its number.
func (s *slateState) add(items []string, features []float64) int {
	s.Last++
	s.Open = append(s.Open, openSlate{s.Last, items, features})
	s.Open = s.Open[max(0, len(s.Open)-mostOpen):]
	return s.Last
}

// reward takes the rewards of the first items of a slate; true if they are new. The
// first rewards of a slate stay: to give them again changes nothing, to give others is
// an error.
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
	at := s.open(id)
	if at < 0 {
		return false, fmt.Errorf("slate %d: was evicted; the last %d open and %d answered slates are kept", id, mostOpen, mostAnswered)
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
	s.Answered = s.Answered[max(0, len(s.Answered)-mostAnswered):]
	return true, nil
}

// save replaces the file as a whole, or leaves the old one.
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

// replaceFile is durable when it returns: a process that dies leaves the old content
// or the new one, and what else it left is removed by the next one. A file keeps its
// permissions. The caller has the folder.
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

// lockFolder waits until no other process has the folder, so that what is read there
// is what is replaced. Closing frees it.
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
