#include "store/care/span_check.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "store/care/database_check.h"
#include "store/spans/span_catalogue.h"
#include "store/spans/span_dictionaries.h"
#include "store/spans/span_record.h"
#include "store/spans/span_segment.h"

namespace plimsoll::store {
namespace {

// Nothing makes spans again: no other part of the directory has them.
constexpr std::string_view kRestoreSpans =
    "restore it from a backup of this directory; or leave it: answers lack its spans and say so, and it is "
    "dropped with its "
    "block (retention.traces_max_age)";

// A reader that is overtaken by merges reads the list again.
constexpr int kMaxSpanAttempts = 20;

bool has_gone(const BlockFolder& block) {
  std::error_code error;
  return !std::filesystem::exists(block.path, error) && !error;
}

class SpanBlockCheck {
 public:
  SpanBlockCheck(CheckLog& log, const BlockFolder& block, SpanCatalogue& catalogue)
      : log_(log), block_(block), catalogue_(catalogue) {}

  // What is on disk and in no list, once the list is read: a file is there before the transaction that shows it.
  void run() {
    const std::vector<std::string> files = files_in_folder();
    if (const Status checked = check_at_one_moment(); !checked && !is_gone()) {
      log_.add(block_.catalogue_path(), checked.error(), kRestoreSpans);
    }
    report_hidden(files);
  }

 private:
  struct Listed {
    SpanSegmentEntry entry;
    Result<SpanSegment> segment;
  };

  bool is_gone() const { return has_gone(block_); }
  std::string path_of(const std::string& file) const {
    return fmt::format("{}/{}", block_.segments_path(), file);
  }

  // Spans are in `recent` or in a file.
  Status check_at_one_moment() {
    for (int attempt = 1; attempt < kMaxSpanAttempts; ++attempt) {
      const auto transaction = sqlite::Transaction::begin_read(catalogue_.database());
      const Status opened = transaction ? open_segments() : propagate(transaction);
      if (!opened) {
        return opened;
      }
      if (!is_overtaken()) {
        return check_open();
      }
    }
    return fail(ErrorCode::kUnavailable, "files of spans are merged faster than they are opened");
  }

  // While they are open they stay, whatever is merged meanwhile.
  Status open_segments() {
    segments_.clear();
    auto visible = catalogue_.segments();
    if (!visible) {
      return propagate(visible);
    }
    for (SpanSegmentEntry& entry : *visible) {
      auto segment = SpanSegment::open(path_of(entry.file));
      segments_.push_back({std::move(entry), std::move(segment)});
    }
    return {};
  }

  // By the list of another connection: files that are missing here and not in it were merged meanwhile.
  bool is_overtaken() const {
    std::optional<SpanCatalogue> now;
    for (const Listed& listed : segments_) {
      if (listed.segment || listed.segment.error().code != ErrorCode::kNotFound) {
        continue;
      }
      if (!now) {
        auto opened = SpanCatalogue::open(block_.catalogue_path(), sqlite::OpenMode::kRead);
        if (!opened) {
          return false;
        }
        now = std::move(*opened);
      }
      const auto is_visible = now->shows(listed.entry.file);
      if (is_visible && !*is_visible) {
        return true;
      }
    }
    return false;
  }

  // In the transaction in which they were listed.
  Status check_open() {
    const auto state = catalogue_.state();
    if (!state) {
      return propagate(state);
    }
    // Numbers that follow each other, and refer to entries that are there.
    SpanDictionaries names;
    if (Status read = catalogue_.read_on(names); !read) {
      return read;
    }
    const SpanDictionaries::Sizes sizes = names.sizes();
    const Status recent = check_recent(*state, sizes);
    for (const Listed& listed : segments_) {
      check_segment(listed, *state, sizes);
    }
    return recent;
  }

  Status check_recent(const SpanBlockState& state, const SpanDictionaries::Sizes& sizes) {
    const auto counted = catalogue_.count_recent();
    const auto recent = counted ? catalogue_.recent(sizes) : propagate(counted);
    if (!recent) {
      return propagate(recent);
    }
    log_.report().spans += recent->spans.size();
    if (recent->damaged != 0) {
      add_damage(block_.catalogue_path(),
                 fmt::format("{} spans that are in no file yet are damaged", recent->damaged));
    }
    if (state.is_sealed && counted->spans != 0) {
      add_damage(block_.catalogue_path(), "the block is sealed, and has spans that are in no file");
    }
    expect_covered(block_.catalogue_path(), recent->spans, state);
    return {};
  }

  void check_segment(const Listed& listed, const SpanBlockState& state,
                     const SpanDictionaries::Sizes& sizes) {
    const auto& [entry, segment] = listed;
    const std::string path = path_of(entry.file);
    log_.start(path);
    ++log_.report().span_segments;
    if (!segment) {
      if (!is_gone()) {
        add_damage(path,
                   segment.error().code == ErrorCode::kNotFound
                       ? fmt::format("the file is missing: it has {} spans of the catalogue", entry.spans)
                       : segment.error().message);
      }
      return;
    }
    log_.report().spans += segment->spans();
    if (segment->spans() != entry.spans || segment->size_bytes() != entry.bytes) {
      add_damage(path, fmt::format("it has {} spans and {} bytes; in the catalogue it has {} and {}",
                                   segment->spans(), segment->size_bytes(), entry.spans, entry.bytes));
    }
    SpanBlockState covered;
    bool is_whole = true;
    for (size_t chunk = 0; chunk < segment->chunks(); ++chunk) {
      std::vector<SpanRecord> spans;
      if (const Status read = segment->read(chunk, sizes, spans); !read) {
        add_damage(path, read.error().message);
        is_whole = false;
      }
      for (const SpanRecord& span : spans) {
        covered.from_ns = std::min(covered.from_ns, first_ns_of(span));
        covered.to_ns = std::max(covered.to_ns, last_ns_of(span));
      }
      log_.add_bytes(segment->chunk_bytes(chunk));
    }
    if (is_whole && (covered.from_ns != entry.from_ns || covered.to_ns != entry.to_ns)) {
      add_damage(path, "the times in the catalogue are not those of the spans in it");
    }
    if (entry.from_ns < state.from_ns || entry.to_ns > state.to_ns) {
      add_damage(path, "the block does not cover its times");
    }
  }

  // Copies that are the same span may be left out of files: the block covers what they had, too.
  void expect_covered(const std::string& path, const std::vector<SpanRecord>& spans,
                      const SpanBlockState& state) {
    const bool is_covered = std::ranges::all_of(spans, [&](const SpanRecord& span) {
      return first_ns_of(span) >= state.from_ns && last_ns_of(span) <= state.to_ns;
    });
    if (!is_covered) {
      add_damage(path, "the block does not cover the times of spans that are in no file yet");
    }
  }

  std::vector<std::string> files_in_folder() const {
    std::vector<std::string> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(block_.segments_path(), error), end;
         !error && entry != end; entry.increment(error)) {
      files.push_back(entry->path().filename().string());
    }
    if (error && !is_gone()) {
      add_damage(block_.segments_path(), fmt::format("it cannot be listed: {}", error.message()));
    }
    return files;
  }

  void report_hidden(const std::vector<std::string>& files) {
    const auto visible = catalogue_.segments();
    if (!visible) {
      return;  // said already
    }
    std::set<std::string> known;
    for (const SpanSegmentEntry& segment : *visible) {
      known.insert(segment.file);
    }
    for (const std::string& file : files) {
      std::error_code error;
      const std::string path = path_of(file);
      if (!known.contains(file) && std::filesystem::exists(path, error)) {
        log_.note(path, "no file of the catalogue: left by a crash, or being written or merged at the moment",
                  "nothing: the next start of the server removes it");
      }
    }
  }

  void add_damage(const std::string& path, std::string what) const {
    log_.add(path, std::move(what), std::string(kRestoreSpans));
  }

  CheckLog& log_;
  const BlockFolder& block_;
  SpanCatalogue& catalogue_;
  std::vector<Listed> segments_;  // as in the catalogue
};

}  // namespace

void check_span_block(CheckLog& log, const BlockFolder& block, std::string_view id) {
  if (has_gone(block)) {
    return;
  }
  ++log.report().span_blocks;
  if (!check_database(log, fmt::format("spans/{}/catalogue.db", block.name()), id)) {
    return;
  }
  auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  if (!catalogue) {
    // Its pages were checked for seconds meanwhile.
    if (!has_gone(block)) {
      log.add(block.catalogue_path(), catalogue.error(), kRestoreSpans);
    }
    return;
  }
  SpanBlockCheck(log, block, *catalogue).run();
}

}  // namespace plimsoll::store
