// A store of spans in a folder of its own, with a clock that the test sets.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/spans/local_span_sink.h"
#include "store/spans/local_span_source.h"
#include "tests/temporary_directory.h"
#include "tests/traces/span_fixture.h"

namespace plimsoll::testing {

inline constexpr int64_t kSpanSecondNs = 1'000'000'000;
inline constexpr int64_t kSpanStoreNow = int64_t{1'700'000'000} * kSpanSecondNs;
inline constexpr const char* kSpanDirectoryId = "0123456789abcdef";

class SpanStoreTest : public ::testing::Test {
 protected:
  void open(const store::SpanBlockLimits& limits = {}) {
    sink_.reset();
    auto sink = store::LocalSpanSink::open(path_, kSpanDirectoryId, limits, [this] { return now_ns_; });
    ASSERT_TRUE(sink) << sink.error().text();
    sink_ = std::move(*sink);
  }

  store::SpansKept add(const std::vector<PlainSpan>& spans, double weight = 1) {
    const auto kept = sink_->add(span_set_of(spans), weight);
    EXPECT_TRUE(kept) << kept.error().text();
    return kept.value_or(store::SpansKept());
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.path().extension() == ".spans") {
        names.push_back(entry.path().string());
      }
    }
    return names;
  }

  std::vector<std::string> blocks() const {
    std::vector<std::string> names;
    const auto listed = store::list_span_blocks(path_);
    EXPECT_TRUE(listed) << listed.error().text();
    for (const store::BlockFolder& block : *listed) {
      names.push_back(block.name());
    }
    return names;
  }

  // The spans that are answered, though some are damaged.
  std::vector<PlainSpan> sound_answer(std::vector<store::DamagedPart>& damaged) {
    std::vector<PlainSpan> spans;
    auto read = source_.read({}, [&](const store::StoredSpan& span) -> Status {
      spans.push_back(plain(span));
      return {};
    });
    EXPECT_TRUE(read) << read.error().text();
    damaged = read ? std::move(*read) : std::vector<store::DamagedPart>();
    return spans;
  }

  std::string catalogue_of(const std::string& block) const { return path_ + "/" + block + "/catalogue.db"; }

  TemporaryDirectory folder_;
  const std::string path_ = folder_ / "spans";
  int64_t now_ns_ = kSpanStoreNow;
  std::unique_ptr<store::LocalSpanSink> sink_;
  store::LocalSpanSource source_{path_};
};

// Of a service, named by its number.
inline PlainSpan span_of(uint64_t number, const std::string& service = "cart") {
  return {.trace = {.high = 1, .low = number},
          .id = number,
          .start_ns = kSpanStoreNow,
          .end_ns = kSpanStoreNow + 5,
          .service = service};
}

}  // namespace plimsoll::testing
