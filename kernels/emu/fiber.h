// fiber.h: call stacks that the emulator switches between, one a CUDA thread.
#pragma once
#include <cstddef>

#if !defined(__x86_64__) || defined(EMU_UCONTEXT)
#include <ucontext.h>
#endif

namespace emu {

// Stack is a parked call stack.
struct Stack {
#if defined(__x86_64__) && !defined(EMU_UCONTEXT)
  void* top = nullptr;  // its stack pointer; the callee-saved registers lie above
#else
  ucontext_t context = {};
#endif
};

// prepare makes switching to stack call entry, which must not return, on the memory [low, low + size).
void prepare(Stack* stack, char* low, size_t size, void (*entry)());

// switch_stack parks the caller in *from and takes up *to.
void switch_stack(Stack* from, Stack* to);

// fiber_memory is the memory of the i-th fiber's stack, i below 1024, kept for the life of the process.
// An unmapped page lies below each. Pages come on first touch.
struct StackMemory {
  char* low;
  size_t size;
};
StackMemory fiber_memory(unsigned i);
// Whether p points into any fiber's stack.
bool in_fiber_memory(const void* p);

}  // namespace emu
