#include "store/copy/copy_note.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/checksum.h"
#include "base/durable_file.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/random.h"

namespace plimsoll::store {
namespace {

constexpr size_t kCopyIdBytes = 8;
// A hundred thousand parts.
constexpr uint64_t kMaxNoteBytes = uint64_t{8} << 20;

std::string note_path(const std::string& data_dir) {
  return data_dir + "/copying";
}

void add_address(std::string_view name, const RowsAddress& rows, std::string& text) {
  for (const auto& [suffix, value] : {std::pair<std::string_view, const std::string*>("", &rows.address),
                                      {"-password-file", &rows.password_file},
                                      {"-ca", &rows.ca}}) {
    text += value->empty() ? "" : fmt::format("{}{} {}\n", name, suffix, *value);
  }
  text += rows.is_replicated() ? fmt::format("{}-insert-quorum {}\n", name, rows.insert_quorum) : "";
  for (const std::string& shard : rows.shards) {
    text += fmt::format("{}-shard {}\n", name, shard);
  }
}

std::string text_of_note(const CopyNote& note) {
  std::string text = fmt::format("copy {}\n", note.id);
  add_address("from", note.from, text);
  add_address("to", note.to, text);
  for (const auto& [number, version] : note.parts) {
    text += fmt::format("part {} {}\n", number, version);
  }
  return text + fmt::format("checksum {:016x}\n", checksum64(as_bytes(text)));
}

void take_part(std::string_view value, CopyNote& note) {
  const size_t space = value.find(' ');
  int64_t number = 0;
  std::from_chars(value.data(), value.data() + std::min(space, value.size()), number);
  if (space != std::string_view::npos) {
    note.parts[number] = value.substr(space + 1);
  }
}

void take_line(std::string_view line, CopyNote& note) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    return;
  }
  const std::string_view name = line.substr(0, space);
  const std::string_view value = line.substr(space + 1);
  for (const auto& [known, field] : {std::pair<std::string_view, std::string*>("copy", &note.id),
                                     {"from", &note.from.address},
                                     {"from-password-file", &note.from.password_file},
                                     {"from-ca", &note.from.ca},
                                     {"to", &note.to.address},
                                     {"to-password-file", &note.to.password_file},
                                     {"to-ca", &note.to.ca}}) {
    if (name == known) {
      *field = value;
    }
  }
  for (const auto& [known, quorum] :
       {std::pair<std::string_view, int64_t*>("from-insert-quorum", &note.from.insert_quorum),
        {"to-insert-quorum", &note.to.insert_quorum}}) {
    if (name == known) {
      std::from_chars(value.data(), value.data() + value.size(), *quorum);
    }
  }
  if (name == "from-shard") {
    note.from.shards.emplace_back(value);
  }
  if (name == "to-shard") {
    note.to.shards.emplace_back(value);
  }
  if (name == "part") {
    take_part(value, note);
  }
}

// Without an ID where it is no such text: what it means is checked against the text that it would be.
CopyNote parse_note(std::string_view text) {
  CopyNote note;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = rest.find('\n');
    take_line(rest.substr(0, end), note);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return text_of_note(note) == text ? note : CopyNote();
}

}  // namespace

CopyNote make_copy_note(RowsAddress from, RowsAddress to) {
  return {.id = to_hex(random_bytes(kCopyIdBytes)), .from = std::move(from), .to = std::move(to)};
}

Result<CopyNote> read_copy_note(const std::string& data_dir) {
  const auto text = read_file(note_path(data_dir), kMaxNoteBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) {
    return CopyNote();
  }
  if (!text) {
    return propagate(text, "reading how far the copy of the rows is");
  }
  CopyNote note = parse_note(*text);
  if (!note.is_there()) {
    return with_hint(fail(ErrorCode::kCorrupt, "{} is damaged: its checksum does not match its lines",
                          note_path(data_dir)),
                     "remove the file, and what was copied so far: the copy begins again");
  }
  return note;
}

Status write_copy_note(const std::string& data_dir, const CopyNote& note) {
  const std::string text = text_of_note(note);
  if (parse_note(text) != note) {
    return fail(ErrorCode::kInvalid, "addresses and names of files must have no line breaks");
  }
  return write_file_durably(note_path(data_dir), as_bytes(text));
}

Status remove_copy_note(const std::string& data_dir) {
  std::error_code error;
  std::filesystem::remove(note_path(data_dir), error);
  return error ? Status(fail_errno(error.value(), "removing {}", note_path(data_dir)))
               : sync_folder(data_dir);
}

}  // namespace plimsoll::store
