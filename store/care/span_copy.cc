#include "store/care/span_copy.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "store/care/copy_file.h"
#include "store/directory/data_directory.h"
#include "store/spans/finding_store.h"
#include "store/spans/span_catalogue.h"

namespace plimsoll::store {
namespace {

using CountBytes = std::function<void(uint64_t bytes)>;

// Files that are merged go some seconds later.
constexpr int kMaxSpanCopies = 20;

// As of the moment of the transaction: the files are opened before the catalogue is copied, and stay while they are open.
Status copy_span_block_once(const BlockFolder& block, const std::string& to, const CountBytes& copied) {
  std::error_code error;
  std::filesystem::create_directories(to + "/segments", error);
  if (error) {
    return fail_errno(error.value(), "creating {}", to);
  }
  auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  if (!catalogue) {
    return propagate(catalogue);
  }
  std::vector<std::pair<std::string, UniqueFd>> segments;  // by name
  {
    const auto transaction = sqlite::Transaction::begin_read(catalogue->database());
    const auto visible = transaction ? catalogue->segments() : propagate(transaction);
    if (!visible) {
      return propagate(visible);
    }
    for (const SpanSegmentEntry& segment : *visible) {
      const std::string path = block.segments_path() + "/" + segment.file;
      UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.valid()) {
        return fail_errno(errno, "opening {}", path);
      }
      segments.emplace_back(segment.file, std::move(file));
    }
    if (Status done = catalogue->database().copy_to(to + "/catalogue.db", copied); !done) {
      return done;
    }
  }
  for (const auto& [name, file] : segments) {
    const Status done = copy_file(file, fmt::format("{}/{}", block.segments_path(), name),
                                  fmt::format("{}/segments/{}", to, name), copied);
    if (!done) {
      return done;
    }
  }
  return {};
}

Status copy_span_block(const BlockFolder& block, const std::string& to, const CountBytes& copied) {
  for (int attempt = 1;; ++attempt) {
    const Status done = copy_span_block_once(block, to, copied);
    if (done || attempt == kMaxSpanCopies || done.error().code != ErrorCode::kNotFound) {
      return done;
    }
    // Merged since the list was read.
    std::error_code error;
    std::filesystem::remove_all(to, error);
  }
}

Status copy_findings(const std::string& from, const std::string& to, const CountBytes& copied) {
  const std::string path = fmt::format("{}/{}", from, kFindingsFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return error ? Status(fail_errno(error.value(), "looking for {}", path)) : Status();
  }
  std::filesystem::create_directories(to, error);
  if (error) {
    return fail_errno(error.value(), "creating {}", to);
  }
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  const Status done =
      database ? database->copy_to(fmt::format("{}/{}", to, kFindingsFile), copied) : propagate(database);
  return done ? done : propagate(done, "copying {}", path);
}

}  // namespace

Status copy_spans(const std::string& from, const std::string& to, const CountBytes& copied) {
  const auto blocks = list_span_blocks(spans_path_of(from));
  if (!blocks) {
    return propagate(blocks);
  }
  for (const BlockFolder& block : *blocks) {
    const Status done = copy_span_block(block, fmt::format("{}/{}", spans_path_of(to), block.name()), copied);
    std::error_code error;
    const bool is_gone = !std::filesystem::exists(block.path, error) && !error;
    if (is_gone) {
      // The oldest are dropped first: those before it are gone too, and blocks have no gaps.
      std::filesystem::remove_all(spans_path_of(to), error);
    }
    if (error) {
      return fail_errno(error.value(), "copying {}, which may have been dropped", block.path);
    }
    if (!done && !is_gone) {
      return propagate(done, "copying {}", block.path);
    }
  }
  return copy_findings(spans_path_of(from), spans_path_of(to), copied);
}

}  // namespace plimsoll::store
