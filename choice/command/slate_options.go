package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thresher/choice/slate"
	"thresher/choice/slate/trial"
)

// optionFlags are the flags of slate.Options without the algorithm.
type optionFlags struct {
	rule                     string
	delta, base, scale, norm float64
	epsilon, lowest, highest float64
	ridge                    float64
	greedy                   bool
}

func (f *optionFlags) add(cmd *cobra.Command) {
	rules := []string{string(slate.Determinant), string(slate.Information), string(slate.Tuned), string(slate.Fixed)}
	fs := cmd.Flags()
	fs.StringVar(&f.rule, "rule", string(slate.Tuned), "confidence intervals ("+strings.Join(rules, ", ")+"); determinant is proven, information with a ridge of 1 or more")
	fs.Float64Var(&f.delta, "delta", .1, "`probability` that some interval ever fails")
	fs.Float64Var(&f.norm, "norm", 1, "bound on the norm of a user's weights, for the proven rules")
	fs.Float64Var(&f.base, "base", .1, "width of an interval in standard deviations, for the rules tuned and fixed")
	fs.Float64Var(&f.scale, "scale", .05, "growth of tuned intervals with the square root of the log of the number of rewards")
	fs.Float64Var(&f.epsilon, "epsilon", .2, "step between afsm's thresholds: smaller is slower with a better guarantee")
	fs.Float64Var(&f.lowest, "lowest", .05, "lower bound on the `value` of the best item, for afsm")
	fs.Float64Var(&f.highest, "highest", 1, "upper bound on the `value` of the best item, for afsm")
	fs.Float64Var(&f.ridge, "ridge", 1, "regularisation of a user's weights, lambda")
	fs.BoolVar(&f.greedy, "greedy", false, "afsm also considers the lists of lsb and modified")
	complete(cmd, "rule", rules)
}

func (f *optionFlags) options() (slate.Options, error) {
	for _, x := range []struct {
		flag  string
		value float64
	}{{"delta", f.delta}, {"norm", f.norm}, {"epsilon", f.epsilon}, {"lowest", f.lowest}, {"highest", f.highest}, {"ridge", f.ridge}} {
		if !(x.value > 0) { // 0 means the default in Options
			return slate.Options{}, fmt.Errorf("--%s %g is not above 0", x.flag, x.value)
		}
	}
	c := slate.Confidence{Rule: slate.Rule(f.rule), Delta: f.delta, Norm: f.norm}
	if c.Rule == slate.Tuned || c.Rule == slate.Fixed {
		c.Base = f.base
	}
	if c.Rule == slate.Tuned {
		c.Scale = f.scale
	}
	return slate.Options{Confidence: c, Epsilon: f.epsilon, Lowest: f.lowest, Highest: f.highest, Greedy: f.greedy}, nil
}

func slateAlgorithms() []string {
	var names []string
	for _, a := range trial.Algorithms() {
		names = append(names, string(a))
	}
	return names
}

func complete(cmd *cobra.Command, flag string, values []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag that does not exist
	}
}
