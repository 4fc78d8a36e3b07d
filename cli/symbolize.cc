#include "cli/symbolize.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/hex.h"
#include "cli/frames_json.h"
#include "cli/json_text.h"
#include "store/directory/data_directory.h"
#include "symbolizer/worker/table_folder.h"

namespace plimsoll::cli {
namespace {

// An address has 18 characters; whatever is longer than this is none.
constexpr size_t kMaxLineBytes = 4096;
constexpr size_t kBlockBytes = size_t{64} << 10;
constexpr size_t kMaxShownBytes = 100;

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  const size_t first = line.find_first_not_of(kBlank);
  return first == std::string_view::npos ? std::string_view()
                                         : line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

std::optional<uint64_t> parse_address(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
  }
  uint64_t address = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, address, 16);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(address) : std::nullopt;
}

// Answers line by line.
class Answers {
 public:
  Answers(const symbolizer::Symtab* table, NameForm names) : frames_(table, names) {}

  void add_line(std::string_view line) {
    ++lines_;
    line = trimmed(line);
    if (line.empty()) {
      return;
    }
    if (const auto address = parse_address(line)) {
      frames_.append(*address, out_);
      out_ += '\n';
    } else {
      add_malformed(line);
    }
  }

  // What is to be written; empty afterwards.
  std::string& out() { return out_; }

  Status status() const {
    return malformed_ == 0 ? Status()
                           : with_hint(fail(ErrorCode::kCorrupt,
                                            "{} of {} lines have no hexadecimal address; the first is {}",
                                            malformed_, lines_, first_malformed_),
                                       "write one address per line, such as 0x401136 or 401136");
  }

 private:
  void add_malformed(std::string_view line) {
    std::string shown;
    append_json_string(line.substr(0, kMaxShownBytes), shown);
    out_ += fmt::format(R"({{"address": {}, "frames": [], "error": "line {}: no hexadecimal address"}})",
                        shown, lines_);
    out_ += '\n';
    if (malformed_++ == 0) {
      first_malformed_ = fmt::format("line {}: {}", lines_, shown);
    }
  }

  FramesJson frames_;
  std::string out_;
  uint64_t lines_ = 0;
  uint64_t malformed_ = 0;
  std::string first_malformed_;
};

Status write_all(std::string& out) {
  std::string_view rest = out;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      return fail_errno(errno, "writing to standard output");
    }
    rest.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
  out.clear();
  return {};
}

// Calls add_line() for each line; what follows the last line end is a line too.
class LineSplitter {
 public:
  explicit LineSplitter(Answers& answers) : answers_(answers) {}

  void add(std::string_view block) {
    for (size_t end = block.find('\n'); end != std::string_view::npos; end = block.find('\n')) {
      end_line(block.substr(0, end));
      block.remove_prefix(end + 1);
    }
    // Of an endless line, the beginning is enough to refuse it.
    begun_.append(block.substr(0, kMaxLineBytes - std::min(kMaxLineBytes, begun_.size())));
  }

  void finish() {
    if (!begun_.empty()) {
      end_line({});
    }
  }

 private:
  void end_line(std::string_view rest) {
    if (begun_.empty()) {
      answers_.add_line(rest);
      return;
    }
    begun_.append(rest.substr(0, kMaxLineBytes));
    answers_.add_line(begun_);
    begun_.clear();
  }

  Answers& answers_;
  std::string begun_;
};

Status answer_all(Answers& answers) {
  LineSplitter lines(answers);
  std::array<char, kBlockBytes> block{};
  while (true) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return fail_errno(errno, "reading addresses from standard input");
    }
    if (got == 0) {
      lines.finish();
    }
    lines.add({block.data(), static_cast<size_t>(got)});
    if (auto written = write_all(answers.out()); !written) {
      return written;
    }
    if (got == 0) {
      return answers.status();
    }
  }
}

Result<symbolizer::MappedTable> table_of_build(const SymbolizeOptions& options) {
  const auto build_id = from_hex(options.build_id);
  if (!build_id || build_id->empty()) {
    return with_field(
        fail(ErrorCode::kInvalid, "\"{}\" is not a build ID in hexadecimal digits", options.build_id),
        "--build-id");
  }
  if (const auto opened = store::DataDirectory::open_for_reading(options.data_dir); !opened) {
    return propagate(opened);
  }
  auto table = open_table(symbolizer::table_path(options.data_dir, *build_id));
  if (!table && table.error().code == ErrorCode::kNotFound) {
    return with_hint(
        fail(ErrorCode::kNotFound, "{} has no symbol table of build {}", options.data_dir, options.build_id),
        "run \"plimsoll import --data DIR\" to look for symbols of sampled binaries; for other binaries give "
        "--binary FILE");
  }
  return table;
}

using FoundTable = std::optional<symbolizer::MappedTable>;

// Nothing of a binary without symbols: its addresses are unknown, and are answered so.
Result<FoundTable> table_of_binary(const TableSource& source) {
  auto made = make_table(source);
  if (!made) {
    return propagate(made);
  }
  if (!made->mapped) {
    fmt::print(stderr, "note: {} has no symbols: {}; install its debug package, or give --debug FILE\n",
               source.files.binary, made->reasons);
  }
  return std::move(made->mapped);
}

Result<FoundTable> table_of(const SymbolizeOptions& options) {
  if (options.table.empty() && options.build_id.empty()) {
    return table_of_binary(options.source);
  }
  auto kept = options.build_id.empty() ? open_table(options.table) : table_of_build(options);
  return kept ? Result<FoundTable>(std::move(*kept)) : propagate(kept);
}

}  // namespace

Status run_symbolize(const SymbolizeOptions& options) {
  const auto mapped = table_of(options);
  if (!mapped) {
    return propagate(mapped);
  }
  const FoundTable& found = *mapped;
  Answers answers(found ? &found->table : nullptr, options.names);
  return answer_all(answers);
}

}  // namespace plimsoll::cli
