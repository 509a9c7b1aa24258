// segv.h: turns a kernel's access to unmapped memory into a fault of that kernel.
#pragma once

namespace emu {

// KernelRunning marks the calling OS thread as running a kernel during its lifetime: a SIGSEGV or SIGBUS on that thread is
// the kernel's. Others go to the handler that the process had before, such as the Go runtime's.
class KernelRunning {
 public:
  KernelRunning();
  ~KernelRunning();
  KernelRunning(const KernelRunning&) = delete;

 private:
  bool own_stack_ = false;  // the signal stack is ours, not one that the thread had
};

}  // namespace emu
