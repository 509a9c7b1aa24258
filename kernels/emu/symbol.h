// symbol.h: source lines of this library's code, for reports.
#pragma once
#include <string>

namespace emu {

// Returns the source line of pc, such as "scan.cu:145", through addr2line(1); without that program, the address within the
// library.
std::string source_line(const void* pc);

}  // namespace emu
