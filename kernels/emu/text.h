// text.h: texts of the emulator's reports.
#pragma once
#include <cstdarg>
#include <string>

#include "thread.h"

namespace emu {

std::string text(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string text(const char* format, va_list list);

std::string place(At at);          // "scan.cu:145"
std::string coordinates(uint3 v);  // "(3,0,0)"

// Ranges formats ascending numbers as "0-15, 17".
class Ranges {
 public:
  void add(unsigned n);
  bool single() const { return count_ == 1; }
  std::string str() const;

 private:
  std::string done_;
  unsigned first_ = 0, last_ = 0, count_ = 0;
};

}  // namespace emu
