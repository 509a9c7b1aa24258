//go:build unix && !linux

package worker

// closeOnExec is 0: here the flag is set after they arrived.
const closeOnExec = 0
