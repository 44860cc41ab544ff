#include "base/huge_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <new>

namespace perjoule {
namespace {

constexpr std::size_t kHugePage = 2U << 20U;
constexpr std::size_t kFirst = 64U << 10U;
constexpr std::size_t kRegion = 8U << 20U;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
constexpr bool kIsSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kIsSanitized = false;
#endif

}  // namespace

std::pmr::memory_resource& HugePagePool::source_of(std::size_t bytes) {
  if (kIsSanitized || bytes > kLargest) return *std::pmr::new_delete_resource();
  return pool_;
}

HugePages::~HugePages() {
  for (const Region& region : regions_) {
    if (region.is_mapped) {
      ::munmap(region.begin, region.size);
    } else {
      ::operator delete(region.begin);
    }
  }
}

void* HugePages::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (next_ == nullptr || std::align(alignment, bytes, next_, left_) == nullptr) {
    add_region(bytes + alignment);
    std::align(alignment, bytes, next_, left_);
  }
  void* piece = next_;
  next_ = static_cast<char*>(next_) + bytes;
  left_ -= bytes;
  return piece;
}

void HugePages::add_region(std::size_t bytes) {
  Region region;
  if (regions_.empty() && bytes <= kFirst) {
    region = {::operator new(kFirst), kFirst, false};
    next_ = region.begin;
  } else {
    // A huge page lies on a multiple of its size, which mmap(2) does not promise.
    region.size = round_up(std::max(bytes, kRegion), kHugePage) + kHugePage;
    region.begin = ::mmap(nullptr, region.size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region.begin == MAP_FAILED) throw std::bad_alloc();
    region.is_mapped = true;
    (void)::madvise(region.begin, region.size, MADV_HUGEPAGE);
    next_ = region.begin;
  }
  left_ = region.size;
  if (region.is_mapped) std::align(kHugePage, region.size - kHugePage, next_, left_);
  reserved_ += region.size;
  regions_.push_back(region);
}

}  // namespace perjoule
