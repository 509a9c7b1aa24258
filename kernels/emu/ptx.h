// ptx.h: what the emulator reads of a PTX file: requirements on device and driver, and entries.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace emu {

struct PtxParam {
  unsigned size;
  bool real;  // .f32 or .f64
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParam> params;
  unsigned max_threads = 1024;  // .maxntid or .reqntid
  unsigned static_shared = 0;   // bytes
};

struct Ptx {
  int version = 0;       // 84 for 8.4
  int target = 0;        // 80 for sm_80
  bool exact = false;    // sm_90a: runs on that compute capability only
  std::map<std::string, PtxEntry> entries;
};

// read_ptx returns an empty string, or what is wrong with the PTX.
std::string read_ptx(const std::string& text, Ptx* out);

// Returns the least driver version, in the format of cuDriverGetVersion, that reads this PTX version.
int driver_for(int ptx_version);

}  // namespace emu
