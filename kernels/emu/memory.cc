#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "text.h"

namespace emu {
namespace {

constexpr size_t kPage = 4096;
// Canaries are huge if a kernel reads them: 3e38 as a float, 127 as a signed byte.
constexpr unsigned char kCanary = 0x7f;

// Piece is an allocation with its pages: canaries from body to begin and from begin + size to the end of the body, and an
// unmapped page on both sides of the body.
struct Piece : Allocation {
  Address body;
  size_t pages;  // bytes of the body
};

// Device addresses come from one range, which distinguishes them from the host's. They are assigned in ascending order and
// reused only when the range is exhausted, so a stale pointer faults.
struct Range {
  Address begin = 0, end = 0, next = 0;
};
Range range;
std::vector<Allocation*> live;      // by address
std::vector<Piece> freed;           // the most recent, for reports
constexpr size_t kRemember = 4096;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

void reserve_range() {
  for (size_t size = (size_t)1 << 40; size >= (size_t)1 << 32; size >>= 1) {
    void* p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    range = {(Address)p, (Address)p + size, (Address)p};
    return;
  }
}

// Returns the first live piece that ends after p.
std::vector<Allocation*>::iterator after(Address p) {
  return std::upper_bound(live.begin(), live.end(), p, [](Address a, const Allocation* b) { return a < b->begin; });
}

// Returns a gap of n bytes in the range, null if there is none.
Address take(size_t n) {
  if (!range.begin) reserve_range();
  for (int lap = 0; lap < 2; lap++) {
    Address at = range.next;
    for (Allocation* a : live) {
      auto* p = (Piece*)a;
      if (p->device < 0 || p->body + p->pages + kPage <= at) continue;
      if (p->body >= at + n) break;
      at = p->body + p->pages + kPage;
    }
    if (at + n <= range.end) {
      range.next = at + n;
      return at;
    }
    range.next = range.begin;
  }
  return 0;
}

Allocation* insert(const Piece& p) {
  auto* a = new Piece(p);
  live.insert(after(a->begin), a);
  return a;
}

bool canaries_stand(const Piece& p) {
  static const std::string whole(kPage, (char)kCanary);
  // each side is at most a page long
  return !std::memcmp((const void*)p.body, whole.data(), p.begin - p.body) &&
         !std::memcmp((const void*)(p.begin + p.size), whole.data(), p.body + p.pages - p.begin - p.size);
}

std::string kind(const Piece& p) {
  std::string s = p.device < 0 ? "page-locked host memory" : text("memory of device %d", p.device);
  return text("%zu bytes of %s", p.size, s.c_str());
}

// Describes p relative to a piece, at most `distance` away.
std::string relation(const Piece& a, Address p) {
  if (p < a.begin) return text("%llu byte%s before %s", a.begin - p, a.begin - p == 1 ? "" : "s", kind(a).c_str());
  if (p < a.begin + a.size) return text("byte %llu of %s", p - a.begin, kind(a).c_str());
  unsigned long long past = p - a.begin - a.size;
  return past ? text("%llu byte%s past the end of %s", past, past == 1 ? "" : "s", kind(a).c_str()) : "the end of " + kind(a);
}

unsigned long long distance(const Piece& a, Address p) {
  if (p < a.begin) return a.begin - p;
  return p < a.begin + a.size ? 0 : p - a.begin - a.size + 1;
}

}  // namespace

Allocation* device_allocate(int device, size_t size, void* owner, unsigned char poison) {
  if (size > (size_t)1 << 40) return nullptr;
  size_t pages = round_up(size, kPage);
  Address at = take(pages + 2 * kPage);
  if (!at) return nullptr;
  Address body = at + kPage, begin = body + pages - round_up(size, 16);
  if (mprotect((void*)body, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  std::memset((void*)body, kCanary, begin - body);
  std::memset((void*)begin, poison, size);
  std::memset((void*)(begin + size), kCanary, body + pages - begin - size);
  return insert({{begin, size, device, owner, true}, body, pages});
}

Allocation* host_allocate(size_t size, void* owner) {
  size_t pages = round_up(size, kPage);
  void* p = mmap(nullptr, pages + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  Address body = (Address)p + kPage;
  if (mprotect((void*)body, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  std::memset((void*)(body + size), kCanary, pages - size);
  return insert({{body, size, -1, owner, true}, body, pages});
}

Allocation* host_register(Address begin, size_t size, void* owner) {
  return insert({{begin, size, -1, owner, false}, begin, size});
}

void release(Allocation* a) {
  auto* p = (Piece*)a;
  live.erase(std::find(live.begin(), live.end(), a));
  if (p->mapped && p->device < 0) munmap((void*)(p->body - kPage), p->pages + 2 * kPage);
  if (p->mapped && p->device >= 0)  // unmaps the pages and returns them to the host
    mmap((void*)p->body, p->pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (freed.size() == kRemember) freed.erase(freed.begin());
  freed.push_back(*p);
  delete p;
}

Allocation* find_allocation(Address p) {
  auto it = after(p);
  if (it == live.begin()) return nullptr;
  Allocation* a = *--it;
  return p < a->begin + a->size || p == a->begin ? a : nullptr;
}

bool is_device_memory(Address p) { return p >= range.begin && p < range.end; }

const std::vector<Allocation*>& allocations() { return live; }

std::string describe(Address p) {
  if (p < kPage) return "the null page";
  const Piece* near = nullptr;
  for (Allocation* a : live) {
    auto* piece = (Piece*)a;
    if (!near || distance(*piece, p) < distance(*near, p)) near = piece;
  }
  if (near && distance(*near, p) == 0) return relation(*near, p);
  for (size_t i = freed.size(); i-- > 0;)
    if (distance(freed[i], p) == 0) return relation(freed[i], p) + ", which has been freed";
  if (near && distance(*near, p) <= (1u << 20)) return relation(*near, p);
  return "no memory of a device";
}

std::string broken_canary() {
  for (Allocation* a : live) {
    auto* p = (Piece*)a;
    if (!p->mapped || canaries_stand(*p)) continue;
    // Describe the nearest.
    Address at = p->begin + p->size, end = p->body + p->pages;
    while (at < end && *(const unsigned char*)at == kCanary) at++;
    if (at == end)
      for (at = p->begin - 1; *(const unsigned char*)at == kCanary;) at--;
    return relation(*p, at);
  }
  return "";
}

}  // namespace emu
