// fault_cases.cc: tests of the emulator's reports of faulty kernels, and of the orders in which it runs threads.
#include <string>

#include "cases.h"

namespace test {
namespace {

constexpr Host::Shape kOne = {{1, 1, 1}, {64, 1, 1}, 0};

struct Fault {
  int kind;
  const char* setting;  // of EMU_RACE
  int code;
  const char* says;     // a part of the report
};
constexpr Fault kFaults[] = {
    {0, "0", 700, "the end of 1024 bytes of memory of device 0, at warps.cu:"},
    {1, "0", 700, "something was written at 1 byte before 1024 bytes of memory of device 0"},
    {2, "0", 700, "write of 0x1000000000, no memory of a device"},
    {3, "0", 700, "byte 256 of 256 bytes of dynamic shared memory"},
    {4, "0", 719, "threads 0-31: __syncthreads at warps.cu"},
    {5, "0", 719, "divergent collective: "},
    {6, "0", 719, "is not in its mask ffff0000"},
    {7, "0", 715, "__trap at warps.cu"},
    {8, "0", 719, "lane 0 reads lane 20, which is not there"},
    {9, "0", 719, "waits for it"},
    {10, "0", 700, "is not in shared memory"},
    {11, "0", 716, "is not a multiple of 16"},
    {12, "0", 719, "mma_m16n8k8_tf32 by part of a warp (lanes 0000ffff) at warps.cu"},
    {20, "0", 719, "stack overflow at warps.cu"},
    {22, "0", 719, "divergent collective: __syncwarp at warps.cu"},
    {0, "1", 700, "the end of 1024 bytes"},
    {2, "1", 700, "no memory of a device"},
    {3, "1", 700, "byte 256 of 256 bytes of dynamic shared memory"},
    {13, "2", 719, "that nobody wrote"},
    {14, "1", 716, "not a multiple of that"},
    {15, "1", 719, "nothing orders the two"},
    {16, "1", 719, "nothing orders the two"},
    {19, "1", 719, "nothing orders the two"},
};
constexpr int kNoFaults[] = {13, 17, 18, 23};  // for EMU_RACE=1

void faults(Host& host) {
  for (const Fault& f : kFaults) {
    Setting race("EMU_RACE", f.setting);
    host.renew();
    Address p = host.upload(std::vector<unsigned>(256));
    int n = f.kind == 3 ? 64 : f.kind == 0 ? 256 : 0;
    Host::Shape shape = {{1, 1, 1}, {64, 1, 1}, 256};
    host.check("cuLaunchKernel", host.launch(shape, "warps", "faults", f.kind, p, n, 0x1000000000ll));
    int code = host.result("cuCtxSynchronize");
    std::string said = host.last_fault();
    if (code != f.code || said.find(f.says) == std::string::npos) fail("fault %d: %d, \"%s\", not %d, \"%s\"", f.kind, code, said.c_str(), f.code, f.says);
    want("the context is lost", host.result("cuCtxSynchronize"), f.code);
    Address q;
    want("also for allocation", host.result("cuMemAlloc_v2", &q, (size_t)4), f.code);
  }
  for (int kind : kNoFaults) {
    Setting race("EMU_RACE", "1");
    host.renew();
    Address p = host.upload(std::vector<unsigned>(256));
    host.check("cuLaunchKernel", host.launch({{1, 1, 1}, {64, 1, 1}, 256}, "warps", "faults", kind, p, 0, 0ll));
    host.must("cuCtxSynchronize");
  }
  {
    Setting race("EMU_RACE", "1");
    Setting order("EMU_SEED", "1");  // fault 15 with the reader first
    Address p = host.upload(std::vector<unsigned>(256));
    host.check("cuLaunchKernel", host.launch({{1, 1, 1}, {64, 1, 1}, 256}, "warps", "faults", 15, p, 0, 0ll));
    want("a write after a read", host.result("cuCtxSynchronize"), 719);
    if (host.last_fault().find("it writes") == std::string::npos || host.last_fault().find("read it at") == std::string::npos) fail("%s", host.last_fault().c_str());
    host.renew();
  }
  for (const char* seed : {"0", "1", "3"}) {
    Setting order("EMU_SEED", seed);
    Address p = host.upload(std::vector<unsigned>(256));
    host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 21, p, 0, 0ll));
    want("a ballot after lanes have returned", host.download<unsigned>(p, 1)[0], 0xffff);
  }
}

void stray_write(Host& host) {
  // Writes within the page of a small allocation do not fault; the canary detects them.
  Address p = host.upload(std::vector<unsigned>(3));
  host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 0, p, 3, 0ll));
  want("cuCtxSynchronize", host.result("cuCtxSynchronize"), 700);
  if (host.last_fault().find("the end of 12 bytes") == std::string::npos) fail("%s", host.last_fault().c_str());
  host.renew();
  p = host.allocate(1024);
  host.must("cuMemFree_v2", p);
  host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 16, p, 0, 0ll));
  want("cuCtxSynchronize", host.result("cuCtxSynchronize"), 700);
  if (host.last_fault().find("which has been freed") == std::string::npos) fail("%s", host.last_fault().c_str());
}

// A later block may read what an earlier one wrote if both use a fence.
void fences(Host& host) {
  Setting race("EMU_RACE", "1");
  for (int both : {1, 0}) {
    host.renew();
    Address p = host.upload(std::vector<unsigned>(2));
    host.check("cuLaunchKernel", host.launch({{2, 1, 1}, {64, 1, 1}, 0}, "warps", "faults", 24, p, both, 0ll));
    want(both ? "a fence on both sides" : "no fence by the reader", host.result("cuCtxSynchronize"), both ? 0 : 719);
  }
}

// The order in which 192 threads of three blocks reach one atomic.
std::vector<unsigned> arrivals(Host& host, const char* seed) {
  Setting order("EMU_SEED", seed);
  Address count = host.upload(std::vector<unsigned>(12)), rest = host.upload(std::vector<unsigned>(64)), old = host.allocate(192 * 4);
  host.check("cuLaunchKernel", host.launch({{3, 1, 1}, {64, 1, 1}, 0}, "words", "atomics", rest, count, rest, rest, rest, old));
  return host.download<unsigned>(old, 192);
}

void schedules(Host& host) {
  std::vector<unsigned> up = arrivals(host, "0"), down = arrivals(host, "1"), mixed = arrivals(host, "2");
  for (unsigned t = 1; t < 192; t++)
    if (up[t] <= up[t - 1] || down[t] >= down[t - 1]) fail("seeds 0 and 1: thread %u came out of turn", t);
  want("seed 2 is another order", mixed != up && mixed != down, 1);
  want("the same order again", arrivals(host, "2") == mixed, 1);
  want("seed 4 is yet another", arrivals(host, "4") != mixed, 1);
}

}  // namespace

const std::vector<Case> fault_cases = {
    {"faults", faults}, {"stray_write", stray_write}, {"fences", fences}, {"schedules", schedules},
};

}  // namespace test
