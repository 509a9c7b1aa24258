#include "symbol.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "text.h"

namespace emu {

std::string source_line(const void* pc) {
  Dl_info info;
  if (!pc || !dladdr(pc, &info) || !info.dli_fname) return "an unknown place";
  uintptr_t offset = (uintptr_t)pc - (uintptr_t)info.dli_fbase;
  std::string path = info.dli_fname;
  if (path.find('\'') != std::string::npos) return text("+%#zx", (size_t)offset);
  // Innermost frame first: the first line outside the emulator's own files is the kernel's.
  FILE* pipe = popen(text("addr2line -i -e '%s' %#zx 2>/dev/null", path.c_str(), (size_t)offset).c_str(), "r");
  std::string first, kernels;
  char line[1024];
  while (pipe && fgets(line, sizeof line, pipe)) {
    line[strcspn(line, " \n")] = '\0';
    const char *name = strrchr(line, '/'), *colon = strrchr(line, ':');
    if (!colon || !strcmp(colon, ":?") || !strcmp(colon, ":0")) continue;
    name = name ? name + 1 : line;
    if (first.empty()) first = name;
    bool own = strstr(name, ".h:") || strstr(name, ".cc:") || !strncmp(name, "dev.cuh:", 8);
    if (kernels.empty() && !own) kernels = name;
  }
  if (pipe) pclose(pipe);
  if (!kernels.empty()) return kernels;
  if (!first.empty()) return first;
  const char* slash = strrchr(info.dli_fname, '/');
  return text("%s+%#zx", slash ? slash + 1 : info.dli_fname, (size_t)offset);
}

}  // namespace emu
