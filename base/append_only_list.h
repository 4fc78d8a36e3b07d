// A list that grows at its end, and whose copies cost nothing: readers keep the state that they copied while a writer adds to its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/huge_page_allocator.h"

namespace plimsoll {

// A value: what is added to a copy is seen by no other. Copies share their elements, which never change. The copy that was added to last
// grows in place while there is room, else all elements are copied, to twice the room: an element costs constant time on average.
//
// Any number of threads may read copies of their own while one thread adds to another. Two threads may not add to copies of one list at
// once. Elements are moved and copied without exceptions but for those of allocations; after one of those the list is as it was.
template <typename T>
class AppendOnlyList {
 public:
  using value_type = T;
  using const_iterator = const T*;
  using iterator = const_iterator;

  AppendOnlyList() = default;
  // Elements made by default.
  explicit AppendOnlyList(size_t size) {
    reserve(size);
    while (size_ < size) {
      push_back(T());
    }
  }
  AppendOnlyList(std::initializer_list<T> elements) { append(std::span(elements.begin(), elements.size())); }
  AppendOnlyList(const AppendOnlyList&) = default;
  AppendOnlyList& operator=(const AppendOnlyList&) = default;
  AppendOnlyList(AppendOnlyList&& other) noexcept
      : buffer_(std::move(other.buffer_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  AppendOnlyList& operator=(AppendOnlyList&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~AppendOnlyList() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  const T& at(size_t i) const {
    if (i >= size_) {
      throw std::out_of_range("AppendOnlyList::at");
    }
    return data_[i];
  }
  std::span<const T> span() const { return {data_, size_}; }

  // For so many elements in all; adding up to that many copies none.
  void reserve(size_t capacity) {
    if (!owns_end() || capacity > buffer_->capacity) {
      move_to(std::max(capacity, size_));
    }
  }

  void push_back(T element) {
    make_room(1);
    new (buffer_->elements() + size_) T(std::move(element));
    buffer_->size = ++size_;
  }

  void append(std::span<const T> elements) {
    make_room(elements.size());
    // What a copy throws leaves the elements before it constructed, and the buffer knows of those.
    for (const T& element : elements) {
      new (buffer_->elements() + buffer_->size) T(element);
      ++buffer_->size;
    }
    size_ = buffer_->size;
  }

  // Takes back all but the first `size`, of which there are at least so many. Copies keep theirs.
  void truncate(size_t size) {
    if (owns_end() && is_only_copy()) {
      std::destroy(buffer_->elements() + size, buffer_->elements() + size_);
      buffer_->size = size;
    }
    size_ = size;
  }

  bool operator==(const AppendOnlyList& other) const { return std::ranges::equal(span(), other.span()); }

 private:
  static constexpr size_t kMinCapacity = 16;

  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  struct Buffer {
    explicit Buffer(size_t room) : storage(HugePageAllocator<T>().allocate(room)), capacity(room) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
      std::destroy(storage, storage + size);
      HugePageAllocator<T>().deallocate(storage, capacity);
    }
    T* elements() { return storage; }

    T* const storage;
    const size_t capacity;
    size_t size = 0;  // that were constructed; a copy may have fewer
  };

  // Whether what comes next may be constructed behind this copy's last element.
  bool owns_end() const { return buffer_ != nullptr && buffer_->size == size_; }

  // Whether no other copy has the elements, so that they may be destroyed.
  bool is_only_copy() const {
    if (buffer_.use_count() != 1) {
      return false;
    }
    // use_count() orders nothing. Counting up and down does: what other threads read, before they gave their copies up, comes before what
    // the caller does next.
    std::shared_ptr<Buffer>(buffer_).reset();
    return true;
  }

  void make_room(size_t more) {
    if (!owns_end() || size_ + more > buffer_->capacity) {
      move_to(std::max({size_ + more, 2 * size_, kMinCapacity}));
    }
  }

  // Others may be reading the elements: they are copied.
  void move_to(size_t capacity) {
    auto larger = std::make_shared<Buffer>(capacity);
    for (const T& element : span()) {
      new (larger->elements() + larger->size) T(element);
      ++larger->size;
    }
    buffer_ = std::move(larger);
    data_ = buffer_->elements();
  }

  std::shared_ptr<Buffer> buffer_;
  const T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace plimsoll
