// What must hold of every content that may be an application's profile.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/import_profile.h"
#include "proto/profile_codec.h"

namespace plimsoll::fuzz {

// Becomes a valid raw profile, or an error that says something. True for a profile.
inline bool imports_cleanly(std::string_view content) {
  const formats::Limits limits{.max_encoded_bytes = 4 << 20, .max_decoded_bytes = 4 << 20};
  const auto raw =
      formats::import_profile(as_bytes(content), {.file_name = "fuzz", .modified_ns = 1'000'000}, limits);
  if (!raw) {
    EXPECT_FALSE(raw.error().message.empty());
    return false;
  }
  const auto valid = wire::validate(*raw);
  EXPECT_TRUE(valid.has_value()) << (valid ? "" : valid.error().text());
  // Names must be such that Protobuf takes them back.
  EXPECT_TRUE(wire::decode(as_bytes(wire::encode(*raw))).has_value());
  return true;
}

// The corpus's files of these names; none where there is no corpus.
inline std::vector<std::string> corpus_files(std::initializer_list<const char*> names) {
  std::vector<std::string> contents;
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  for (const char* name : names) {
    const auto content = corpus == nullptr
                             ? std::string()
                             : read_file(std::string(corpus) + "/pprof/" + name, 4 << 20).value_or("");
    if (!content.empty()) {
      contents.push_back(content);
    }
  }
  return contents;
}

}  // namespace plimsoll::fuzz
