package command

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"thresher/choice/duel"
)

// readArms reads the lines of a file, skipping empty ones.
func readArms(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var arms []string
	lines := map[string]int{}
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if !utf8.ValidString(line) {
			return nil, fmt.Errorf("%s, line %d: %.40q is not UTF-8", path, number, line)
		}
		if first, ok := lines[line]; ok {
			return nil, fmt.Errorf("%s, line %d: %q is listed twice; first in line %d", path, number, line, first)
		}
		lines[line] = number
		arms = append(arms, line)
	}
	if len(arms) < 2 || len(arms) > duel.MaxArms {
		return nil, fmt.Errorf("%s: %d arms; a tournament has 2 to %d", path, len(arms), duel.MaxArms)
	}
	return arms, nil
}
