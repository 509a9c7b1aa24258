#include "settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emu {

std::string setting(const char* name, const char* otherwise) {
  const char* v = getenv(name);
  return v && *v ? v : otherwise;
}

unsigned long long number_setting(const char* name, unsigned long long otherwise) {
  const char* v = getenv(name);
  return v && *v ? strtoull(v, nullptr, 10) : otherwise;
}

unsigned long long device_setting(const char* name, int device, unsigned long long otherwise) {
  const char* v = getenv(name);
  if (!v || !*v) return otherwise;
  for (const char* next; device > 0 && (next = strchr(v, ',')); device--) v = next + 1;
  return strtoull(v, nullptr, 10);
}

bool flag_setting(const char* name) {
  const char* v = getenv(name);
  return v && *v && strcmp(v, "0") != 0;
}

void log_line(const std::string& line) {
  if (flag_setting("EMU_LOG")) fprintf(stderr, "emu: %s\n", line.c_str());
}

}  // namespace emu
