// driver.h: the objects behind the driver's handles, and the prologue of calls.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "counters.h"
#include "grid.h"
#include "memory.h"
#include "ptx.h"

#define EMU_API extern "C" __attribute__((visibility("default")))

namespace emu {

// Result is CUresult; the names are cuda.h's without CUDA_ERROR_.
using Result = int;
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kLaunchOutOfResources = 701,
  kPrimaryContextActive = 708,
  kContextIsDestroyed = 709,
  kHostMemoryAlreadyRegistered = 712,
  kHostMemoryNotRegistered = 713,
  kNotSupported = 801,
  kUnknown = 999,
};

struct Context;

// Stream holds enqueued work that nothing has waited for yet. Work is numbered from 1.
struct Stream {
  Context* context;
  bool blocking;  // ordered with the context's null stream
  int priority;
  std::deque<std::function<void()>> work;
  unsigned long long queued = 0, done = 0;
  bool busy = false;
};

struct Event {
  Context* context;
  bool timing;
  std::shared_ptr<Stream> stream;  // where it was last recorded; null if never
  unsigned long long number = 0;   // of the recording work in that stream
  double ms = 0;                   // when the stream reached it
};

struct Function {
  PtxEntry entry;
  unsigned max_dynamic;  // limit of a launch's dynamic shared memory, in bytes
};

// Graph holds kernels that each wait for the one before. An executable one is a copy.
struct Graph {
  bool executable;
  std::vector<const Function*> functions;
  std::vector<Launch> launches;  // of these
};

struct Module {
  Context* context;
  Ptx ptx;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct Context {
  int device;
  bool primary;
  unsigned flags;
  Result lost = kSuccess;  // the fault that ended the context; every later call returns it
  std::shared_ptr<Stream> null_stream;
  std::vector<std::shared_ptr<Stream>> streams;  // all other streams, including destroyed ones with unfinished work
  std::map<void*, std::shared_ptr<Stream>> stream_handles;
  std::map<void*, std::shared_ptr<Event>> events;
  std::map<void*, std::unique_ptr<Module>> modules;
  std::map<void*, std::unique_ptr<Graph>> graphs;
};

// Driver is the state of the driver. Every call holds its lock.
struct Driver {
  std::mutex mutex;
  bool initialized = false;
  std::set<Context*> contexts;
  std::map<int, Context*> primary;  // by device
  std::map<int, unsigned> retained; // references to the primary contexts
  std::map<int, unsigned> primary_flags;
  std::set<const Function*> functions;
  Counters counters;
  std::string last_fault;
};
Driver& driver();

// Returns the calling thread's contexts; the last is current.
std::vector<Context*>& context_stack();

int device_count();
int current_device();            // of the calling thread's context; 0 without one
size_t device_memory(int device);
size_t used_memory(int device);

Context* make_context(int device, bool primary, unsigned flags);
void destroy_context(Context* c);

// Returns the stream behind a handle; null if it is not a stream of c.
std::shared_ptr<Stream> find_stream(Context& c, void* handle);
// enqueue appends work to s, ordered after the work that the null stream's rules put before it.
void enqueue(const std::shared_ptr<Stream>& s, std::function<void()> work);
void run_until(Stream& s, unsigned long long number);
void run_all(Context& c);
// prepare_launch fills *out with a launch of f, or returns why it is refused.
Result prepare_launch(Context& c, const Function* f, dim3 grid, dim3 block, unsigned dynamic, void** params, void** extra, Launch* out);
void run_kernel(Context& c, const Launch& launch);
// fault ends c: the current call and all later ones return code.
void lose(Context& c, Result code, const std::string& why);

// refuse logs why the current call fails, and returns code.
Result refuse(Result code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// The prologue of a call takes the lock, and returns the code of EMU_FAIL if that names the call, or NOT_INITIALIZED before
// cuInit. in_context also requires a context on this thread that has not faulted, and returns the fault if the body causes
// one.
Result begin_call(const char* name, bool needs_init);
Result begin_context(Context** out);

template <class F>
Result in_driver(const char* name, F body) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  if (Result r = begin_call(name, true)) return r;
  return body();
}

template <class F>
Result in_context(const char* name, F body) {
  std::lock_guard<std::mutex> lock(driver().mutex);
  if (Result r = begin_call(name, true)) return r;
  Context* c;
  if (Result r = begin_context(&c)) return r;
  if (Result r = body(*c)) return r;
  return c->lost;
}

}  // namespace emu
