// Rings that the kernel writes: their size, and reading them.
#include "daemon/sampling/ring_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "daemon/sampling/ring_size.h"
#include "tests/unit/capture/perf/perf_records.h"
#include "tests/unit/daemon/fake_ring.h"

namespace plimsoll::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A ring into which a test writes as the kernel does, at ever growing positions.
class Ring {
 public:
  Ring(size_t size, uint64_t start) : data_(size), head_(start), tail_(start) {}

  size_t room() const { return data_.size() - (head_ - tail_); }
  void write(std::string_view bytes) {
    for (const char byte : bytes) {
      data_[head_++ % data_.size()] = static_cast<std::byte>(byte);
    }
  }
  std::vector<std::string> read() {
    std::vector<std::string> records;
    std::vector<std::byte> wrapped;
    const RingRead read = read_ring(data_, tail_, head_, wrapped,
                                    [&](Bytes record, uint64_t) { records.emplace_back(as_text(record)); });
    tail_ = read.tail;
    dropped_bytes_ += read.dropped_bytes;
    return records;
  }
  uint64_t head() const { return head_; }
  uint64_t tail() const { return tail_; }
  uint64_t dropped_bytes() const { return dropped_bytes_; }

 private:
  std::vector<std::byte> data_;
  uint64_t head_;
  uint64_t tail_;
  uint64_t dropped_bytes_ = 0;
};

std::string record_of(size_t body_bytes, char fill) {
  return RecordBytes(9999, 0).raw(std::string(body_bytes, fill)).bytes();
}

SampledEvent sampled(std::string_view name, uint64_t period, double stack_share = 1) {
  return {.type = *find_event(name), .mean_period = period, .stack_share = stack_share};
}

struct RingCase {
  const char* what;
  std::vector<SampledEvent> events;
  uint32_t stack_bytes;
  size_t cpus;
  uint32_t pages;
};

TEST(RingPages, HoldHalfASecondOfSamples) {
  constexpr uint32_t k15Kib = 15 << 10;  // and 1 KiB of other things: 4 pages a sample
  for (const RingCase& c : std::initializer_list<RingCase>{
           {"at least 64 pages", {sampled("cpu-clock", 1'000'000'000)}, k15Kib, 2, 64},
           {"no event", {}, k15Kib, 2, 64},
           {"128 a second", {sampled("cpu-clock", 1'000'000'000 / 128)}, k15Kib, 2, 256},
           {"a power of two", {sampled("cpu-clock", 1'000'000'000 / 120)}, k15Kib, 2, 256},
           {"no more than 8 MiB", {sampled("cpu-clock", 1'000)}, k15Kib, 2, 2048},
           {"every occurrence, 10,000 a second", {sampled("page-faults", 1)}, k15Kib, 2, 2048},
           {"each event's own",
            {sampled("cpu-clock", 1'000'000'000 / 128), sampled("page-faults", 10'000 / 125)},
            k15Kib,
            2,
            512},
           {"a quarter with stacks", {sampled("cpu-clock", 1'000'000'000 / 128, 0.25)}, k15Kib, 2, 128},
           {"none with stacks to speak of", {sampled("cpu-clock", 125'000, 0.0001)}, k15Kib, 2, 64},
           {"8 CPUs with 8 MiB each", {sampled("cpu-clock", 1'000)}, k15Kib, 8, 2048},
           {"9 CPUs with 4 MiB each", {sampled("cpu-clock", 1'000)}, k15Kib, 9, 1024},
           {"128 CPUs with 64 MiB together", {sampled("cpu-clock", 1'000)}, k15Kib, 128, 128},
           {"1,024 CPUs with 64 pages each", {sampled("cpu-clock", 1'000)}, k15Kib, 1024, 64},
       }) {
    EXPECT_EQ(ring_pages(c.events, c.stack_bytes, c.cpus), c.pages) << c.what;
  }
}

TEST(ReadRing, JoinsRecordsThatWrapAroundAtAnyOffset) {
  for (uint64_t start = 0; start < 128; ++start) {
    Ring ring(64, start);
    ring.write(record_of(24, 'a'));
    ring.write(record_of(16, 'b'));
    EXPECT_THAT(ring.read(), ElementsAre(record_of(24, 'a'), record_of(16, 'b'))) << start;
    EXPECT_EQ(ring.tail(), ring.head());
    EXPECT_THAT(ring.read(), IsEmpty());
  }
}

TEST(ReadRing, GivesBackWhatWasWritten) {
  std::mt19937_64 random(1);
  Ring ring(256, random() % 4096 * 8);
  std::vector<std::string> written;
  for (int step = 0; step < 20'000; ++step) {
    const std::string record = record_of(random() % 12 * 8, static_cast<char>(random()));
    if (random() % 4 == 0 || record.size() > ring.room()) {
      ASSERT_EQ(ring.read(), written) << "step " << step;
      written.clear();
    }
    ring.write(record);
    written.push_back(record);
  }
}

TEST(ReadRing, LeavesAPartOfAHeaderForLater) {
  Ring ring(64, 0);
  ring.write(record_of(8, 'a'));
  ring.write("\x01\x02\x03");
  EXPECT_THAT(ring.read(), ElementsAre(record_of(8, 'a')));
  EXPECT_EQ(ring.tail(), 16);
}

TEST(ReadRing, LeavesOutWhatWasOverwritten) {
  const std::vector<std::byte> data(64);
  std::vector<std::byte> wrapped;
  const RingRead read = read_ring(data, 8, 80, wrapped, [](Bytes, uint64_t) { FAIL() << "a record"; });
  EXPECT_EQ(read.tail, 80);
  EXPECT_EQ(read.dropped_bytes, 72);
}

TEST(ReadRing, EndsAtARecordWhoseSizeCannotBeRight) {
  for (const uint16_t size : std::initializer_list<uint16_t>{0, 7, 33, 64, 0xffff}) {
    Ring ring(64, 40);
    ring.write(record_of(8, 'a'));
    const perf_event_header header{9999, 0, size};
    ring.write({reinterpret_cast<const char*>(&header), sizeof header});
    ring.write(std::string(24, 'b'));
    EXPECT_THAT(ring.read(), ElementsAre(record_of(8, 'a'))) << size;
    EXPECT_EQ(ring.tail(), ring.head()) << size;
    EXPECT_EQ(ring.dropped_bytes(), sizeof header + 24) << size;
  }
}

// How many records there are; their room is given back.
int drained(RingBuffer& ring) {
  int records = 0;
  uint64_t last_end = 0;
  ring.peek([&](Bytes, uint64_t end) {
    ++records;
    last_end = end;
  });
  if (records > 0) {
    ring.release(last_end);
  }
  return records;
}

TEST(RingBuffer, SaysOnceWhatItCouldNotRead) {
  FakeRing event;
  auto ring = RingBuffer::map(event.fd(), 1);
  ASSERT_TRUE(ring.has_value()) << ring.error().text();
  event.write(record_of(8, 'a'));
  EXPECT_EQ(drained(*ring), 1);
  EXPECT_EQ(ring->dropped_bytes(), 0);

  event.write(record_of(8, 'b') + std::string(24, '\0'));
  EXPECT_EQ(drained(*ring), 1);
  EXPECT_EQ(ring->dropped_bytes(), 24);
  event.write(record_of(8, 'c'));  // behind them
  EXPECT_EQ(drained(*ring), 0);
  EXPECT_EQ(ring->dropped_bytes(), 24 + 16);
  EXPECT_EQ(event.tail(), 16 + 16 + 24 + 16);

  event.write(record_of(8, 'd'));
  EXPECT_EQ(drained(*ring), 1);
  EXPECT_EQ(ring->dropped_bytes(), 24 + 16);
}

}  // namespace
}  // namespace plimsoll::perf
