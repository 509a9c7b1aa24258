package worker

import "golang.org/x/sys/unix"

// closeOnExec makes descriptors that arrive close in programs that this one starts.
const closeOnExec = unix.MSG_CMSG_CLOEXEC
