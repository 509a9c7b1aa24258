package command

import "thresher/internal/cli"

// flagHeadings are the headings under which help lists the flags of the commands of this package.
var flagHeadings = cli.Headings{
	cli.InputFlags: `arms data folder from items limits matrix news-items news-topics question ratings rewards server slate state texts
		token token-file tournament user wins`,
	cli.WantedFlags: `algorithm algorithms both-orders budget budgets copeland delta epsilon figure gammas gap group-limit horizon
		judge judge-command length lengths most table testing top undo users`,
	cli.OutputFlags: `json jsonl out overwrite`,
	cli.SpeedFlags:  `batch judge-retries judge-timeout judge-wait parallel threads`,
	cli.ExpertFlags: `base filter-radius fixed-arms gamma greedy highest lowest norm radius repeats ridge rounds rule scale seed
		shape trials`,
}
