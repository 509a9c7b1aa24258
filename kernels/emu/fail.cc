#include "fail.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "settings.h"

namespace emu {
namespace {

struct Rule {
  std::string name;
  unsigned long long from;
  bool onward;
  int code;
};

std::string value;  // the value that the rules were parsed from
std::vector<Rule> rules;
std::map<std::string, unsigned long long> counts;

int default_code(const std::string& name) {
  if (name.find("Alloc") != std::string::npos) return 2;
  return name.compare(0, 6, "kernel") == 0 ? 719 : 999;
}

void read_rules() {
  rules.clear();
  counts.clear();
  std::istringstream list(value);
  for (std::string item; std::getline(list, item, ',');) {
    size_t colon = item.find(':');
    if (colon == std::string::npos) continue;
    char* end;
    Rule r = {item.substr(0, colon), 0, false, default_code(item.substr(0, colon))};
    r.from = strtoull(item.c_str() + colon + 1, &end, 10);
    if (*end == '+') {
      r.onward = true;
      end++;
    }
    if (*end == ':') r.code = atoi(end + 1);
    rules.push_back(r);
  }
}

}  // namespace

int injected_failure(const char* name) {
  std::string now = setting("EMU_FAIL", "");
  if (now != value) {
    value = now;
    read_rules();
  }
  if (rules.empty()) return 0;
  unsigned long long n = ++counts[name];
  for (const Rule& r : rules)
    if (r.name == name && (n == r.from || (r.onward && n > r.from))) return r.code;
  return 0;
}

bool ends_context(int code) {
  switch (code) {
    case 46:   // device unavailable
    case 214:  // ECC uncorrectable
    case 220:  // NVLink uncorrectable
    case 700: case 702: case 710: case 714: case 715: case 716: case 717: case 718: case 719:
      return true;
    default:
      return false;
  }
}

void reset_failures() {
  value.clear();
  rules.clear();
  counts.clear();
}

}  // namespace emu
