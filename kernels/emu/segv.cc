#include "segv.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "block.h"
#include "grid.h"
#include "memory.h"
#include "symbol.h"

namespace emu {
namespace {

std::atomic<long> kernel_thread;
struct sigaction previous[2];  // SIGSEGV, SIGBUS

// Set by the handler for `land`.
void *fault_address, *fault_pc;
bool fault_known, fault_write;

// Runs at the top of the fiber's stack and discards its frames.
[[noreturn]] void land() {
  std::string where = source_line(fault_pc), what;
  if (!fault_known) {
    trap(kMisalignedAddress, {nullptr, 0}, "misaligned or wild address at %s", where.c_str());
  }
  if (in_fiber_memory(fault_address)) trap(kLaunchFailed, {nullptr, 0}, "stack overflow at %s", where.c_str());
  std::string at = describe_shared(fault_address);
  if (at.empty()) at = describe((Address)fault_address);
  trap(kIllegalAddress, {nullptr, 0}, "%s of %p, %s, at %s", fault_write ? "write" : "read", fault_address, at.c_str(), where.c_str());
}

void handle(int signal, siginfo_t* info, void* context) {
  if (kernel_thread.load() != syscall(SYS_gettid) || !self) {
    const struct sigaction& old = previous[signal == SIGBUS];
    if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, context);
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
    sigaction(signal, &old, nullptr);  // the access is repeated and ends the process
    return;
  }
  auto* uc = (ucontext_t*)context;
  StackMemory memory = fiber_memory(self->rank);
  uintptr_t top = ((uintptr_t)memory.low + memory.size) & ~(uintptr_t)63;
  fault_address = info->si_addr;
  fault_known = info->si_code > 0 && info->si_code != SI_KERNEL;  // a general-protection fault has no address
#if defined(__x86_64__)
  fault_pc = (void*)uc->uc_mcontext.gregs[REG_RIP];
  fault_write = uc->uc_mcontext.gregs[REG_ERR] & 2;
  uc->uc_mcontext.gregs[REG_RSP] = (greg_t)(top - 8);
  uc->uc_mcontext.gregs[REG_RIP] = (greg_t)land;
#elif defined(__aarch64__)
  fault_pc = (void*)uc->uc_mcontext.pc;
  uc->uc_mcontext.sp = top;
  uc->uc_mcontext.pc = (uintptr_t)land;
#endif
}

}  // namespace

KernelRunning::KernelRunning() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction sa = {};
    sa.sa_sigaction = handle;
    sa.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&sa.sa_mask);  // required by Go's handler, which may be called from ours
    sigaction(SIGSEGV, &sa, &previous[0]);
    sigaction(SIGBUS, &sa, &previous[1]);
  });
  // After a stack overflow the handler needs a stack of its own. Go's threads have one for signals, others may not.
  stack_t stack;
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
    static char memory[64 << 10];
    stack = {};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    own_stack_ = sigaltstack(&stack, nullptr) == 0;
  }
  kernel_thread = syscall(SYS_gettid);
}

KernelRunning::~KernelRunning() {
  kernel_thread = 0;
  if (!own_stack_) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace emu
