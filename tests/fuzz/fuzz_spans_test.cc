// Damaged spans of request traces behind right checksums, as a broken disk cannot make them and a broken program can: reading ends with
// possible spans, or with an error that names the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/byte_reader.h"
#include "store/segments/segment_file.h"
#include "store/spans/span_catalogue.h"
#include "store/spans/span_segment.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"
#include "tests/temporary_directory.h"

namespace plimsoll::fuzz::spans_test {
namespace {

using store::SegmentChunk;
using store::SegmentFile;
using store::SegmentFileWriter;
using store::SpanDictionaries;
using store::SpanRecord;
using store::SpanSegment;
using ::testing::HasSubstr;

constexpr int kMutations = 10'000;
constexpr size_t kParts = SpanSegment::kSchema.parts;

SpanDictionaries::Sizes known_sizes() {
  SpanDictionaries::Sizes sizes;
  sizes.methods = 20;
  sizes.processes = 9;
  sizes.attribute_sets = 5;
  return sizes;
}

std::vector<SpanRecord> random_spans(std::mt19937_64& random) {
  std::vector<SpanRecord> spans(1 + random() % 60);
  for (SpanRecord& span : spans) {
    const auto start_ns = static_cast<int64_t>(1'700'000'000'000'000'000 + random() % 60'000'000'000);
    span = {.trace = {random() % 2, 1 + random() % 6},
            .id = 1 + random() % 200,
            .parent = random() % 3 == 0 ? 0 : 1 + random() % 300,
            .start_ns = start_ns,
            .end_ns = start_ns + static_cast<int64_t>(random() % 1'000'000),
            .method = static_cast<uint32_t>(random() % 20),
            .process = static_cast<uint32_t>(random() % 9),
            .attributes = static_cast<uint32_t>(random() % 5),
            .status = static_cast<traces::SpanStatus>(random() % 3),
            .is_shared = random() % 8 == 0};
  }
  return spans;
}

void expect_possible(const SpanRecord& span) {
  const SpanDictionaries::Sizes sizes = known_sizes();
  EXPECT_TRUE(is_possible(span));
  EXPECT_LT(span.method, sizes.methods);
  EXPECT_LT(span.process, sizes.processes);
  EXPECT_LT(span.attributes, sizes.attribute_sets);
  EXPECT_LE(span.status, traces::SpanStatus::kError);
}

class FuzzSpans : public ::testing::Test {
 protected:
  struct Chunk {
    SegmentChunk entry;
    std::array<std::string, kParts> parts;
  };

  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  // Of a sound file.
  std::vector<Chunk> chunks_in(const std::string& bytes) const {
    write(bytes);
    const auto file = SegmentFile::open(path_, SpanSegment::kSchema);
    EXPECT_TRUE(file) << file.error().text();
    std::vector<Chunk> chunks;
    for (size_t i = 0; file && i < file->chunks().size(); ++i) {
      Chunk chunk{.entry = file->chunks()[i], .parts = {}};
      for (size_t part = 0; part < kParts; ++part) {
        const auto content = file->part(i, part);
        EXPECT_TRUE(content) << content.error().text();
        chunk.parts[part] = content ? std::string(as_text(*content)) : std::string();
      }
      chunks.push_back(std::move(chunk));
    }
    return chunks;
  }

  // With checksums of what is in it now.
  static std::string sealed(const std::vector<Chunk>& chunks) {
    SegmentFileWriter writer(SpanSegment::kSchema);
    for (const Chunk& chunk : chunks) {
      writer.add(chunk.entry, chunk.parts);
    }
    return writer.finish();
  }

  static uint32_t odd_number(std::mt19937_64& random, uint32_t before) {
    switch (random() % 4) {
      case 0:
        return before + 1;
      case 1:
        return before - 1;
      case 2:
        return UINT32_MAX;
      default:
        return static_cast<uint32_t>(random());
    }
  }

  // Mostly what its columns hold; now and then what the directory says of it.
  static void mutate(Chunk& chunk, std::mt19937_64& random) {
    switch (random() % 8) {
      case 0:
        chunk.entry.rows = odd_number(random, chunk.entry.rows);
        break;
      case 1: {
        uint32_t& count = chunk.entry.counts[random() % SpanSegment::kSchema.counts];
        count = odd_number(random, count);
        break;
      }
      case 2: {
        store::Zone& zone = chunk.entry.zones[random() % SpanSegment::kSchema.columns];
        zone.max = odd_number(random, zone.max);
        break;
      }
      default: {
        std::string& part = chunk.parts[random() % kParts];
        part = mutated(part, random);
      }
    }
  }

  // How many spans could be read.
  size_t spans_in(const std::string& bytes) const {
    write(bytes);
    const auto segment = SpanSegment::open(path_);
    if (!segment) {
      expect_named(segment.error());
      return 0;
    }
    std::vector<SpanRecord> spans;
    for (size_t chunk = 0; chunk < segment->chunks(); ++chunk) {
      const size_t before = spans.size();
      const Status read = segment->read(chunk, known_sizes(), spans);
      if (!read) {
        expect_named(read.error());
      }
      EXPECT_EQ(spans.size() - before, read ? segment->spans_in(chunk) : 0) << "all of a chunk, or nothing";
      static_cast<void>(segment->may_hold(chunk, {}, traces::TraceId{1, 1}));
    }
    std::ranges::for_each(spans, expect_possible);
    return spans.size();
  }

  void expect_named(const Error& error) const {
    EXPECT_THAT(error.message, HasSubstr(path_));
    EXPECT_TRUE(store::is_damage(error)) << error.text();
  }

  testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "a.spans";
};

TEST_F(FuzzSpans, AFileWithRightChecksumsIsReadOrSaidToBeDamaged) {
  std::mt19937_64 random(seed(1));
  int read = 0;
  for (int i = 0; i < kMutations; ++i) {
    SCOPED_TRACE(fmt::format("mutation {}", i));
    std::vector<Chunk> chunks = chunks_in(encode_span_segment(random_spans(random)));
    ASSERT_EQ(chunks.size(), 1);
    ASSERT_GT(spans_in(sealed(chunks)), 0);
    for (uint64_t steps = 1 + random() % 3; steps > 0; --steps) {
      mutate(chunks.front(), random);
    }
    if (random() % 8 == 0) {
      chunks.push_back(chunks.front());
    }
    read += spans_in(sealed(chunks)) > 0 ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  // A number that is another one changes what is read, mostly.
  EXPECT_GT(read, kMutations / 100);
  EXPECT_LT(read, kMutations);
}

TEST_F(FuzzSpans, BatchesInNoFileYetAreReadOrCountedAsDamaged) {
  std::mt19937_64 random(seed(2));
  auto catalogue = store::SpanCatalogue::open(folder_ / "catalogue.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(catalogue) << catalogue.error().text();
  // All in one transaction, so that nothing waits for the disk.
  const auto transaction = sqlite::Transaction::begin(catalogue->database());
  ASSERT_TRUE(transaction) << transaction.error().text();
  int damaged = 0;
  for (int i = 0; i < kMutations / 10; ++i) {
    SCOPED_TRACE(fmt::format("mutation {}", i));
    ASSERT_TRUE(catalogue->clear_recent());
    ASSERT_TRUE(catalogue->add_recent(random_spans(random), 1));
    std::string records;
    ASSERT_TRUE(sqlite::for_each_row(catalogue->database().query("SELECT records FROM recent"),
                                     [&](const sqlite::Statement& row) { records = row.blob(0); }));
    const std::string changed = mutated(records, random);
    ASSERT_TRUE(catalogue->database().execute("UPDATE recent SET records = ?", as_bytes(changed)));
    const auto recent = catalogue->recent(known_sizes());
    ASSERT_TRUE(recent) << recent.error().text();
    std::ranges::for_each(recent->spans, expect_possible);
    EXPECT_TRUE(recent->damaged == 0 || recent->spans.empty()) << "all of a batch, or nothing";
    ASSERT_FALSE(HasFailure());
    damaged += recent->damaged == 0 ? 0 : 1;
  }
  EXPECT_GT(damaged, kMutations / 100);
}

// Sets of attributes as a broken program may have written them: read whole, or damage.
TEST_F(FuzzSpans, SetsOfAttributesAreReadOrSaidToBeDamaged) {
  std::mt19937_64 random(seed(3));
  auto catalogue = store::SpanCatalogue::open(folder_ / "catalogue.db", sqlite::OpenMode::kReadWrite);
  ASSERT_TRUE(catalogue) << catalogue.error().text();
  const auto transaction = sqlite::Transaction::begin(catalogue->database());
  ASSERT_TRUE(transaction) << transaction.error().text();
  SpanDictionaries written;
  bool is_other = false;
  const store::SpanNameLimits limits;
  std::vector<store::SpanAttribute> attributes;
  for (const char* const key : {"host.type", "http.route", "tenant"}) {
    attributes.push_back({written.text_id(store::SpanText::kAttributeKey, key, limits, is_other),
                          written.text_id(store::SpanText::kAttributeValue, "x", limits, is_other)});
  }
  written.attributes_id(attributes, limits, is_other);
  ASSERT_TRUE(catalogue->write_entries(written, SpanDictionaries().sizes()));
  std::string pairs;
  ASSERT_TRUE(sqlite::for_each_row(catalogue->database().query("SELECT pairs FROM attributes"),
                                   [&](const sqlite::Statement& row) { pairs = row.blob(0); }));
  ASSERT_EQ(pairs.size(), 24);
  int damaged = 0;
  for (int i = 0; i < kMutations / 10; ++i) {
    SCOPED_TRACE(fmt::format("mutation {}", i));
    const std::string changed = mutated(pairs, random);
    ASSERT_TRUE(catalogue->database().execute("UPDATE attributes SET pairs = ?", as_bytes(changed)));
    SpanDictionaries names;
    const Status read = catalogue->read_on(names);
    if (!read) {
      ASSERT_EQ(read.error().code, ErrorCode::kCorrupt) << read.error().text();
      ++damaged;
      continue;
    }
    for (const store::SpanAttribute& attribute : names.attributes(1)) {
      ASSERT_LE(attribute.key, 3);
      ASSERT_EQ(attribute.value, 1);
    }
  }
  EXPECT_GT(damaged, kMutations / 100);
}

}  // namespace
}  // namespace plimsoll::fuzz::spans_test
