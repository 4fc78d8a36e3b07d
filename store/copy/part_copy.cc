#include "store/copy/part_copy.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/copy/part_sums.h"

namespace plimsoll::store {
namespace {

// Says how many rows have gone through it.
class ShownRows : public RowCursor {
 public:
  ShownRows(std::unique_ptr<RowCursor> rows, CopyProgress progress, const ShowCopyProgress& show)
      : rows_(std::move(rows)), progress_(progress), show_(show) {}

  Result<std::span<const Row>> next() override {
    auto some = rows_->next();
    progress_.rows += some ? some->size() : 0;
    if (show_) {
      show_(progress_);
    }
    return some;
  }

 private:
  const std::unique_ptr<RowCursor> rows_;
  CopyProgress progress_;
  const ShowCopyProgress& show_;
};

bool has_part(const std::vector<PartState>& parts, int64_t number) {
  return std::ranges::find(parts, number, &PartState::number) != parts.end();
}

// How many of them, from the first one on, are copied and have not changed since.
size_t count_copied(const std::vector<PartState>& wanted, const std::vector<PartState>& there,
                    const CopyNote& note) {
  const auto is_missing = [&](const PartState& part) {
    const auto noted = note.parts.find(part.number);
    return noted == note.parts.end() || noted->second != part.version || !has_part(there, part.number);
  };
  return static_cast<size_t>(std::ranges::find_if(wanted, is_missing) - wanted.begin());
}

// But the parts from `first` to `last`. Where there are none of these, `last` is less. In an order in which only ends of the row go.
Status drop_others(PartTarget& to, const std::vector<PartState>& there, int64_t first, int64_t last) {
  for (auto part = there.rbegin(); part != there.rend() && part->number > last; ++part) {
    if (const Status dropped = to.drop(part->number); !dropped) {
      return dropped;
    }
  }
  for (const PartState& part : there) {
    if (part.number >= std::min(first, last + 1)) {
      break;
    }
    if (const Status dropped = to.drop(part.number); !dropped) {
      return dropped;
    }
  }
  return {};
}

Status copy_part(PartSource& from, PartTarget& to, const CopyProgress& progress,
                 const ShowCopyProgress& show) {
  auto part = from.read(progress.part);
  if (!part) {
    return with_hint(propagate(part, "reading part {}", progress.part),
                     "see \"plimsoll store check --help\" where it is damaged");
  }
  const std::shared_ptr<const RowSource> source = part->rows;
  ShownRows rows(source->scan({}), progress, show);
  const Status written = to.write(std::move(*part), rows,
                                  [&](const UseNames& use) { return from.read_names(progress.part, use); });
  return written ? written : propagate(written, "copying part {}", progress.part);
}

Result<PartSums> read_sums(PartSource& source, int64_t number) {
  const auto part = source.read(number);
  return part ? sums_of(*part) : propagate(part);
}

// Nothing: they are the same. `sums`: of the source.
Result<std::optional<std::string>> compare_part(PartSource& from, PartTarget& to, int64_t number,
                                                PartSums& sums) {
  auto expected = read_sums(from, number);
  const auto found = expected ? read_sums(to, number) : propagate(expected);
  if (!expected) {
    return propagate(expected, "verifying part {}", number);
  }
  sums = std::move(*expected);
  if (found) {
    return difference_between(sums, *found);
  }
  return found.error().code == ErrorCode::kCorrupt ? Result<std::optional<std::string>>(found.error().message)
                                                   : propagate(found, "verifying part {}", number);
}

}  // namespace

Result<PartCopyReport> copy_parts(PartSource& from, PartTarget& to, CopyNote& note, const KeepNote& keep,
                                  const ShowCopyProgress& show) {
  const auto wanted = from.parts();
  const auto there = wanted ? to.parts() : propagate(wanted);
  if (!there) {
    return propagate(there);
  }
  if (wanted->empty()) {
    return fail(ErrorCode::kCorrupt, "there is no part to copy");
  }
  const size_t kept = count_copied(*wanted, *there, note);
  const int64_t first = wanted->front().number;
  // Numbers have gaps where parts were merged.
  const int64_t last = kept == 0 ? first - 1 : (*wanted)[kept - 1].number;
  std::erase_if(note.parts, [&](const auto& part) { return part.first < first || part.first > last; });
  // Before anything goes: what is noted is there.
  Status done = keep(note);
  done = done ? drop_others(to, *there, first, last) : done;
  for (size_t i = kept; i < wanted->size() && done; ++i) {
    const PartState& part = (*wanted)[i];
    done = copy_part(from, to,
                     {.activity = "copying", .part = part.number, .parts_done = i, .parts = wanted->size()},
                     show);
    if (done) {
      note.parts[part.number] = part.version;
      done = keep(note);
    }
  }
  return done ? Result<PartCopyReport>(
                    PartCopyReport{.parts = wanted->size(), .copied = wanted->size() - kept})
              : propagate(done);
}

Result<CopiedSums> verify_parts(PartSource& from, PartTarget& to, CopyNote& note, const KeepNote& keep,
                                const ShowCopyProgress& show) {
  const auto parts = from.parts();
  if (!parts) {
    return propagate(parts);
  }
  CopiedSums all;
  for (size_t i = 0; i < parts->size(); ++i) {
    const int64_t number = (*parts)[i].number;
    if (show) {
      show({.activity = "verifying", .part = number, .parts_done = i, .parts = parts->size()});
    }
    PartSums sums;
    const auto compared = compare_part(from, to, number, sums);
    if (!compared) {
      return propagate(compared);
    }
    if (const std::optional<std::string>& difference = *compared) {
      note.parts.erase(note.parts.lower_bound(number), note.parts.end());
      const Status kept = keep(note);
      return kept ? with_hint(fail(ErrorCode::kCorrupt, "the copy of part {} is not what it is a copy of: {}",
                                   number, *difference),
                              "run the command again: it copies this part and later ones again")
                  : propagate(kept);
    }
    all.profiles += sums.profiles;
    all.hits += sums.all_hits();
  }
  return all;
}

}  // namespace plimsoll::store
