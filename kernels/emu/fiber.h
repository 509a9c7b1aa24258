// fiber.h: call stacks that the emulator switches between, one for each CUDA thread.
#pragma once
#include <cstddef>

#if !defined(__x86_64__) || defined(EMU_UCONTEXT)
#include <ucontext.h>
#endif

namespace emu {

// Stack is a suspended call stack.
struct Stack {
#if defined(__x86_64__) && !defined(EMU_UCONTEXT)
  void* top = nullptr;  // stack pointer; the callee-saved registers are above it
#else
  ucontext_t context = {};
#endif
};

// prepare sets up a stack in [low, low + size): switching to it calls entry, which must not return.
void prepare(Stack* stack, char* low, size_t size, void (*entry)());

// switch_stack suspends the caller in *from and resumes *to.
void switch_stack(Stack* from, Stack* to);

// fiber_memory returns the memory of the i-th fiber's stack, i below 1024, which lives as long as the process. An unmapped
// page is below each. Pages are allocated on first access.
struct StackMemory {
  char* low;
  size_t size;
};
StackMemory fiber_memory(unsigned i);
// Returns whether p points into any fiber's stack.
bool in_fiber_memory(const void* p);

}  // namespace emu
