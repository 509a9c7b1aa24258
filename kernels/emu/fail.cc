#include "fail.h"

#include <unistd.h>

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

// Rules are what a variable names, and how often each name was called since it has this value.
struct Rules {
  const char* variable;
  std::string value;
  std::vector<Rule> all;
  std::map<std::string, unsigned long long> counts;

  void forget() {
    value.clear();
    all.clear();
    counts.clear();
  }
};

Rules failures = {"EMU_FAIL", {}, {}, {}}, hangs = {"EMU_HANG", {}, {}, {}};

int default_code(const std::string& name) {
  if (name.find("Alloc") != std::string::npos) return 2;
  return name.compare(0, 6, "kernel") == 0 ? 719 : 999;
}

void parse(Rules* rules, const std::string& value) {
  rules->forget();
  rules->value = value;
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
    rules->all.push_back(r);
  }
}

// Returns the rule for this call of `name`, if there is one.
const Rule* rule_for(Rules* rules, const char* name) {
  std::string now = setting(rules->variable, "");
  if (now != rules->value) parse(rules, now);
  if (rules->all.empty()) return nullptr;
  unsigned long long n = ++rules->counts[name];
  for (const Rule& r : rules->all)
    if (r.name == name && (n == r.from || (r.onward && n > r.from))) return &r;
  return nullptr;
}

}  // namespace

int injected_failure(const char* name) {
  if (rule_for(&hangs, name))
    for (;;) pause();  // a signal handler's return ends it
  const Rule* r = rule_for(&failures, name);
  return r ? r->code : 0;
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
  failures.forget();
  hangs.forget();
}

}  // namespace emu
