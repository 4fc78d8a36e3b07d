#include "daemon/sampling/ring_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <string>

#include "base/byte_reader.h"
#include "tests/unit/capture/perf/perf_records.h"
#include "tests/unit/daemon/fake_ring.h"

namespace plimsoll::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A ring, and what the kernel would wake its reader by.
struct WakingRing {
  explicit WakingRing(size_t pages = 1) : ring(pages), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  void add_to(RingReader& reader, uint32_t pages = 1) const {
    auto mapped = RingBuffer::map(ring.fd(), pages);
    ASSERT_TRUE(mapped) << mapped.error().text();
    reader.add(std::move(*mapped), wake.get());
  }
  FakeRing ring;
  UniqueFd wake;
};

std::unique_ptr<RingReader> make_reader(size_t max_bytes = size_t{1} << 20) {
  auto reader = RingReader::make(max_bytes);
  EXPECT_TRUE(reader) << reader.error().text();
  return std::move(*reader);
}

std::string record_of(size_t body_bytes, char fill) {
  return RecordBytes(9999, 0).raw(std::string(body_bytes, fill)).bytes();
}

// "0a 1b": which ring each record is of, and the last letter of its body.
std::vector<std::string> text_of(const std::vector<RingReader::Record>& records) {
  std::vector<std::string> text;
  for (const RingReader::Record& record : records) {
    text.push_back(std::to_string(record.ring) + std::string(1, as_text(record.bytes).back()));
  }
  return text;
}

bool is_ready(const RingReader& reader, int timeout_ms) {
  pollfd ready{reader.ready_fd(), POLLIN, 0};
  return ::poll(&ready, 1, timeout_ms) == 1;
}

constexpr int kDeadlineMs = 60'000;  // against hanging

TEST(RingReader, TakesWhatIsThereWithoutItsThread) {
  const auto reader = make_reader();
  WakingRing first;
  WakingRing second;
  first.add_to(*reader);
  second.add_to(*reader);
  first.ring.write(record_of(8, 'a'));
  second.ring.write(record_of(8, 'b'));
  first.ring.write(record_of(16, 'c'));
  std::vector<RingReader::Record> records;
  EXPECT_TRUE(reader->take(records));
  EXPECT_THAT(text_of(records), ElementsAre("0a", "0c", "1b")) << "of each ring in its order";
  EXPECT_EQ(first.ring.tail(), 16 + 24) << "the kernel has its room back";
  reader->give_back(records);
  EXPECT_TRUE(reader->take(records));
  EXPECT_THAT(records, IsEmpty());
}

TEST(RingReader, ItsThreadMakesRoomBeforeAnybodyTakes) {
  const auto reader = make_reader();
  WakingRing ring;
  ring.add_to(*reader);
  reader->start();
  EXPECT_FALSE(is_ready(*reader, 0));
  ring.ring.write(record_of(8, 'a'));
  ::eventfd_write(ring.wake.get(), 1);
  ASSERT_TRUE(is_ready(*reader, kDeadlineMs));
  EXPECT_EQ(ring.ring.tail(), 16);
  ring.ring.write(record_of(8, 'b'));
  std::vector<RingReader::Record> records;
  EXPECT_TRUE(reader->take(records));
  EXPECT_THAT(text_of(records), ElementsAre("0a", "0b")) << "copied before, and still in the ring";
  reader->give_back(records);
}

TEST(RingReader, WhatHasNoRoomStaysInItsRing) {
  constexpr size_t kPages = 256;
  constexpr size_t kBodyBytes = 60'000;
  const auto reader = make_reader(size_t{512} << 10);  // eight such records, four in each half
  WakingRing ring(kPages);
  ring.add_to(*reader, kPages);
  for (const char name : std::string("abcdefghijkl")) {
    ring.ring.write(record_of(kBodyBytes, name));
  }
  std::vector<RingReader::Record> records;
  EXPECT_FALSE(reader->take(records));
  EXPECT_THAT(text_of(records), ElementsAre("0a", "0b", "0c", "0d", "0e", "0f", "0g", "0h"));
  EXPECT_EQ(ring.ring.tail(), 8 * (kBodyBytes + 8));

  std::vector<RingReader::Record> done(records.begin() + 1, records.begin() + 4);
  reader->give_back(done);
  records = {records.front()};
  std::vector<RingReader::Record> more;
  EXPECT_FALSE(reader->take(more)) << "the first one still holds its half";
  EXPECT_THAT(more, IsEmpty());
  reader->give_back(records);
  EXPECT_TRUE(reader->take(more));
  EXPECT_THAT(text_of(more), ElementsAre("0i", "0j", "0k", "0l"));
}

TEST(RingReader, CountsWhatCouldNotBeRead) {
  const auto reader = make_reader();
  WakingRing ring;
  ring.add_to(*reader);
  ring.ring.write(record_of(8, 'a') + std::string(24, '\0'));
  std::vector<RingReader::Record> records;
  EXPECT_TRUE(reader->take(records));
  EXPECT_THAT(text_of(records), ElementsAre("0a"));
  EXPECT_EQ(reader->dropped_bytes(), 24);
}

}  // namespace
}  // namespace plimsoll::perf
