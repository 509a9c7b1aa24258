// symbol.h: source lines of this library's code, for reports.
#pragma once
#include <string>

namespace emu {

// The line of the kernels' sources that pc belongs to, "slab.cu:145", through addr2line(1); without it
// the address within the library.
std::string source_line(const void* pc);

}  // namespace emu
