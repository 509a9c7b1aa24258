// fail.h: EMU_FAIL and EMU_HANG, injected errors and hangs.
#pragma once

namespace emu {

// injected_failure returns the code with which EMU_FAIL makes this call of `name` fail, or 0. The value is a list of
// name:n[:code] separated by commas: the n-th call, or with n+ that one and all later ones. Names are without suffixes
// such as _v2; `kernel` counts all kernels as they run, `kernel NAME` those of that name. Codes default to 2 (out of
// memory) for allocations, 719 (launch failed) for kernels and 999 (unknown) otherwise. Counts start anew when the value
// changes. If EMU_HANG, a list of the same form without codes, names the call, it never returns.
int injected_failure(const char* name);

// Returns whether this error ends the context.
bool ends_context(int code);

// Resets all counts.
void reset_failures();

}  // namespace emu
