#include "store/spans/local_span_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/stop_scope.h"
#include "store/segments/segment_file.h"
#include "store/spans/span_catalogue.h"
#include "store/spans/span_order.h"
#include "store/spans/span_segment.h"

namespace plimsoll::store {
namespace {

// Of reading a block whose files are merged meanwhile, some seconds after which they go.
constexpr int kMaxAttempts = 20;

bool is_asked_for(const SpanQuestion& question, const SpanRecord& span) {
  return (!question.trace || *question.trace == span.trace) && first_ns_of(span) < question.times.to_ns &&
         last_ns_of(span) >= question.times.from_ns;
}

bool covers(const SpanQuestion& question, int64_t from_ns, int64_t to_ns) {
  return from_ns <= to_ns && from_ns < question.times.to_ns && to_ns >= question.times.from_ns;
}

bool is_gone(const BlockFolder& block) {
  std::error_code error;
  return !std::filesystem::exists(block.path, error) && !error;
}

// Collects what a question asks for, block after block.
class SpanSearch {
 public:
  explicit SpanSearch(const SpanQuestion& question) : question_(question) {}

  Status add_block(const BlockFolder& block) {
    const size_t spans_before = found_.size();
    const size_t damage_before = damaged_.size();
    const size_t names_before = names_.size();
    Status added;
    for (int attempt = 1; attempt <= kMaxAttempts; ++attempt) {
      found_.resize(spans_before);
      damaged_.resize(damage_before);
      names_.resize(names_before);
      missing_.clear();
      added = read_block(block);
      if (!is_overtaken(block)) {
        break;
      }
    }
    // Dropped meanwhile: as if the question had come later.
    if (is_gone(block)) {
      found_.resize(spans_before);
      damaged_.resize(damage_before);
      return {};
    }
    if (!added && is_damage(added.error())) {
      found_.resize(spans_before);
      damaged_.push_back({.path = block.path, .why = added.error().message});
      return {};
    }
    return added;
  }

  Status visit_all(const SpanVisitor& visit) {
    keep_distinct(found_);
    for (const PlacedSpan& placed : found_) {
      StoredSpan span = named(placed);
      if (question_.with_attributes) {
        span.span.attributes = attributes_of(placed);
      }
      if (Status visited = visit(span); !visited) {
        return visited;
      }
    }
    return {};
  }

  std::vector<DamagedPart> take_damage() { return std::move(damaged_); }

 private:
  struct OpenSegment {
    SpanSegmentEntry entry;
    std::string path;
    SpanSegment segment;
  };

  static StoredSpan named(const PlacedSpan& placed) {
    const SpanDictionaries& names = *placed.names;
    const SpanMethod& method = placed.method();
    const SpanProcess& process = placed.process();
    return {.span = {.trace = placed.span.trace,
                     .id = placed.span.id,
                     .parent = placed.span.parent,
                     .start_ns = placed.span.start_ns,
                     .end_ns = placed.span.end_ns,
                     .service = names.text(SpanText::kService, method.service),
                     .operation = names.text(SpanText::kOperation, method.operation),
                     .replica = names.text(SpanText::kReplica, process.replica),
                     .machine = names.text(SpanText::kMachine, process.machine),
                     .version = names.text(SpanText::kVersion, process.version),
                     .kind = method.kind,
                     .status = placed.span.status,
                     .is_shared = placed.span.is_shared},
            .weight = process.weight};
  }

  std::span<const traces::Attribute> attributes_of(const PlacedSpan& placed) {
    attributes_.clear();
    for (const SpanAttribute& attribute : placed.names->attributes(placed.span.attributes)) {
      attributes_.push_back({placed.names->text(SpanText::kAttributeKey, attribute.key),
                             placed.names->text(SpanText::kAttributeValue, attribute.value)});
    }
    return attributes_;
  }

  // Whether files were merged between the list and their opening: then they are in the list no more. Others are damage.
  bool is_overtaken(const BlockFolder& block) const {
    if (missing_.empty()) {
      return false;
    }
    auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
    return catalogue && std::ranges::any_of(missing_, [&](const std::string& file) {
             const auto is_visible = catalogue->shows(file);
             return is_visible && !*is_visible;
           });
  }

  // One transaction: spans are in `recent` or in a segment.
  Status read_block(const BlockFolder& block) {
    auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
    if (!catalogue) {
      return propagate(catalogue);
    }
    const auto transaction = sqlite::Transaction::begin_read(catalogue->database());
    const auto state = transaction ? catalogue->state() : propagate(transaction);
    if (!state || !covers(question_, state->from_ns, state->to_ns)) {
      return state ? Status() : propagate(state);
    }
    const auto recent = catalogue->count_recent();
    const auto segments = recent ? catalogue->segments() : propagate(recent);
    if (!segments) {
      return propagate(segments);
    }
    const auto opened = open_segments(block, *segments);
    if (!opened) {
      return propagate(opened);
    }
    // Of most blocks a question about one trace needs no names.
    if (opened->empty() && recent->spans == 0) {
      return {};
    }
    SpanDictionaries& names = names_.emplace_back();
    if (const Status read = catalogue->read_on(names, question_.with_attributes); !read) {
      return read;
    }
    const auto unsettled = catalogue->recent(names.sizes(), question_.with_attributes);
    if (!unsettled) {
      return propagate(unsettled);
    }
    if (unsettled->damaged != 0) {
      damaged_.push_back({.path = block.catalogue_path(),
                          .rows = unsettled->damaged,
                          .from_ns = state->from_ns,
                          .to_ns = state->to_ns,
                          .why = fmt::format("recent spans in {} are damaged", block.catalogue_path())});
    }
    Status added = add(unsettled->spans, names);
    for (size_t i = 0; i < opened->size() && added; ++i) {
      added = add_segment((*opened)[i], names);
    }
    return added;
  }

  // Those that may hold something of the question. What fails without damage (no descriptors, no memory) fails it: the answer would lack
  // spans that are there.
  Result<std::vector<OpenSegment>> open_segments(const BlockFolder& block,
                                                 const std::vector<SpanSegmentEntry>& segments) {
    std::vector<OpenSegment> opened;
    for (const SpanSegmentEntry& entry : segments) {
      if (!covers(question_, entry.from_ns, entry.to_ns)) {
        continue;
      }
      const std::string path = block.segments_path() + "/" + entry.file;
      auto segment = SpanSegment::open(path);
      if (!segment && !is_damage(segment.error())) {
        return propagate(segment);
      }
      if (!segment && segment.error().code == ErrorCode::kNotFound) {
        missing_.push_back(entry.file);
      }
      if (!segment) {
        add_damage(path, entry, entry.spans, segment.error().message);
        continue;
      }
      bool may_hold = false;
      for (size_t chunk = 0; chunk < segment->chunks(); ++chunk) {
        may_hold = may_hold || segment->may_hold(chunk, question_.times, question_.trace);
      }
      if (may_hold) {
        opened.push_back({entry, path, std::move(*segment)});
      }
    }
    return opened;
  }

  Status add_segment(const OpenSegment& opened, const SpanDictionaries& names) {
    std::vector<SpanRecord> spans;
    for (size_t chunk = 0; chunk < opened.segment.chunks(); ++chunk) {
      if (!opened.segment.may_hold(chunk, question_.times, question_.trace)) {
        continue;
      }
      if (Status stopped = check_stop(); !stopped) {
        return stopped;
      }
      spans.clear();
      // Of copies that differ in attributes alone either is the answer to a question without them.
      Status read = opened.segment.read(chunk, names.sizes(), spans, question_.with_attributes);
      if (!read && !is_damage(read.error())) {
        return read;
      }
      // What is damaged costs a chunk, and is said.
      if (!read) {
        add_damage(opened.path, opened.entry, opened.segment.spans_in(chunk), read.error().message);
      }
      if (Status added = add(spans, names); !added) {
        return added;
      }
    }
    return {};
  }

  Status add(const std::vector<SpanRecord>& spans, const SpanDictionaries& names) {
    for (const SpanRecord& span : spans) {
      if (is_asked_for(question_, span)) {
        found_.push_back({span, &names});
      }
    }
    return found_.size() <= question_.max_spans
               ? Status()
               : with_hint(fail(ErrorCode::kTooLarge, "over {} spans", question_.max_spans),
                           "ask about a shorter time");
  }

  void add_damage(const std::string& path, const SpanSegmentEntry& entry, uint64_t spans,
                  const std::string& why) {
    damaged_.push_back(
        {.path = path, .rows = spans, .from_ns = entry.from_ns, .to_ns = entry.to_ns, .why = why});
  }

  const SpanQuestion& question_;
  std::deque<SpanDictionaries> names_;  // of the blocks, referred to by address
  std::vector<PlacedSpan> found_;
  std::vector<DamagedPart> damaged_;
  std::vector<std::string> missing_;           // files of the block at hand
  std::vector<traces::Attribute> attributes_;  // of the span at hand
};

}  // namespace

Result<std::vector<DamagedPart>> LocalSpanSource::read(const SpanQuestion& question,
                                                       const SpanVisitor& visit) {
  const auto blocks = list_span_blocks(spans_path_);
  if (!blocks) {
    return propagate(blocks, "reading spans");
  }
  SpanSearch search(question);
  for (const BlockFolder& block : *blocks) {
    // A question about one trace looks into every block, and finds nothing in most.
    if (const Status goes_on = check_stop(); !goes_on) {
      return propagate(goes_on);
    }
    if (const Status added = search.add_block(block); !added) {
      return propagate(added, "reading spans");
    }
  }
  const Status visited = search.visit_all(visit);
  return visited ? Result<std::vector<DamagedPart>>(search.take_damage()) : propagate(visited);
}

}  // namespace plimsoll::store
