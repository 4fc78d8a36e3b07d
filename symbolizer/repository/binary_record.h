// What the repository of binaries notes of each build: which files there are, and where they came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "symbolizer/repository/binary_facts.h"

namespace plimsoll::symbolizer {

// Of a build, as it was added: revision, builder, compiler, source_url. The key occurs once.
using BinaryLabels = std::vector<std::pair<std::string, std::string>>;

inline constexpr size_t kMaxLabelBytes = 256;
inline constexpr size_t kMaxSourceBytes = 1024;

// kInvalid for another key, and for a text that is too long. Control characters become '?'.
Status add_label(BinaryLabels& labels, std::string_view key, std::string_view text);

struct KeptFile {
  BinaryKind kind = BinaryKind::kExecutable;
  store::SymbolQuality quality = store::SymbolQuality::kNone;
  uint64_t size_bytes = 0;
  std::string content_hash = {};  // as in BinaryFacts
  std::string htl_hash = {};
  int64_t modified_ns =
      0;                 // of the file in the repository, which never changes: what differs has been replaced
  int64_t added_ns = 0;  // wall clock
  std::string source = {};  // "alice at 10.0.0.7:51234: app.debug", for people
  bool is_part = false;     // as in BinaryFacts
};

// "executable", "debug", "debug (part)", "sources": for people.
std::string described_kind(const KeptFile& file);

struct BinaryRecord {
  std::string build_id = {};         // bytes
  std::vector<KeptFile> files = {};  // at most one of each kind
  BinaryLabels labels = {};

  const KeptFile* file(BinaryKind kind) const;
  // In place of the one of that kind.
  void set(KeptFile file);
  // The best of its files.
  store::SymbolQuality quality() const;
  uint64_t size_bytes() const;
  int64_t added_ns() const;  // the newest file
};

// A text of lines that ends with its checksum.
std::string encode_record(const BinaryRecord& record);
// kCorrupt for anything else; reads bytes that are not trusted.
Result<BinaryRecord> decode_record(std::string_view text);

}  // namespace plimsoll::symbolizer
