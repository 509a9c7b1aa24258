// shim.h: how Go opens the driver that shim.c forwards to.
#ifndef THRESHER_SHIM_H
#define THRESHER_SHIM_H

#include <stddef.h>

// thresher_shim_open opens the library at path, initializes it, and points every
// driver symbol of this program at it. It returns cuInit's code, or -1 after
// writing the reason to why, at most room bytes with the zero at their end. No
// other thread may use the driver meanwhile, nor call it again after a success.
int thresher_shim_open(const char *path, char *why, size_t room);

#endif
