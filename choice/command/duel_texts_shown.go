package command

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// textsShown is what the judges of a tournament are shown in place of names. It is kept in a file
// beside that of the tournament, so that no run shows them anything else: judgments of other texts, or of
// names, would count for the same arms.
type textsShown struct {
	Texts string            `json:"texts"` // as given to --texts
	Sums  map[string]string `json:"sha256"`
}

func textsShownPath(state string) string { return state + ".texts" }

// checkTexts compares the texts of this run with those that were shown before. In a new tournament it
// writes which are shown; it refuses texts that have changed, and names in the place of texts.
func (t *tournament) checkTexts() error {
	path := textsShownPath(t.file.path)
	if t.created {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // of an earlier tournament
		}
	}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t.texts.keepShown(path, t.names)
	}
	if err != nil {
		return err
	}
	var shown textsShown
	if err := json.Unmarshal(content, &shown); err != nil {
		return fmt.Errorf("%s: %w; remove it if the texts are those that were judged", path, err)
	}
	if t.texts == nil {
		return fmt.Errorf("missing; judges of this tournament are shown the texts of %s, not names; remove %s to go on with names", shown.Texts, path)
	}
	for _, name := range t.names {
		if shown.Sums[name] != sumOfText(t.texts.of[name]) {
			return fmt.Errorf("%s: the text of arm %q is not the one that was judged before; remove %s to go on with the new one", t.texts.path, name, path)
		}
	}
	return nil
}

// keepShown writes which texts of arms are shown; x may be nil.
func (x *armTexts) keepShown(path string, arms []string) error {
	if x == nil {
		return nil
	}
	shown := textsShown{Texts: x.path, Sums: map[string]string{}}
	for _, name := range arms {
		shown.Sums[name] = sumOfText(x.of[name])
	}
	content, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(content, '\n'))
}

func sumOfText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
