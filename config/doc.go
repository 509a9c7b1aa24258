// Package config makes one typed, validated configuration out of flags,
// environment variables, a file and defaults, in that order of precedence, and
// remembers where every value came from.
//
// A setting has one key. The key `log.level` is the flag --log-level, the
// variable THRESHER_LOG_LEVEL and, in a file, `level` below `log`. Files are
// YAML, TOML or JSON by the end of their name and are named by --config or
// THRESHER_CONFIG; nowhere else is searched. An unknown key in a file is an
// error, and so is a variable that is nearly the name of one that is read
// (THRESHER_METRC). Another unknown variable is reported, and one that an
// orchestrator sets under the name of a service (THRESHER_SERVICE_HOST) is not;
// an empty variable counts as not set.
package config
