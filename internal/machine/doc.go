// Package machine says how much memory this process may use: what the machine has, and what the
// control groups that the process is in allow, of version 1 and 2, however they are nested.
//
// Functions of what the machine and its control groups say take the root of the file system that describes the machine, os.DirFS("/") on
// the machine itself; systems that have no such files have no such limits.
// [Spare] adds the limits that the process itself has. [LargePages] is advice about memory that it has.
package machine
