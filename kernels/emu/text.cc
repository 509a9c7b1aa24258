#include "text.h"

#include <cstdio>
#include <cstring>

namespace emu {

std::string text(const char* format, va_list list) {
  va_list copy;
  va_copy(copy, list);
  int n = vsnprintf(nullptr, 0, format, copy);
  va_end(copy);
  std::string s((size_t)n, '\0');
  vsnprintf(s.data(), (size_t)n + 1, format, list);
  return s;
}

std::string text(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string s = text(format, list);
  va_end(list);
  return s;
}

std::string place(At at) {
  const char* slash = strrchr(at.file, '/');
  return text("%s:%d", slash ? slash + 1 : at.file, at.line);
}

std::string coordinates(uint3 v) { return text("(%u,%u,%u)", v.x, v.y, v.z); }

namespace {
std::string range(unsigned first, unsigned last) {
  return first == last ? text("%u", first) : text("%u-%u", first, last);
}
}  // namespace

void Ranges::add(unsigned n) {
  if (count_++ == 0) {
    first_ = last_ = n;
  } else if (n == last_ + 1) {
    last_ = n;
  } else {
    done_ += range(first_, last_) + ", ";
    first_ = last_ = n;
  }
}

std::string Ranges::str() const { return count_ ? done_ + range(first_, last_) : ""; }

}  // namespace emu
