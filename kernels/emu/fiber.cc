#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace emu {
namespace {

constexpr unsigned kFibers = 1024;
constexpr size_t kPage = 4096;
// An odd number of pages, so that the stacks of a block spread over all sets of the cache of page translations.
constexpr size_t kStride = (256 << 10) + kPage;
// Offsets stacks, whose active ends would otherwise share few cache sets.
constexpr size_t kStagger = 448, kStaggers = 64;

char* base;  // null until the first fiber

char* arena() {
  if (!base) {
    void* p = mmap(nullptr, kStride * kFibers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
      perror("emu: stacks");
      abort();
    }
    for (unsigned i = 0; i < kFibers; i++) mprotect((char*)p + i * kStride, kPage, PROT_NONE);
    base = (char*)p;
  }
  return base;
}

}  // namespace

StackMemory fiber_memory(unsigned i) {
  return {arena() + i * kStride + kPage, kStride - kPage - i % kStaggers * kStagger};
}

bool in_fiber_memory(const void* p) { return (uintptr_t)p - (uintptr_t)base < kStride * kFibers; }

#if defined(__x86_64__) && !defined(EMU_UCONTEXT)

// Pushes the callee-saved registers, stores the stack pointer in *rdi, and switches to the one in rsi.
asm(".text\n.type emu_switch,@function\nemu_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size emu_switch,.-emu_switch\n");
extern "C" void emu_switch(void** save, void* to);

void prepare(Stack* stack, char* low, size_t size, void (*entry)()) {
  void** top = (void**)(((uintptr_t)low + size) & ~(uintptr_t)63);
  *--top = nullptr;  // entry's return address, so that rsp is 8 mod 16 there as after a call
  *--top = (void*)entry;
  for (int saved = 0; saved < 6; saved++) *--top = nullptr;
  stack->top = top;
}

void switch_stack(Stack* from, Stack* to) { emu_switch(&from->top, to->top); }

#else

void prepare(Stack* stack, char* low, size_t size, void (*entry)()) {
  getcontext(&stack->context);
  stack->context.uc_stack = {low, 0, size};
  stack->context.uc_link = nullptr;
  makecontext(&stack->context, entry, 0);
}

void switch_stack(Stack* from, Stack* to) { swapcontext(&from->context, &to->context); }

#endif

}  // namespace emu
