#include "store/spans/span_segment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "base/durable_file.h"
#include "base/file.h"
#include "store/segments/packed_column.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kTime = int64_t{1'700'000'000} * 1'000'000'000;

constexpr uint32_t kAttributeSets = 200;

SpanDictionaries::Sizes sizes_of(uint32_t methods, uint32_t processes) {
  SpanDictionaries::Sizes sizes;
  sizes.methods = methods;
  sizes.processes = processes;
  sizes.attribute_sets = kAttributeSets;
  return sizes;
}

// As a segment has them.
std::vector<SpanRecord> in_order(std::vector<SpanRecord> spans) {
  std::ranges::sort(spans, {}, [](const SpanRecord& span) {
    return std::tuple(span.trace, span.start_ns, span.id, span.is_shared, span.method);
  });
  return spans;
}

class SpanSegmentTest : public ::testing::Test {
 protected:
  Result<SpanSegment> written(const std::vector<SpanRecord>& spans) {
    const Status done = write_file_durably(path_, as_bytes(encode_span_segment(spans)));
    EXPECT_TRUE(done) << done.error().text();
    return SpanSegment::open(path_);
  }

  static std::vector<SpanRecord> read_all(const SpanSegment& segment, const SpanDictionaries::Sizes& sizes) {
    std::vector<SpanRecord> spans;
    for (size_t chunk = 0; chunk < segment.chunks(); ++chunk) {
      const Status read = segment.read(chunk, sizes, spans);
      EXPECT_TRUE(read) << read.error().text();
    }
    return spans;
  }

  // Of one chunk. The spans lose their attributes.
  void write_without_attributes(std::vector<SpanRecord>& spans) {
    for (SpanRecord& span : spans) {
      span.attributes = 0;
    }
    ASSERT_TRUE(written(spans));
    const auto file = SegmentFile::open(path_, SpanSegment::kSchema);
    ASSERT_TRUE(file) << file.error().text();
    std::string last_column;
    pack_column(std::vector<uint64_t>(spans.size(), 0), last_column);
    ASSERT_FALSE(last_column.empty());
    SegmentFileWriter writer(SpanSegment::kSchemaWithoutAttributes);
    std::array<std::string, SpanSegment::kSchema.parts> parts;
    for (size_t part = 0; part < parts.size(); ++part) {
      const auto bytes = file->part(0, part);
      ASSERT_TRUE(bytes) << bytes.error().text();
      parts[part] = as_text(*bytes);
    }
    parts.back().resize(parts.back().size() - last_column.size());
    writer.add(file->chunks().front(), parts);
    ASSERT_TRUE(write_file_durably(path_, as_bytes(writer.finish())));
  }

  testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "a.spans";
};

// A request of `count` calls, as applications make them: each called by one before it, some of them by one that is not here.
void add_request(std::mt19937_64& random, size_t count, std::vector<SpanRecord>& spans) {
  const traces::TraceId trace{random(), random()};
  const int64_t start_ns = kTime + static_cast<int64_t>(random() % 60'000'000'000);
  const size_t first = spans.size();
  for (size_t i = 0; i < count; ++i) {
    const traces::SpanId parent = i == 0               ? 0
                                  : random() % 50 == 0 ? random()
                                                       : spans[first + random() % (spans.size() - first)].id;
    const int64_t begin_ns = start_ns + static_cast<int64_t>(random() % 200'000'000);
    spans.push_back({.trace = trace,
                     .id = random(),
                     .parent = parent,
                     .start_ns = begin_ns,
                     .end_ns = begin_ns + static_cast<int64_t>(random() % 50'000'000),
                     .method = 1 + static_cast<uint32_t>(random() % 150),
                     .process = 1 + static_cast<uint32_t>(random() % 100),
                     .attributes = static_cast<uint32_t>(random() % kAttributeSets),
                     .status = static_cast<traces::SpanStatus>(random() % 3),
                     .is_shared = random() % 30 == 0});
  }
}

TEST_F(SpanSegmentTest, ReadsWhatWasWritten) {
  std::mt19937_64 random(1);
  std::vector<SpanRecord> spans;
  for (int request = 0; request < 300; ++request) {
    add_request(random, 1 + random() % 40, spans);
  }
  const auto segment = written(spans);
  ASSERT_TRUE(segment) << segment.error().text();
  EXPECT_EQ(segment->spans(), spans.size());
  EXPECT_EQ(read_all(*segment, sizes_of(151, 101)), in_order(spans));
}

TEST_F(SpanSegmentTest, KeepsExtremeNumbers) {
  const int64_t latest = INT64_MAX / 2;
  const std::vector<SpanRecord> spans = {
      {.trace = {0, 1}, .id = 1, .start_ns = 0, .end_ns = latest, .method = 1, .process = 1},
      {.trace = {0, 1},
       .id = UINT64_MAX,
       .parent = 1,
       .start_ns = latest,
       .end_ns = 0,
       .method = 1,
       .process = 1},
      {.trace = {UINT64_MAX, UINT64_MAX},
       .id = 1,
       .parent = UINT64_MAX,
       .start_ns = latest,
       .end_ns = latest,
       .method = UINT32_MAX - 1,
       .process = UINT32_MAX - 1,
       .status = traces::SpanStatus::kError,
       .is_shared = true}};
  const auto segment = written(spans);
  ASSERT_TRUE(segment) << segment.error().text();
  EXPECT_EQ(read_all(*segment, sizes_of(UINT32_MAX, UINT32_MAX)), in_order(spans));
}

// A trace may go on in the next chunk, where its earlier spans are outside.
TEST_F(SpanSegmentTest, ATraceMayBeLargerThanAChunk) {
  std::mt19937_64 random(2);
  std::vector<SpanRecord> spans;
  add_request(random, kSpansOfChunk + 1000, spans);
  const auto segment = written(spans);
  ASSERT_TRUE(segment) << segment.error().text();
  EXPECT_EQ(segment->chunks(), 2);
  EXPECT_EQ(read_all(*segment, sizes_of(151, 101)), in_order(spans));
}

TEST_F(SpanSegmentTest, ASpanTakesAtMost16BytesBeyondItsIds) {
  std::mt19937_64 random(3);
  std::vector<SpanRecord> spans;
  size_t traces = 0;
  for (; spans.size() < 60'000; ++traces) {
    add_request(random, 20 + random() % 40, spans);
  }
  const size_t bytes = encode_span_segment(spans).size();
  const size_t bytes_of_ids = 16 * traces + 8 * spans.size();
  ASSERT_GT(bytes, bytes_of_ids);
  EXPECT_LE(bytes - bytes_of_ids, 16 * spans.size());
}

TEST_F(SpanSegmentTest, ZonesPassOverChunksOfOtherTracesAndTimes) {
  const std::vector<SpanRecord> spans = {
      {.trace = {uint64_t{7} << 32U, 1}, .id = 1, .start_ns = kTime, .end_ns = kTime + 10},
      {.trace = {uint64_t{9} << 32U, 1}, .id = 1, .start_ns = kTime + 20, .end_ns = kTime + 5'000'000'000}};
  const auto segment = written(spans);
  ASSERT_TRUE(segment) << segment.error().text();
  const auto holds = [&](const TimeSpan& times, uint64_t trace) {
    return segment->may_hold(0, times,
                             trace == 0 ? std::nullopt : std::optional(traces::TraceId{trace << 32U, 1}));
  };
  EXPECT_TRUE(holds({}, 0));
  EXPECT_TRUE(holds({}, 8)) << "it lies between those that are there";
  EXPECT_FALSE(holds({}, 6));
  EXPECT_FALSE(holds({}, 10));
  EXPECT_TRUE(holds({kTime + 4'000'000'000, INT64_MAX}, 0));
  EXPECT_FALSE(holds({kTime + 6'000'000'000, INT64_MAX}, 0));
  EXPECT_FALSE(holds({INT64_MIN, kTime - 1'000'000'000}, 0));
  EXPECT_FALSE(holds({INT64_MIN, 0}, 0));
}

TEST_F(SpanSegmentTest, EntriesThatAreNotThereAreDamage) {
  const auto segment = written({{.trace = {1, 1}, .id = 1, .method = 5, .process = 7, .attributes = 3}});
  ASSERT_TRUE(segment) << segment.error().text();
  std::vector<SpanRecord> spans;
  auto without_attributes = sizes_of(6, 8);
  without_attributes.attribute_sets = 3;
  for (const auto& sizes : {sizes_of(5, 8), sizes_of(6, 7), without_attributes}) {
    const Status read = segment->read(0, sizes, spans);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  }
  EXPECT_TRUE(spans.empty());
  EXPECT_TRUE(segment->read(0, sizes_of(6, 8), spans));
}

TEST_F(SpanSegmentTest, PassesOverAttributesThatNobodyAsksFor) {
  std::mt19937_64 random(7);
  std::vector<SpanRecord> spans;
  add_request(random, 50, spans);
  const auto segment = written(spans);
  ASSERT_TRUE(segment) << segment.error().text();
  std::vector<SpanRecord> read;
  ASSERT_TRUE(segment->read(0, sizes_of(151, 101), read, false));
  for (SpanRecord& span : spans) {
    span.attributes = 0;
  }
  EXPECT_EQ(read, in_order(spans));
}

// As versions wrote them that kept no attributes.
TEST_F(SpanSegmentTest, ReadsFilesWithoutAttributes) {
  std::mt19937_64 random(5);
  std::vector<SpanRecord> spans;
  add_request(random, 50, spans);
  write_without_attributes(spans);
  const auto segment = SpanSegment::open(path_);
  ASSERT_TRUE(segment) << segment.error().text();
  EXPECT_EQ(read_all(*segment, sizes_of(151, 101)), in_order(spans));
}

// And not a file of another version.
TEST_F(SpanSegmentTest, DamageOfFilesWithoutAttributesIsDamage) {
  std::mt19937_64 random(6);
  std::vector<SpanRecord> spans;
  add_request(random, 50, spans);
  write_without_attributes(spans);
  const auto content = read_file(path_, kMaxSegmentBytes);
  ASSERT_TRUE(content) << content.error().text();
  // Behind the version of segments: with another one it is a file of another version.
  constexpr size_t kVersionEnd = 12;
  for (size_t place = kVersionEnd; place < content->size(); place += 1 + random() % 7) {
    SCOPED_TRACE(place);
    std::string damaged = *content;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random() % 8));
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    const auto segment = SpanSegment::open(path_);
    std::vector<SpanRecord> read;
    const Status done = segment ? segment->read(0, sizes_of(151, 101), read) : propagate(segment);
    ASSERT_FALSE(done);
    ASSERT_EQ(done.error().code, ErrorCode::kCorrupt) << done.error().text();
  }
}

// Whichever byte is another one.
TEST_F(SpanSegmentTest, DamageIsFound) {
  std::mt19937_64 random(4);
  std::vector<SpanRecord> spans;
  add_request(random, 50, spans);
  const std::string content = encode_span_segment(spans);
  for (size_t place = 0; place < content.size(); place += 1 + random() % 7) {
    SCOPED_TRACE(place);
    std::string damaged = content;
    damaged[place] = static_cast<char>(damaged[place] ^ (1 << random() % 8));
    // Without fsync, of which there would be a thousand.
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    const auto segment = SpanSegment::open(path_);
    std::vector<SpanRecord> read;
    const Status done = segment ? segment->read(0, sizes_of(151, 101), read) : propagate(segment);
    ASSERT_FALSE(done);
    ASSERT_TRUE(is_damage(done.error())) << done.error().text();
    ASSERT_TRUE(read.empty());
  }
}

}  // namespace
}  // namespace plimsoll::store
