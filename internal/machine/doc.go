// Package machine says how much memory this process may use: what the machine has, and what the
// control groups that the process is in allow, of version 1 and 2, however they are nested.
//
// Every function takes the root of the file system that describes the machine, os.DirFS("/") on
// the machine itself; systems that have no such files have no such limits.
package machine
