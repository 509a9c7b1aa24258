#include "ptx.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

#include "text.h"

namespace emu {
namespace {

// Splits PTX into words: names, directives and numbers, and single other characters; comments are skipped.
std::vector<std::string> words(const std::string& s) {
  std::vector<std::string> out;
  auto inner = [](char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%'; };
  for (size_t i = 0; i < s.size();) {
    if (isspace((unsigned char)s[i])) {
      i++;
    } else if (s.compare(i, 2, "//") == 0) {
      while (i < s.size() && s[i] != '\n') i++;
    } else if (s.compare(i, 2, "/*") == 0) {
      size_t end = s.find("*/", i + 2);
      i = end == std::string::npos ? s.size() : end + 2;
    } else if (inner(s[i])) {
      size_t begin = i;
      while (i < s.size() && inner(s[i])) i++;
      out.push_back(s.substr(begin, i - begin));
    } else {
      out.push_back(std::string(1, s[i++]));
    }
  }
  return out;
}

// Returns the bytes of a type such as .u32, .f64 or .b8; 0 if it is not a type.
unsigned type_size(const std::string& w) {
  if (w.size() < 3 || w[0] != '.' || !strchr("usfb", w[1])) return 0;
  int bits = atoi(w.c_str() + 2);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (unsigned)bits / 8 : 0;
}

class Reader {
 public:
  Reader(std::vector<std::string> words, Ptx* out) : words_(std::move(words)), out_(out) {}

  std::string read() {
    for (at_ = 0; at_ < words_.size(); at_++) {
      const std::string& w = words_[at_];
      if (w == ".version") read_version(next());
      else if (w == ".target") read_target(next());
      else if (w == ".entry") read_entry();
      else if (w == ".shared") read_shared();
    }
    if (!out_->version) return "it has no .version";
    if (!out_->target) return "it has no .target sm_NN";
    for (auto& [entry, bytes] : shared_) out_->entries[entry].static_shared = bytes;
    return "";
  }

 private:
  std::string next() { return at_ + 1 < words_.size() ? words_[++at_] : ""; }
  const std::string& peek() const {
    static const std::string none;
    return at_ + 1 < words_.size() ? words_[at_ + 1] : none;
  }

  void read_version(const std::string& w) {
    size_t dot = w.find('.');
    if (dot != std::string::npos) out_->version = 10 * atoi(w.c_str()) + atoi(w.c_str() + dot + 1);
  }

  void read_target(const std::string& w) {
    if (w.compare(0, 3, "sm_") != 0) return;
    out_->target = atoi(w.c_str() + 3);
    out_->exact = !isdigit((unsigned char)w.back());
  }

  // name ( .param .u64 name , .param .align 8 .b8 name[16] ) .maxntid 256, 1, 1 {
  void read_entry() {
    PtxEntry e;
    e.name = current_ = next();
    while (at_ + 1 < words_.size() && peek() != "{" && peek() != ";") {
      std::string w = next();
      if (w == ".param") {
        e.params.push_back({0, false});
      } else if (w == ".align") {
        next();
      } else if (unsigned size = type_size(w); size && !e.params.empty() && !e.params.back().size) {
        e.params.back() = {size, w[1] == 'f'};
      } else if (w == "[" && !e.params.empty()) {
        e.params.back().size *= (unsigned)atoi(next().c_str());
      } else if (w == ".maxntid" || w == ".reqntid") {
        e.max_threads = (unsigned)atoi(next().c_str());
        while (peek() == ",") {
          next();
          e.max_threads *= (unsigned)atoi(next().c_str());
        }
      }
    }
    out_->entries[e.name] = e;
  }

  // .shared .align 4 .b8 name[1024]; a variable of an entry has the entry's name in its own (_ZZ8slab_f32E1A)
  // or is declared in its body.
  void read_shared() {
    unsigned size = 0;
    std::string name;
    while (at_ + 1 < words_.size() && peek() != ";") {
      std::string w = next();
      if (w == ".align") next();
      else if (unsigned bytes = type_size(w)) size = bytes;
      else if (w == "[") size *= (unsigned)atoi(next().c_str());
      else if (w != "]") name = w;
    }
    if (name.compare(0, 3, "_ZZ") == 0) {
      unsigned length = (unsigned)atoi(name.c_str() + 3);
      size_t digits = 3;
      while (digits < name.size() && isdigit((unsigned char)name[digits])) digits++;
      shared_[name.substr(digits, length)] += size;
    } else if (!current_.empty()) {
      shared_[current_] += size;
    }
  }

  std::vector<std::string> words_;
  size_t at_ = 0;
  Ptx* out_;
  std::string current_;                     // entry whose body is being read
  std::map<std::string, unsigned> shared_;  // bytes by entry
};

}  // namespace

std::string read_ptx(const std::string& text, Ptx* out) {
  *out = {};
  return Reader(words(text), out).read();
}

int driver_for(int v) {
  if (v >= 90) return 13000 + 10 * (v - 90);
  if (v >= 80) return 12000 + 10 * (v - 80);
  return 11000 + 10 * (v > 70 ? v - 70 : 0);
}

}  // namespace emu
