#include "query/registry/damage_notes.h"

#include <variant>

#include "base/time.h"

namespace plimsoll::query {
namespace {

// More than that are one cause, of which some tell enough.
constexpr size_t kMaxNotes = 3;

constexpr const char* kWhatToDo =
    "rebuild it from raw profiles (plimsoll store repair --rebuild), restore it from a backup (plimsoll "
    "store restore), or "
    "find all damage with plimsoll store check";

std::string times_text(const store::DamagedPart& part) {
  return part.from_ns == INT64_MIN || part.to_ns == INT64_MAX
             ? "of unknown times"
             : fmt::format("from {} to {}", format_time(part.from_ns), format_time(part.to_ns));
}

std::string note_of(const store::DamagedPart& part) {
  const std::string rows = part.rows == 0 ? "all rows in it" : fmt::format("{} rows", part.rows);
  return fmt::format("missing from this answer, whose values are too low by that: {}, {}: {}; {}", rows,
                     times_text(part), part.why, kWhatToDo);
}

}  // namespace

std::vector<store::DamagedPart> damaged_parts(const Snapshot& snapshot, const store::TimeSpans& times) {
  std::vector<store::DamagedPart> all = snapshot.damaged_blocks;
  for (store::DamagedPart& part : snapshot.rows->damage()) {
    all.push_back(std::move(part));
  }
  std::erase_if(all, [&](const store::DamagedPart& part) {
    return !store::touches(times, part.from_ns, part.to_ns, 0);
  });
  return all;
}

std::vector<std::string> notes_of(const std::vector<store::DamagedPart>& damaged) {
  std::vector<std::string> notes;
  for (const store::DamagedPart& part : damaged) {
    if (notes.size() == kMaxNotes) {
      notes.push_back(
          fmt::format("missing from this answer: {} more damaged parts", damaged.size() - kMaxNotes));
      break;
    }
    notes.push_back(note_of(part));
  }
  return notes;
}

Result<Answer> with_damage_noted(Answer answer, const std::vector<store::DamagedPart>& damaged) {
  if (damaged.empty()) {
    return answer;
  }
  if (std::holds_alternative<FileAnswer>(answer)) {
    return with_hint(fail(ErrorCode::kCorrupt, "the file would lack rows {}: {}", times_text(damaged.front()),
                          damaged.front().why),
                     kWhatToDo);
  }
  return with_notes(std::move(answer), notes_of(damaged));
}

Answer with_notes(Answer answer, const std::vector<std::string>& notes) {
  std::visit(
      [&](auto& given) {
        if constexpr (requires { given.notes; }) {
          given.notes.insert(given.notes.begin(), notes.begin(), notes.end());
        }
      },
      answer);
  return answer;
}

}  // namespace plimsoll::query
