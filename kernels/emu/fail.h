// fail.h: EMU_FAIL, errors on demand.
#pragma once

namespace emu {

// injected_failure returns the code that EMU_FAIL wants this call of `name` to fail with, or 0. The value
// is a list of name:n[:code] separated by commas: the n-th call from now on, or with n+ that one and
// all later ones. Names are without _v2 and the like; `kernel` counts kernels as they run, `kernel NAME`
// those of that name. Codes default to 2 (out of memory) for allocations, 719 (launch failed) for
// kernels and 999 (unknown) for the rest. Calls are counted from when the value last changed.
int injected_failure(const char* name);

// Whether a context is of no more use after this error.
bool ends_context(int code);

// Forgets all counts.
void reset_failures();

}  // namespace emu
