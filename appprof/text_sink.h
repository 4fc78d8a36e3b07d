// Text that is written piece by piece, without allocating where its end does not.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::appprof {

class StringSink {
 public:
  void text(std::string_view piece) { text_ += piece; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Into a file, through a buffer of its own. What cannot be written is lost; is_whole() says so.
class FileSink {
 public:
  explicit FileSink(int file) noexcept : file_(file) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  void text(std::string_view piece) noexcept {
    for (const char character : piece) {
      if (used_ == buffer_.size()) {
        flush();
      }
      buffer_[used_++] = character;
    }
  }
  void flush() noexcept {
    for (size_t done = 0; done < used_ && is_whole_;) {
      const ssize_t written = ::write(file_, buffer_.data() + done, used_ - done);
      is_whole_ = written > 0;
      done += is_whole_ ? static_cast<size_t>(written) : 0;
    }
    used_ = 0;
  }
  bool is_whole() const noexcept { return is_whole_; }

 private:
  const int file_;
  bool is_whole_ = true;
  size_t used_ = 0;
  std::array<char, 4096> buffer_{};
};

template <typename Sink>
void write_number(Sink& sink, uint64_t number, int base = 10) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  sink.text({digits.data(), static_cast<size_t>(end - digits.data())});
}

// All that can be read of it.
template <typename Sink>
void copy_file(const char* path, Sink& sink) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> part{};
  for (ssize_t size = 1; file >= 0 && size > 0;) {
    size = ::read(file, part.data(), part.size());
    sink.text({part.data(), size > 0 ? static_cast<size_t>(size) : 0});
  }
  if (file >= 0) {
    ::close(file);
  }
}

}  // namespace plimsoll::appprof
