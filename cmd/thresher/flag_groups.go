package main

import "thresher/internal/cli"

// flagHeadings are the headings under which help lists the flags of the commands of this package.
var flagHeadings = cli.Headings{
	cli.InputFlags: `vectors vectors-column ids left right on left-on right-on left-columns right-columns columns queries queries-column answers candidates names seconds header zeros integers with with-column signals signals-column
		offsets set data read-only demo roots from server token token-file collection query embedded metadata`,
	cli.WantedFlags: `by how quick smoke k ks metric method delta epsilon min-score max-score min-distance max-distance k-column min-score-column max-distance-column min-distance-column
		max-score-column exclude exclude-self filter filter-column part symmetric mutual max-pairs terms nonnegative guarantee require strict-delta ignore-scores fail-under
		unchecked sample all live limit after wait key window listen grpc-listen tokens tls-cert tls-key insecure proxies
		cors-origins`,
	cli.OutputFlags: `out scores distances components missed certificates errors show pixels output-format json overwrite resume save license
		to keep backup-folder backup-keep metrics-collections metrics-open`,
	cli.SpeedFlags: `threads backend device kernels costs chunk way deadline memory coalesce-queries coalesce-window
		batches-chunk batches-concurrency`,
	cli.PublishedFlags: `sigma beta sampling bins union warm`,
	cli.ExpertFlags: `seed basis dtype read-limit dense-limit cache cache-limit calibrate count plans pulls repeats parent interval patience
		batches-keep drain-lame-duck drain-timeout files-keep limits- slates-keep slates-kept slates-memory timeouts-body timeouts-header
		timeouts-idle timeouts-search tournaments-keep tournaments-memory turns-length`,
}
