// segv.h: turns a kernel's access to unmapped memory into a fault of that kernel.
#pragma once

namespace emu {

// KernelRunning marks the calling OS thread as the one that runs a kernel, for as long as it lives: a
// SIGSEGV or SIGBUS there is the kernel's. Any other goes to the handler that the process had before,
// which matters where the process is Go's.
class KernelRunning {
 public:
  KernelRunning();
  ~KernelRunning();
  KernelRunning(const KernelRunning&) = delete;

 private:
  bool own_stack_ = false;  // signals come on our stack, not on one that the thread had
};

}  // namespace emu
