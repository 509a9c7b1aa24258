package command

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"thresher/internal/cli"
	"thresher/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	if os.Getenv(clitest.ChildVariable) != "" {
		os.Exit(cli.WithSignals(func(ctx context.Context) int { return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }))
	}
	goleak.VerifyTestMain(m)
}

// run executes a command line that has the commands of this package and no others.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	a := cli.New(in, out, errw)
	return a.Run(ctx, root(a), args)
}

func root(a *cli.App) *cobra.Command {
	data := &cobra.Command{Use: "data"}
	data.AddCommand(DataCommands(a)...)
	return a.Root(&cobra.Command{Use: "thresher"}, append(Commands(a), data)...)
}

func thresher(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return thresherWith(t, context.Background(), "", args...)
}

func thresherWith(t *testing.T, ctx context.Context, stdin string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Program(run).Run(ctx, stdin, args...)
}
