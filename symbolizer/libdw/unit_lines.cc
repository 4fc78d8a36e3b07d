#include "symbolizer/libdw/unit_lines.h"

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::symbolizer {
namespace {

// What libdw calls the file with the number 0 before DWARF 5, which has none.
constexpr std::string_view kNoFile = "???";

// As LineTable::path_of() puts them together.
std::string whole_path(std::string_view path, std::string_view directory) {
  if (path.empty() || path == kNoFile) {
    return {};
  }
  std::string whole(path);
  const bool is_whole = path.starts_with('/') || directory.empty() ||
                        (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
  if (!is_whole) {
    whole.insert(0, directory.ends_with('/') ? std::string(directory) : fmt::format("{}/", directory));
  }
  // libdw puts a slash behind directories that end with one.
  for (size_t at = whole.find("//"); at != std::string::npos; at = whole.find("//", at)) {
    whole.erase(at, 1);
  }
  return whole;
}

Result<std::vector<std::string>> paths_in(Dwarf_Die unit, std::string_view directory) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (::dwarf_getsrcfiles(&unit, &files, &count) != 0) {
    return fail(ErrorCode::kCorrupt, "libdw: the names of its files: {}", ::dwarf_errmsg(-1));
  }
  std::vector<std::string> paths;
  paths.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const char* const path = ::dwarf_filesrc(files, i, nullptr, nullptr);
    paths.push_back(whole_path(path == nullptr ? std::string_view() : std::string_view(path), directory));
  }
  return paths;
}

uint32_t positive(int number) {
  return number < 0 ? 0 : static_cast<uint32_t>(number);
}

LineRow row_of(Dwarf_Line* line) {
  Dwarf_Addr address = 0;
  Dwarf_Files* files = nullptr;
  size_t file = 0;
  int number = 0;
  int column = 0;
  unsigned discriminator = 0;
  bool ends_sequence = false;
  ::dwarf_lineaddr(line, &address);
  ::dwarf_line_file(line, &files, &file);
  ::dwarf_lineno(line, &number);
  ::dwarf_linecol(line, &column);
  ::dwarf_linediscriminator(line, &discriminator);
  ::dwarf_lineendsequence(line, &ends_sequence);
  return {.address = address,
          .file = static_cast<uint32_t>(file),
          .line = positive(number),
          .column = positive(column),
          .discriminator = discriminator,
          .ends_sequence = ends_sequence};
}

// The rows of a file one sequence after the other, at the addresses of the table.
class SequenceBuilder {
 public:
  SequenceBuilder(const DwarfFile& file, size_t rows) : file_(file) { rows_.reserve(rows); }

  void add(LineRow row) {
    // libdw sorts the rows of all sequences by address, those that end one first. A last row without code, at the end of its
    // section, so comes to stand before the sequence of the next section: it is left out.
    if (!is_kept_) {
      rows_.resize(begin_);
    }
    if (rows_.size() == begin_) {
      first_said_ = row.address;
      const auto start = file_.address_of(row.address);
      is_kept_ = start.has_value();
      first_ = start.value_or(0);
    }
    row.address = first_ + (row.address - first_said_);
    rows_.push_back(row);
    if (row.ends_sequence) {
      end();
    }
  }

  std::vector<LineRow>& rows() { return rows_; }
  std::vector<LineSequence>& sequences() { return sequences_; }

  // Leaves out what has no end.
  void end() {
    const bool is_whole =
        rows_.size() > begin_ && rows_.back().ends_sequence && rows_[begin_].address < rows_.back().address;
    if (is_whole && is_kept_) {
      sequences_.push_back({rows_[begin_].address, rows_.back().address, begin_, rows_.size() - begin_});
    } else {
      rows_.resize(begin_);
    }
    begin_ = rows_.size();
  }

 private:
  const DwarfFile& file_;
  std::vector<LineRow> rows_;
  std::vector<LineSequence> sequences_;
  size_t begin_ = 0;  // of the sequence, among rows_
  uint64_t first_said_ = 0;
  uint64_t first_ = 0;
  bool is_kept_ = false;
};

}  // namespace

Result<LineTable> read_unit_lines(Dwarf_Die unit, const DwarfFile& file, std::string_view directory,
                                  uint64_t& line_rows) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (::dwarf_getsrclines(&unit, &lines, &count) != 0) {
    return fail(ErrorCode::kCorrupt, "libdw: the line table: {}", ::dwarf_errmsg(-1));
  }
  if (count > line_rows) {
    line_rows = 0;
    return fail(ErrorCode::kTooLarge, "libdw: a line table of {} rows", count);
  }
  line_rows -= count;
  auto paths = paths_in(unit, directory);
  if (!paths) {
    return propagate(paths);
  }
  SequenceBuilder builder(file, count);
  for (size_t i = 0; i < count; ++i) {
    builder.add(row_of(::dwarf_onesrcline(lines, i)));
  }
  builder.end();
  return LineTable::of(std::move(builder.rows()), std::move(builder.sequences()), std::move(*paths));
}

}  // namespace plimsoll::symbolizer
