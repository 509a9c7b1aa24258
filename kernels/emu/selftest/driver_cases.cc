// driver_cases.cc: tests of the emulator's driver: refused calls, deferred work, injected failures.
#include <cstdlib>
#include <cstring>
#include <thread>

#include "cases.h"

namespace test {
namespace {

constexpr Host::Shape kOne = {{1, 1, 1}, {64, 1, 1}, 0};

// ---- contexts ----

void contexts(Host& host) {
  int code = 0;
  std::thread([&] { code = host.result("cuCtxSynchronize"); }).join();
  want("a thread without a context", code, 201);
  void *first, *made, *now;
  host.must("cuCtxGetCurrent", &first);
  host.must("cuCtxCreate_v2", &made, 0u, 0);
  host.must("cuCtxGetCurrent", &now);
  want("cuCtxCreate makes it current", now == made, 1);
  Address p;
  host.must("cuMemAlloc_v2", &p, (size_t)100);
  host.must("cuCtxPopCurrent_v2", &now);
  want("cuCtxPopCurrent", now == made, 1);
  host.must("cuCtxGetCurrent", &now);
  want("what was below", now == first, 1);
  host.must("cuCtxPushCurrent_v2", made);
  host.must("cuCtxPushCurrent_v2", made);
  host.must("cuCtxDestroy_v2", made);
  want("a destroyed context", host.result("cuCtxSynchronize"), 709);
  want("its leak", (long long)host.count("leaks"), 1);
  want("destroyed again", host.result("cuCtxDestroy_v2", made), 201);
  host.must("cuCtxSetCurrent", first);
  host.must("cuCtxSynchronize");
  want("a device that is not there", host.result("cuDevicePrimaryCtxRetain", &now, 1), 101);
  host.must("cuDevicePrimaryCtxRelease_v2", 0);
  want("the primary context, released", host.result("cuCtxSynchronize"), 709);
  want("released again", host.result("cuDevicePrimaryCtxRelease_v2", 0), 201);
}

void devices(Host& host) {
  Setting two("EMU_DEVICES", "2");
  Setting cc("EMU_CC", "90,80");
  Setting memory("EMU_MEM", "1000000,2000000");
  host.renew();
  int n, major;
  size_t bytes;
  host.must("cuDeviceGetCount", &n);
  want("devices", n, 2);
  for (int d = 0; d < 2; d++) {
    host.must("cuDeviceGetAttribute", &major, 75, d);
    want("compute capability", major, 9 - d);
    host.must("cuDeviceTotalMem_v2", &bytes, d);
    want("memory", (long long)bytes, 1000000 * (1 + d));
  }
  Address p = host.allocate(1024);
  void* other;
  host.must("cuDevicePrimaryCtxRetain", &other, 1);
  host.must("cuCtxSetCurrent", other);
  want("a copy into another device's memory", host.result("cuMemsetD8_v2", p, (unsigned char)0, (size_t)4), 1);
  void *module, *function;
  const char* ptx = ".version 8.4\n.target sm_80\n.visible .entry faults(.param .u32 a, .param .u64 b, .param .u32 c, .param .u64 d)\n{\n}\n";
  host.must("cuModuleLoadData", &module, (const void*)ptx);
  host.must("cuModuleGetFunction", &function, module, "faults");
  int kind = 17, zero = 0;
  void* args[] = {&kind, &p, &zero, &zero};
  host.must("cuLaunchKernel", function, 1u, 1u, 1u, 1u, 1u, 1u, 0u, (void*)nullptr, (void**)args, (void**)nullptr);
  want("a kernel on another device's memory", host.result("cuCtxSynchronize"), 700);
}

void threads(Host& host) {
  void* context;
  host.must("cuCtxGetCurrent", &context);
  std::vector<std::thread> all;
  std::vector<std::string> wrong(4);
  host.function("warps", "keep");  // loads the module before the threads need it
  for (int t = 0; t < 4; t++)
    all.emplace_back([&, t] {
      try {
        host.must("cuCtxSetCurrent", context);
        for (int round = 0; round < 20; round++) {
          Address p;
          host.must("cuMemAlloc_v2", &p, (size_t)4000);
          host.must("cuMemsetD32_v2", p, (unsigned)t, (size_t)1000);
          std::vector<unsigned> v(1000);
          host.must("cuMemcpyDtoH_v2", (void*)v.data(), p, (size_t)4000);
          if (v[999] != (unsigned)t) fail("%u", v[999]);
          host.must("cuMemFree_v2", p);
        }
      } catch (Failure& f) {
        wrong[t] = f.what();
      }
    });
  for (auto& t : all) t.join();
  for (auto& w : wrong)
    if (!w.empty()) fail("%s", w.c_str());
}

// ---- memory ----

void memory(Host& host) {
  Setting memory("EMU_MEM", "100000");
  Address p, q;
  want("0 bytes", host.result("cuMemAlloc_v2", &p, (size_t)0), 1);
  want("more than there is", host.result("cuMemAlloc_v2", &p, (size_t)100001), 2);
  host.must("cuMemAlloc_v2", &p, (size_t)60000);
  want("more than is left", host.result("cuMemAlloc_v2", &q, (size_t)60000), 2);
  size_t left, total;
  host.must("cuMemGetInfo_v2", &left, &total);
  want("total", (long long)total, 100000);
  want("left", (long long)left, 100000 - 60160);
  std::vector<unsigned> v = host.download<unsigned>(p, 15000);
  want("fresh memory", v[7], 0xffffffffu);
  char byte = 0;
  want("a copy past the end", host.result("cuMemcpyHtoD_v2", p + 60000, (const void*)&byte, (size_t)1), 1);
  want("a copy from past the end", host.result("cuMemcpyDtoH_v2", (void*)&byte, p + 60000, (size_t)1), 1);
  want("a misaligned fill", host.result("cuMemsetD32_v2", p + 2, 0u, (size_t)1), 1);
  Address begin;
  size_t size;
  host.must("cuMemGetAddressRange_v2", &begin, &size, p + 17);
  want("address range", begin == p && size == 60000, 1);
  want("free of its middle", host.result("cuMemFree_v2", p + 16), 1);
  host.must("cuMemFree_v2", p);
  want("free again", host.result("cuMemFree_v2", p), 1);
  want("use after free", host.result("cuMemsetD8_v2", p, (unsigned char)0, (size_t)1), 1);
  host.must("cuMemFree_v2", (Address)0);
  Setting odd("EMU_SEED", "1");
  p = host.allocate(8);
  want("fresh memory under an odd seed", host.download<unsigned>(p, 1)[0], 0xccccccccu);
}

void host_memory(Host& host) {
  void* p;
  Address d;
  host.must("cuMemHostAlloc", &p, (size_t)100, 3u);
  host.must("cuMemHostGetDevicePointer_v2", &d, p, 0u);
  host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 17, d, 0, 0ll));
  ((unsigned*)p)[0] = 0;
  want("a kernel that nothing has waited for", ((unsigned*)p)[0], 0);
  host.must("cuCtxSynchronize");
  want("mapped memory", ((unsigned*)p)[0], 1);
  want("not an allocation of the device", host.result("cuMemFree_v2", (Address)p), 1);
  host.must("cuMemFreeHost", p);
  want("freed again", host.result("cuMemFreeHost", p), 1);
  static unsigned own[64];
  want("not registered", host.result("cuMemHostGetDevicePointer_v2", &d, (void*)own, 0u), 1);
  host.must("cuMemHostRegister_v2", (void*)own, sizeof own, 0u);
  want("registered twice", host.result("cuMemHostRegister_v2", (void*)(own + 1), (size_t)8, 0u), 712);
  host.must("cuMemHostGetDevicePointer_v2", &d, (void*)(own + 1), 0u);
  {
    Setting race("EMU_RACE", "1");
    host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 17, d, 0, 0ll));
    host.must("cuCtxSynchronize");
  }
  want("registered memory", own[1], 1);
  host.must("cuMemHostUnregister", (void*)own);
  want("unregistered twice", host.result("cuMemHostUnregister", (void*)own), 713);
  Setting race("EMU_RACE", "1");
  host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 17, d, 0, 0ll));
  want("the host's own memory in a kernel", host.result("cuCtxSynchronize"), 700);
}

// ---- streams ----

void streams(Host& host) {
  void *s, *t, *event, *later, *pinned;
  host.must("cuStreamCreate", &s, 1u);
  host.must("cuStreamCreateWithPriority", &t, 1u, -1);
  host.must("cuEventCreate", &event, 0u);
  host.must("cuEventCreate", &later, 0u);
  host.must("cuMemHostAlloc", &pinned, (size_t)64, 0u);
  auto* words = (volatile unsigned*)pinned;
  Address p = host.allocate(64);
  words[0] = 1;
  host.must("cuMemcpyHtoDAsync_v2", p, (const void*)pinned, (size_t)64, s);
  words[0] = 2;  // too early: the copy has not started
  host.must("cuEventRecord", event, s);
  want("an event that has not come", host.result("cuEventQuery", event), 600);
  host.must("cuStreamWaitEvent", t, event, 0u);
  words[8] = 3;
  host.must("cuMemcpyDtoHAsync_v2", (void*)(words + 8), p, (size_t)4, t);
  want("a copy that nothing has waited for", words[8], 3);
  host.must("cuStreamSynchronize", t);
  want("the other stream's copy came first", words[8], 2);
  host.must("cuEventSynchronize", event);
  host.must("cuEventRecord", later, t);
  float ms;
  want("elapsed time before the end", host.result("cuEventElapsedTime", &ms, event, later), 600);
  host.must("cuEventSynchronize", later);
  host.must("cuEventElapsedTime", &ms, event, later);
  want("elapsed time", ms >= 0, 1);

  host.must("cuMemsetD8Async", p, (unsigned char)0, (size_t)64, s);
  host.must("cuMemsetD8Async", p, (unsigned char)7, (size_t)64, s);
  want("a stream at work", host.result("cuStreamQuery", s), 600);
  while (host.result("cuStreamQuery", s)) {
  }
  want("polled to the end", host.download<unsigned char>(p, 1)[0], 7);
  want("no stream", host.result("cuStreamSynchronize", (void*)event), 400);

  // A non-blocking stream does not wait for the null stream, a blocking one does.
  void* blocking;
  host.must("cuStreamCreate", &blocking, 0u);
  host.must("cuMemsetD8_v2", p, (unsigned char)9, (size_t)64);
  host.must("cuMemcpyDtoHAsync_v2", (void*)words, p, (size_t)4, s);
  host.must("cuMemcpyDtoHAsync_v2", (void*)(words + 8), p, (size_t)4, blocking);
  host.must("cuStreamSynchronize", s);
  want("not behind the null stream", words[0], 0x07070707);
  host.must("cuStreamSynchronize", blocking);
  want("behind the null stream", words[8], 0x09090909);

  host.must("cuMemsetD8Async", p, (unsigned char)1, (size_t)64, s);
  host.must("cuMemcpyDtoHAsync_v2", (void*)words, p, (size_t)4, s);
  host.must("cuStreamDestroy_v2", s);
  want("destroyed", host.result("cuStreamSynchronize", s), 400);
  want("its work is put off still", words[0], 0x07070707);
  host.must("cuCtxSynchronize");
  want("its work is done", words[0], 0x01010101);

  Setting eager("EMU_EAGER", "1");
  host.must("cuMemsetD8Async", p, (unsigned char)2, (size_t)64, t);
  host.must("cuMemcpyDtoHAsync_v2", (void*)words, p, (size_t)4, t);
  want("EMU_EAGER", words[0], 0x02020202);
}

// ---- modules and launches ----

void modules(Host& host) {
  const char* good = ".version 8.4\n.target sm_80\n.visible .entry sum(\n.param .u64 a,\n.param .u64 b, // a comment\n.param .u32 c)\n.maxntid 128, 1, 1\n{\n.shared .align 4 .b8 x[40000];\n}\n";
  struct {
    const char *what, *from, *to;
    int code;
  } changes[] = {
      {"as it is", "", "", 0},
      {"a width that differs", ".u32 c", ".u64 c", 218},
      {"a kind that differs", ".u32 c", ".f32 c", 218},
      {"a parameter less", ",\n.param .u64 b", "", 218},
      {"a newer version", "8.4", "8.9", 222},
      {"the driver's own version", "8.4", "8.8", 0},
      {"a newer target", "sm_80", "sm_90", 218},
      {"another target exactly", "sm_80", "sm_75a", 218},
      {"an older target", "sm_80", "sm_70", 0},
      {"no target", ".target sm_80", "", 218},
      {"not PTX", ".version 8.4", "", 200},
  };
  for (auto& c : changes) {
    std::string ptx = good;
    if (*c.from) ptx.replace(ptx.find(c.from), strlen(c.from), c.to);
    void* module;
    char log[200] = "";
    int options[] = {5, 6};
    void* values[] = {log, (void*)sizeof log};
    want(c.what, host.result("cuModuleLoadDataEx", &module, (const void*)ptx.c_str(), 2u, (int*)options, (void**)values), c.code);
    want("a log if it fails", *log != 0, c.code != 0);
  }
  void *module, *f;
  const char* assembled = "\x7f" "ELF";
  want("assembled code", host.result("cuModuleLoadData", &module, (const void*)assembled), 200);
  {
    Setting jit("CUDA_FORCE_PTX_JIT", "1");
    want("assembled code where PTX is compiled", host.result("cuModuleLoadData", &module, (const void*)assembled), 209);
    want("PTX where PTX is compiled", host.result("cuModuleLoadData", &module, (const void*)good), 0);
  }
  host.must("cuModuleLoadData", &module, (const void*)good);
  want("an entry that is not there", host.result("cuModuleGetFunction", &f, module, "keep"), 500);
  host.must("cuModuleGetFunction", &f, module, "sum");
  int value;
  host.must("cuFuncGetAttribute", &value, 0, f);
  want("threads a block", value, 128);
  host.must("cuFuncGetAttribute", &value, 1, f);
  want("static shared memory", value, 40000);
  auto launch = [&](unsigned threads, unsigned dynamic, void** params, void** extra) {
    return host.result("cuLaunchKernel", f, 1u, 1u, 1u, threads, 1u, 1u, dynamic, (void*)nullptr, params, extra);
  };
  Address p = host.upload(std::vector<float>(256));
  int n = 256;
  void *args[] = {&p, &p, &n}, *gap[] = {&p, nullptr, &n};
  want("no threads", launch(0, 0, args, nullptr), 1);
  want("more than __launch_bounds__", launch(129, 0, args, nullptr), 1);
  want("an argument too few", launch(128, 0, gap, nullptr), 1);
  want("48 KB with the static ones", launch(128, 49152 - 40000, args, nullptr), 0);
  want("more than 48 KB", launch(128, 49153 - 40000, args, nullptr), 1);
  want("more than the device has", host.result("cuFuncSetAttribute", f, 8, 163 * 1024 - 40000 + 1), 1);
  host.must("cuFuncSetAttribute", f, 8, 163 * 1024 - 40000);
  want("as much as it has", launch(128, 163 * 1024 - 40000, args, nullptr), 0);
  struct {
    Address a, b;
    int n;
  } packed = {p, p, n};
  size_t size = sizeof packed - 4;
  void* extra[] = {(void*)1, &packed, (void*)2, &size, nullptr};
  want("arguments in one buffer", launch(128, 0, nullptr, extra), 0);
  size = 16;
  want("a buffer too small", launch(128, 0, nullptr, extra), 1);
  host.must("cuModuleUnload", module);
  want("a function of a module that is gone", launch(128, 0, args, nullptr), 400);
}

// ---- injected failures ----

void failures(Host& host) {
  Address p;
  {
    Setting fail("EMU_FAIL", "cuMemAlloc:2,cuMemsetD8:1:999,cuCtxSynchronize:3+:1");
    host.must("cuMemAlloc_v2", &p, (size_t)4);
    want("the second allocation", host.result("cuMemAlloc_v2", &p, (size_t)4), 2);
    host.must("cuMemAlloc_v2", &p, (size_t)4);
    want("a fill", host.result("cuMemsetD8_v2", p, (unsigned char)0, (size_t)4), 999);
    int codes[4];
    for (int& c : codes) c = host.result("cuCtxSynchronize");
    want("from the third on", codes[0] == 0 && codes[1] == 0 && codes[2] == 1 && codes[3] == 1, 1);
  }
  {
    Setting fail("EMU_FAIL", "kernel faults:2");
    for (int i = 0; i < 2; i++) host.check("cuLaunchKernel", host.launch(kOne, "warps", "faults", 17, p, 0, 0ll));
    want("the second kernel", host.result("cuCtxSynchronize"), 719);
    want("and all that follows", host.result("cuMemAlloc_v2", &p, (size_t)4), 719);
  }
  host.renew();
  {
    Setting fail("EMU_FAIL", "cuMemcpyDtoH:1:46");
    p = host.allocate(4);
    char c[4];
    want("a device that is lost", host.result("cuMemcpyDtoH_v2", (void*)c, p, (size_t)4), 46);
    want("stays lost", host.result("cuMemcpyDtoH_v2", (void*)c, p, (size_t)4), 46);
  }
  host.renew();
  want("cuArrayCreate", host.result("cuArrayCreate_v2"), 801);
}

// CUDA_KERNEL_NODE_PARAMS.
struct Node {
  void* function;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, dynamic = 0;
  void **params, **extra = nullptr;
  void *kernel = nullptr, *context = nullptr;
};

void graphs(Host& host) {
  host.renew();
  Address p = host.allocate(4);
  unsigned word = 0, got;
  host.must("cuMemcpyHtoD_v2", p, (const void*)&word, sizeof word);
  void *graph, *exec, *first, *second, *module, *function;
  const char* ptx = ".version 8.4\n.target sm_80\n.visible .entry faults(.param .u32 a, .param .u64 b, .param .u32 c, .param .u64 d)\n{\n}\n";
  host.must("cuModuleLoadData", &module, (const void*)ptx);
  host.must("cuModuleGetFunction", &function, module, "faults");
  int kind = 17, zero = 0;  // writes 1
  long long none = 0;
  void* args[] = {&kind, &p, &zero, &none};
  Node node{function};
  node.params = args;
  host.must("cuGraphCreate", &graph, 0u);
  host.must("cuGraphAddKernelNode_v2", &first, graph, (void* const*)nullptr, (size_t)0, (const void*)&node);
  want("a second node that waits for none", host.result("cuGraphAddKernelNode_v2", &second, graph, (void* const*)nullptr, (size_t)0, (const void*)&node), 801);
  host.must("cuGraphAddKernelNode_v2", &second, graph, (void* const*)&first, (size_t)1, (const void*)&node);
  want("a node that does not wait for the last", host.result("cuGraphAddKernelNode_v2", &second, graph, (void* const*)&first, (size_t)1, (const void*)&node), 801);
  node.block[0] = 2000;
  want("a block that is too large", host.result("cuGraphAddKernelNode_v2", &first, graph, (void* const*)&second, (size_t)1, (const void*)&node), 1);
  want("a graph that is not executable", host.result("cuGraphLaunch", graph, (void*)nullptr), 400);
  host.must("cuGraphInstantiateWithFlags", &exec, graph, 0ull);
  want("an executable graph as a graph", host.result("cuGraphDestroy", exec), 400);
  host.must("cuGraphDestroy", graph);
  want("a graph that was destroyed", host.result("cuGraphInstantiateWithFlags", &graph, graph, 0ull), 400);
  kind = -1;  // the nodes have copied it
  host.must("cuGraphLaunch", exec, (void*)nullptr);
  host.must("cuGraphLaunch", exec, (void*)nullptr);
  want("kernels before something waits", (long long)host.count("launches"), 0);
  host.must("cuMemcpyDtoH_v2", (void*)&got, p, sizeof got);
  want("what the kernels wrote", got, 1);
  want("kernels of two launches", (long long)host.count("launches"), 4);
  want("graph_launches", (long long)host.count("graph_launches"), 2);
  want("graphs", (long long)host.count("graphs"), 1);
  host.must("cuModuleUnload", module);
  want("kernels that were unloaded", host.result("cuGraphLaunch", exec, (void*)nullptr), 400);
  host.must("cuGraphExecDestroy", exec);
  want("destroyed again", host.result("cuGraphExecDestroy", exec), 400);
}

void counters(Host& host) {
  host.renew();
  Address p = host.allocate(100);
  host.check("cuLaunchKernel", host.launch({{3, 2, 1}, {64, 1, 1}, 0}, "warps", "faults", 17, p, 0, 0ll));
  host.must("cuCtxSynchronize");
  want("launches", (long long)host.count("launches"), 1);
  want("blocks", (long long)host.count("blocks"), 6);
  want("allocations", (long long)host.count("allocations"), 1);
  want("bytes", (long long)host.count("bytes"), 100);
  want("modules", (long long)host.count("modules"), 1);
  want("waits", (long long)host.count("waits"), 1);
  want("emu_reset counts what was left", (long long)host.call<unsigned long long()>("emu_reset")(), 1);
  want("nothing is left", (long long)host.count("allocations"), 0);
  want("no counter of that name", (long long)host.count("nothing"), -1);
}

}  // namespace

const std::vector<Case> driver_cases = {
    {"contexts", contexts}, {"devices", devices}, {"threads", threads}, {"memory", memory},
    {"host_memory", host_memory}, {"streams", streams}, {"modules", modules}, {"graphs", graphs}, {"failures", failures}, {"counters", counters},
};

}  // namespace test
