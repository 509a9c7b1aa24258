package command

import (
	"testing"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

// TestEveryFlagHasAHeading: help lists every flag under a heading, and no name is listed that no flag has.
func TestEveryFlagHasAHeading(t *testing.T) {
	clitest.CheckHeadings(t, root(cli.New(nil, nil, nil)), flagHeadings)
}
