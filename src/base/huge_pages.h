// Memory for small objects by the thousand that are looked at in no order, on huge pages.
//
//   HugePagePool pool;
//   std::pmr::polymorphic_allocator<>(&pool).new_object<Stream>(...);
//
// With pages of 4 KiB the translation of an address is seldom at hand when thousands of objects
// take turns, and in a virtual machine it takes two walks of page tables, one within the other: at
// 4,096 streams that is most of what a chunk of a stream costs. Where the system gives no huge
// pages, these are ordinary ones.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <vector>

namespace perjoule {

/// A source of pieces that are all given back at its end, not before: for a pool above it. The
/// first ones come from the ordinary heap, so that a few objects do not cost megabytes. O(1) a
/// piece; throws std::bad_alloc. Of one thread.
class HugePages final : public std::pmr::memory_resource {
 public:
  HugePages() = default;
  ~HugePages() override;
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;

  /// Bytes of address space that it holds.
  std::size_t reserved() const { return reserved_; }

 private:
  struct Region {
    void* begin = nullptr;
    std::size_t size = 0;
    bool is_mapped = false;
  };
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* /*piece*/, std::size_t /*bytes*/, std::size_t /*alignment*/) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  void add_region(std::size_t bytes);

  std::vector<Region> regions_;
  void* next_ = nullptr;  ///< in the last of them
  std::size_t left_ = 0;
  std::size_t reserved_ = 0;
};

/// Places of all sizes, each taken again once it was given back. Larger ones than 1 MiB are of the
/// ordinary heap, and all are under the address sanitizer, which sees what is wrong with those
/// alone. O(1); throws std::bad_alloc. Of one thread.
class HugePagePool final : public std::pmr::memory_resource {
 public:
  HugePagePool() : pool_({0, kLargest}, &pages_) {}
  HugePagePool(const HugePagePool&) = delete;
  HugePagePool& operator=(const HugePagePool&) = delete;

  std::size_t reserved() const { return pages_.reserved(); }

 private:
  static constexpr std::size_t kLargest = 1U << 20U;
  std::pmr::memory_resource& source_of(std::size_t bytes);
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    return source_of(bytes).allocate(bytes, alignment);
  }
  void do_deallocate(void* place, std::size_t bytes, std::size_t alignment) override {
    source_of(bytes).deallocate(place, bytes, alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  HugePages pages_;
  std::pmr::unsynchronized_pool_resource pool_;
};

}  // namespace perjoule
