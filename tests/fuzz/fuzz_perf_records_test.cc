// Damaged records of the kernel's ring buffers: a record is decoded from its own bytes, or refused with a reason.
#include <gtest/gtest.h>

#include "capture/perf/records.h"
#include "daemon/sampling/ring_buffer.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/unit/capture/perf/perf_records.h"

namespace plimsoll::perf {
namespace {

constexpr int kMutations = 10'000;

std::string u32s(std::initializer_list<uint32_t> values) {
  std::string bytes;
  for (const uint32_t value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

constexpr uint64_t kBranchEvent = 4;
const BranchEvents kBranchEvents{kBranchEvent};

// One of each kind that is decoded, as the kernel writes them for our sample type.
std::vector<std::string> sound_records() {
  const UserState user{.abi = PERF_SAMPLE_REGS_ABI_64,
                       .registers = std::vector<uint64_t>(kUserRegisters, 0x7ffc'0000'1000),
                       .stack = std::string(256, 's'),
                       .captured_bytes = 200};
  const std::vector<uint64_t> chain{PERF_CONTEXT_KERNEL, 0xffff'ffff'8100'0000, PERF_CONTEXT_USER, 0x401000,
                                    0x402000};
  const std::string build_id = std::string("\x14\0\0\0", 4) + std::string(20, '\x5a');
  const std::string places = std::string(24, '\x11');  // start, size, offset
  return {
      sample_bytes(3, 0x401000, 1000, chain, user),
      sample_bytes(3, 0x401000, 1000, {}),
      branch_sample_bytes(kBranchEvent, 0x401000, 1000, {{0x401010, 0x401000, 1}, {0x402000, 0x401000}}),
      RecordBytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | 1U << 14U)
          .raw(u32s({7, 7}))
          .raw(places)
          .raw(build_id)
          .raw(u32s({5, 2}))
          .text("/usr/lib/libc.so.6")
          .sample_id(7, 7, 1001)
          .bytes(),
      RecordBytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER)
          .raw(u32s({7, 7}))
          .raw(places)
          .raw(u32s({8, 1, 4242, 0, 1, 0}))
          .raw(u32s({5, 2}))
          .text("/usr/bin/go_program")
          .sample_id(7, 7, 1002)
          .bytes(),
      RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
          .raw(u32s({7, 8}))
          .text("worker")
          .sample_id(7, 8, 1003)
          .bytes(),
      RecordBytes(PERF_RECORD_FORK, 0).raw(u32s({9, 7, 9, 7})).u64(1004).sample_id(7, 7, 1004).bytes(),
      RecordBytes(PERF_RECORD_EXIT, 0).raw(u32s({9, 7, 9, 7})).u64(1005).sample_id(9, 9, 1005).bytes(),
      RecordBytes(PERF_RECORD_THROTTLE, 0).u64(1006).u64(3).u64(3).sample_id(7, 8, 1006).bytes(),
  };
}

bool lies_within(Bytes part, Bytes whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void expect_own_bytes(const Record& record, Bytes bytes) {
  if (const auto* sample = std::get_if<SampleRecord>(&record.body)) {
    EXPECT_TRUE(lies_within(sample->user_stack, bytes));
    EXPECT_LE(sample->callchain.size() * sizeof(uint64_t), bytes.size());
    EXPECT_LE(sample->branches.size() * sizeof(BranchEntry), bytes.size());
  } else if (const auto* mmap = std::get_if<MmapRecord>(&record.body)) {
    EXPECT_LE(mmap->path.size(), bytes.size());
    EXPECT_LE(mmap->build_id.size(), 20);
  } else if (const auto* comm = std::get_if<CommRecord>(&record.body)) {
    EXPECT_LE(comm->name.size(), bytes.size());
  }
}

TEST(FuzzPerfRecords, SoundOnesAreDecoded) {
  size_t kind = 0;
  for (const std::string& bytes : sound_records()) {
    const auto record = decode_record(as_bytes(bytes), &kBranchEvents);
    ASSERT_TRUE(record.has_value()) << kind << ": " << record.error().text();
    EXPECT_FALSE(std::holds_alternative<OtherRecord>(record->body)) << kind;
    ++kind;
  }
}

TEST(FuzzPerfRecords, DamagedOnesAreDecodedFromTheirOwnBytesOrRefused) {
  const auto originals = sound_records();
  std::mt19937_64 random(fuzz::seed(1));
  int decoded = 0;
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    // In a block of its own size, so that a read behind its end is one outside the allocation.
    const std::string damaged = fuzz::mutated(originals[random() % originals.size()], random);
    const std::vector<std::byte> exact(as_bytes(damaged).begin(), as_bytes(damaged).end());
    record_time_ns(exact);
    const auto record = decode_record(exact, &kBranchEvents);
    if (record) {
      expect_own_bytes(*record, exact);
      ++decoded;
    } else {
      EXPECT_EQ(record.error().code, ErrorCode::kCorrupt);
      EXPECT_FALSE(record.error().message.empty());
      ++refused;
    }
  }
  EXPECT_GT(decoded, kMutations / 10);
  EXPECT_GT(refused, kMutations / 10);
}

// A ring whose content is damaged: every record that is handed over lies in it, or is as long as its header says, and the
// reading ends.
TEST(FuzzPerfRecords, DamagedRingsEnd) {
  constexpr size_t kRingBytes = 4096;
  std::string content;
  while (content.size() < kRingBytes) {
    for (const std::string& record : sound_records()) {
      content += record;
    }
  }
  std::mt19937_64 random(fuzz::seed(2));
  size_t handed_over = 0;
  std::vector<std::byte> wrapped;
  for (int i = 0; i < kMutations; ++i) {
    std::string damaged = fuzz::mutated(content, random);
    damaged.resize(kRingBytes);
    // Mostly where a record begins.
    const uint64_t tail =
        (random() >> 1U) / kRingBytes * kRingBytes + (random() % 4 == 0 ? random() % 512 * 8 : 0);
    const uint64_t head = tail + random() % (kRingBytes + 1);
    const RingRead read = read_ring(as_bytes(damaged), tail, head, wrapped, [&](Bytes record, uint64_t) {
      ++handed_over;
      EXPECT_LE(record.size(), kRingBytes);
      if (const auto decoded = decode_record(record, &kBranchEvents)) {
        expect_own_bytes(*decoded, record);
      }
    });
    EXPECT_LE(read.tail - tail, head - tail);
    EXPECT_LE(read.dropped_bytes, read.tail - tail);
  }
  EXPECT_GT(handed_over, kMutations);
}

}  // namespace
}  // namespace plimsoll::perf
