// shim.h: how Go opens the driver that shim.c forwards to.
#ifndef THRESHER_SHIM_H
#define THRESHER_SHIM_H

// thresher_shim_open opens the library at path, initializes it, and points every
// driver symbol of this program at it. It returns cuInit's code, or -1 with *why
// set to the loader's sentence, which lives until the loader's next call on this
// thread. It is called by one thread, and successfully at most once.
int thresher_shim_open(const char *path, const char **why);

#endif
