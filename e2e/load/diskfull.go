//go:build linux

package main
import ("context";"flag";"io")
const mountedVerb = "mounted"
func mounted(ctx context.Context, args []string, out io.Writer) error { return nil }
func prepareDiskFull(fs *flag.FlagSet) func(context.Context, *run) error { return nil }
func prepareHostile(fs *flag.FlagSet) func(context.Context, *run) error { return nil }
