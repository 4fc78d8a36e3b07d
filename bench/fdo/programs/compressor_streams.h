// Streams of the program compressor.cc, a byte at a time: memory, frames with checksums, filters before what is packed.
#pragma once

#include <algorithm>
#include <array>
#include <boost/crc.hpp>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

using Bytes = std::vector<uint8_t>;

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void put(uint8_t byte) = 0;
  virtual void finish() {}
};

class Source {
 public:
  virtual ~Source() = default;
  virtual uint8_t get() = 0;
};

class MemorySink : public Sink {
 public:
  explicit MemorySink(Bytes& bytes) : bytes_(bytes) {}
  void put(uint8_t byte) override {
    if (used_ == bytes_.size()) {
      bytes_.resize(std::max<size_t>(4096, 2 * used_));
    }
    bytes_[used_++] = byte;
  }
  void finish() override { bytes_.resize(used_); }

 private:
  Bytes& bytes_;
  size_t used_ = 0;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(const Bytes& bytes) : bytes_(bytes) {}
  uint8_t get() override {
    if (at_ == bytes_.size()) {
      throw std::runtime_error("the archive is truncated");
    }
    return bytes_[at_++];
  }

 private:
  const Bytes& bytes_;
  size_t at_ = 0;
};

constexpr size_t kFrameBytes = 4096;

// Frames with a length, and behind the bytes their checksum.
class FrameSink : public Sink {
 public:
  explicit FrameSink(Sink& to) : to_(to) {}
  void put(uint8_t byte) override {
    frame_[used_++] = byte;
    crc_.process_byte(byte);
    if (used_ == kFrameBytes) {
      flush();
    }
  }
  void finish() override {
    flush();
    to_.finish();
  }

 private:
  void put_number(uint32_t number, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) {
      to_.put(static_cast<uint8_t>(number >> 8 * i));
    }
  }
  void flush() {
    put_number(static_cast<uint32_t>(used_), 2);
    for (size_t i = 0; i < used_; ++i) {
      to_.put(frame_[i]);
    }
    put_number(static_cast<uint32_t>(crc_.checksum()), 4);
    used_ = 0;
    crc_.reset();
  }

  Sink& to_;
  std::array<uint8_t, kFrameBytes> frame_{};
  size_t used_ = 0;
  boost::crc_32_type crc_;
};

class FrameSource : public Source {
 public:
  explicit FrameSource(Source& from) : from_(from), left_(number(2)) {}
  uint8_t get() override {
    while (left_ == 0) {
      begin_frame();
    }
    --left_;
    const uint8_t byte = from_.get();
    crc_.process_byte(byte);
    return byte;
  }

 private:
  uint32_t number(unsigned bytes) {
    uint32_t result = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      result |= static_cast<uint32_t>(from_.get()) << 8 * i;
    }
    return result;
  }
  void begin_frame() {
    if (number(4) != crc_.checksum()) {
      throw std::runtime_error("the archive is damaged");
    }
    crc_.reset();
    left_ = number(2);
    if (left_ > kFrameBytes) {
      throw std::runtime_error("a frame is too long");
    }
  }

  Source& from_;
  size_t left_;
  boost::crc_32_type crc_;
};

// x86's relative addresses of calls become absolute ones, so that calls of one function get the same bytes wherever they stand; or again
// relative. What follows such an opcode is passed over either way, so that both directions see the same ones.
class CallFilter : public Sink {
 public:
  CallFilter(Sink& to, bool to_absolute) : to_(to), to_absolute_(to_absolute) {}

  void put(uint8_t byte) override {
    ++at_;
    if (held_ == 0) {
      held_ = (byte & 0xfeU) == 0xe8 ? 1 : 0;
      to_.put(byte);
      return;
    }
    target_ |= static_cast<uint32_t>(byte) << 8 * (held_ - 1);
    if (++held_ <= 4) {
      return;
    }
    if (byte == 0 || byte == 0xff) {
      target_ = to_absolute_ ? target_ + at_ : target_ - at_;
      target_ = (target_ & 0x01000000U) != 0 ? target_ | 0xff000000U : target_ & 0x00ffffffU;
    }
    flush();
  }
  void finish() override {
    flush();
    to_.finish();
  }

 private:
  void flush() {
    for (unsigned i = 1; i < held_; ++i) {
      to_.put(static_cast<uint8_t>(target_ >> 8 * (i - 1)));
    }
    held_ = 0;
    target_ = 0;
  }

  Sink& to_;
  const bool to_absolute_;
  uint32_t at_ = 0;
  uint32_t target_ = 0;
  unsigned held_ = 0;  // 0, or 1 more than bytes of the address
};

// Spaces that lines begin with become one byte, which says how many more or fewer they are than those of the line before.
class IndentFilter : public Sink {
 public:
  explicit IndentFilter(Sink& to) : to_(to) {}

  void put(uint8_t byte) override {
    if (at_begin_) {
      if (byte == ' ' && spaces_ < 100) {
        ++spaces_;
        return;
      }
      end_indent();
    }
    to_.put(byte);
    at_begin_ = byte == '\n';
  }
  void finish() override {
    if (at_begin_) {
      end_indent();
    }
    to_.finish();
  }

 private:
  void end_indent() {
    to_.put(static_cast<uint8_t>(128 + spaces_ - before_));
    before_ = spaces_;
    spaces_ = 0;
    at_begin_ = false;
  }

  Sink& to_;
  bool at_begin_ = true;
  int spaces_ = 0;
  int before_ = 0;
};

class UnindentFilter : public Sink {
 public:
  explicit UnindentFilter(Sink& to) : to_(to) {}

  void put(uint8_t byte) override {
    if (at_begin_) {
      before_ += byte - 128;
      for (int i = 0; i < before_; ++i) {
        to_.put(' ');
      }
      at_begin_ = false;
      return;
    }
    to_.put(byte);
    at_begin_ = byte == '\n';
  }
  void finish() override { to_.finish(); }

 private:
  Sink& to_;
  bool at_begin_ = true;
  int before_ = 0;
};

class ChecksumSink : public Sink {
 public:
  explicit ChecksumSink(Sink& to) : to_(to) {}
  void put(uint8_t byte) override {
    crc_.process_byte(byte);
    to_.put(byte);
  }
  void finish() override { to_.finish(); }
  uint32_t sum() const { return static_cast<uint32_t>(crc_.checksum()); }

 private:
  Sink& to_;
  boost::crc_32_type crc_;
};

std::unique_ptr<Sink> filter_for(bool is_code, Sink& to) {
  return is_code ? std::unique_ptr<Sink>(std::make_unique<CallFilter>(to, true))
                 : std::make_unique<IndentFilter>(to);
}

std::unique_ptr<Sink> inverse_filter_for(bool is_code, Sink& to) {
  return is_code ? std::unique_ptr<Sink>(std::make_unique<CallFilter>(to, false))
                 : std::make_unique<UnindentFilter>(to);
}

}  // namespace
