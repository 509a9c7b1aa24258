package deploy

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestGracePeriods: what kills a server that does not end waits longer than a stop takes by docs/operations.md, and as
// long as it says.
func TestGracePeriods(t *testing.T) {
	seconds := func(file, pattern string) int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s: nothing is like %s", file, pattern)
		}
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const operations = "../docs/operations.md"
	drained := seconds(operations, "`drain.lame_duck` \\| (\\d+)s") + seconds(operations, "`drain.timeout` \\| (\\d+)s")
	stop := drained + seconds(operations, "a stop takes `drain.lame_duck`, `drain.timeout` and (\\d+) seconds at most")
	stated := seconds(operations, "the files in `deploy` allow (\\d+) seconds")
	for file, pattern := range map[string]string{
		"systemd/thresher.service": `(?m)^TimeoutStopSec=(\d+)$`,
		"compose.yaml":             `stop_grace_period: (\d+)s\b`,
		"kubernetes/thresher.yaml": `terminationGracePeriodSeconds: (\d+)\b`,
		"kubernetes/replica.yaml":  `terminationGracePeriodSeconds: (\d+)\b`,
	} {
		if grace := seconds(file, pattern); grace != stated || grace < stop*5/4 {
			t.Errorf("%s allows %d s; a stop takes %d s, and %s says %d s", file, grace, stop, operations, stated)
		}
	}
}
