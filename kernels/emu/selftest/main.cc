// selftest LIBRARY [PTX]: runs the tests against a CUDA driver library and prints a line for each that fails; the exit
// status is 1 if any did. With the emulator all tests run, under several schedules, with and without the checker, and with
// the mutants. With another driver only the tests of kernels run, from the PTX files in the folder PTX, which NVRTC compiles
// from the .cu files here: so inline PTX is compared with the same plain C++ as its emulation.
//
// selftest --bench LIBRARY times the emulator on 328 million multiply-adds, in processor seconds.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "cases.h"
#include "mutants.h"

namespace {

using namespace test;

constexpr int kSeeds = 6;

// Returns the reason why a case fails, empty if it passes.
std::string why(Host& host, const Case& c) {
  try {
    c.run(host);
    return "";
  } catch (const Failure& f) {
    return f.what();
  }
}

int failures;
void report(const std::string& what, const std::string& reason) {
  if (reason.empty()) return;
  failures++;
  printf("FAIL %s: %s\n", what.c_str(), reason.c_str());
}

void set(const char* name, int value) { setenv(name, std::to_string(value).c_str(), 1); }

void run_everywhere(Host& host, const Case& c) {
  for (int race = 0; race < 3; race++)
    for (int seed = 0; seed < kSeeds; seed++) {
      set("EMU_RACE", race);
      set("EMU_SEED", seed);
      std::string reason = why(host, c);
      report(text("%s, EMU_SEED=%d EMU_RACE=%d", c.name, seed, race), reason);
      if (!reason.empty()) host.renew();
    }
  unsetenv("EMU_RACE");
  unsetenv("EMU_SEED");
  setenv("EMU_MMA", "truncate", 1);
  report(text("%s, EMU_MMA=truncate", c.name), why(host, c));
  unsetenv("EMU_MMA");
}

const Case& find_case(const char* name) {
  for (const Case& c : kernel_cases)
    if (!strcmp(c.name, name)) return c;
  fail("no case %s", name);
}

// Returns under how many of the seeds the case fails.
int caught(Host& host, const Mutant& m, int race) {
  int n = 0;
  set("EMU_RACE", race);
  for (int seed = 0; seed < 4; seed++) {
    set("EMU_SEED", seed);
    host.renew();
    n += !why(host, find_case(m.test)).empty();
  }
  unsetenv("EMU_RACE");
  unsetenv("EMU_SEED");
  return n;
}

void run_mutant(Host& host, const Mutant& m, bool verbose) {
  std::string name = text("%s:%d", m.unit, m.number);
  setenv("EMU_MUTANT", name.c_str(), 1);
  int plain = caught(host, m, 0), checked = caught(host, m, 1);
  unsetenv("EMU_MUTANT");
  host.renew();
  if (verbose) printf("%-9s seen under %d of 4 seeds, by the checker under %d: %s\n", name.c_str(), plain, checked, m.what);
  if (!m.checker && !plain) report("mutant " + name, text("not seen under any seed: %s", m.what));
  if (m.checker && checked < 4) report("mutant " + name, text("not seen by the checker under %d seeds: %s", 4 - checked, m.what));
  if (m.checker && plain) report("mutant " + name, text("seen without the checker: %s", m.what));
}

void bench(Host& host) {
  int m = 20032, n = 64, k = 256;
  std::vector<unsigned char> a((size_t)m * k, 3), b((size_t)n * k, 5);
  Address A = host.upload(a), B = host.upload(b), C = host.allocate((size_t)m * n * 4);
  std::vector<float> fa((size_t)m * k, 0.5f), fb((size_t)n * k, 0.25f);
  Address FA = host.upload(fa), FB = host.upload(fb);
  Host::Shape shape = {{(unsigned)m / 64, (unsigned)n / 64, 1}, {128, 1, 1}, 4 * 64 * 80};
  for (const char* kernel : {"gemm_s8", "gemm_bf16", "gemm_tf32"}) {
    bool bytes = !strcmp(kernel, "gemm_s8");
    for (int race = 0; race < 2; race++) {
      set("EMU_RACE", race);
      clock_t begin = clock();
      host.check("cuLaunchKernel", host.launch(shape, "tiles", kernel, bytes ? A : FA, bytes ? B : FB, C, m, n, k));
      host.must("cuCtxSynchronize");
      printf("%s, EMU_RACE=%d: %.3g s\n", kernel, race, (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
  }
}

int run(int argc, char** argv) {
  bool timing = argc > 1 && !strcmp(argv[1], "--bench"), verbose = argc > 1 && !strcmp(argv[1], "-v");
  int first = timing || verbose ? 2 : 1;
  if (argc <= first) {
    fprintf(stderr, "usage: selftest [-v | --bench] LIBRARY [PTX]\n");
    return 2;
  }
  Host host(argv[first], argc > first + 1 ? argv[first + 1] : "");
  if (timing) return bench(host), 0;
  bool emulated = host.has("emu_reset");
  for (const auto* list : {&word_cases, &kernel_cases})
    for (const Case& c : *list) emulated ? run_everywhere(host, c) : report(c.name, why(host, c));
  if (emulated) {
    for (const auto* list : {&fault_cases, &driver_cases})
      for (const Case& c : *list) {
        host.renew();
        report(c.name, why(host, c));
      }
    host.renew();
    for (const Mutant& m : mutants) run_mutant(host, m, verbose);
  }
  if (failures) return 1;
  size_t kernels = kernel_cases.size() + word_cases.size();
  if (emulated)
    printf("%zu kernel tests under %d seeds, %zu of faults, %zu of the driver, %zu mutants seen\n", kernels, kSeeds, fault_cases.size(), driver_cases.size(),
           mutants.size());
  else
    printf("%zu kernel tests hold\n", kernels);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    printf("FAIL %s\n", e.what());
    return 1;
  }
}
