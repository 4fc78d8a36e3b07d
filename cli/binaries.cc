#include "cli/binaries.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/printable.h"
#include "base/time.h"
#include "cli/pack_sources.h"
#include "cli/views/terminal.h"
#include "config/server_config.h"
#include "formats/binary_files.h"
#include "query/operations/binaries.h"
#include "query/registry/view.h"
#include "store/directory/data_directory.h"
#include "symbolizer/repository/repository.h"
#include "symbolizer/repository/verify.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kMaxNameBytes = 512;

// Where files are added.
class BinaryTarget {
 public:
  BinaryTarget() = default;
  BinaryTarget(const BinaryTarget&) = delete;
  BinaryTarget& operator=(const BinaryTarget&) = delete;
  virtual ~BinaryTarget() = default;

  // A table with a row, as a server answers. `build_id`: hexadecimal, of sources; otherwise empty.
  virtual Result<query::Table> add(const std::string& name, Bytes content, const std::string& build_id) = 0;
};

class ServerTarget : public BinaryTarget {
 public:
  explicit ServerTarget(const BinariesAddOptions& options) : options_(options) {}

  Result<query::Table> add(const std::string& name, Bytes content, const std::string& build_id) override {
    query::Parameters parameters = options_.labels;
    if (!build_id.empty()) {
      parameters.emplace_back("build_id", build_id);
    }
    // Those of members of a package may be larger than a request's head.
    const std::string_view end =
        std::string_view(name).substr(name.size() - std::min(name.size(), kMaxNameBytes));
    parameters.emplace_back("name", printable(end));
    // Sources are compressed, and their digest would be that of what is in them.
    const bool may_go_on = build_id.empty() && content.size() >= kMinResumedBytes;
    const auto answer = may_go_on ? put_resumable(std::move(parameters), content)
                                  : put_to_server(options_.source, kPath, parameters, as_text(content));
    return answer ? query::from_json(*answer) : Result<query::Table>(propagate(answer));
  }

 private:
  // Goes on where an earlier upload ended, of this command too, as long as each brings the server more of it.
  Result<std::string> put_resumable(query::Parameters parameters, Bytes content) const {
    parameters.emplace_back("digest", to_hex(content_hash(content)));
    auto offset = offset_at_server(parameters, content.size());
    while (offset) {
      query::Parameters placed = parameters;
      placed.emplace_back("offset", std::to_string(*offset));
      auto answer = put_to_server(options_.source, kPath, placed, as_text(content.subspan(*offset)));
      if (answer || answer.error().code != ErrorCode::kUnavailable) {
        return answer;
      }
      const auto next = offset_at_server(parameters, content.size());
      if (!next || *next <= *offset) {
        return answer;
      }
      offset = next;
    }
    return propagate(offset);
  }

  Result<uint64_t> offset_at_server(const query::Parameters& parameters, uint64_t max_offset) const {
    const auto answer = ask_server(options_.source, kPath, parameters);
    if (!answer) {
      return propagate(answer);
    }
    uint64_t offset = 0;
    std::from_chars(answer->data(), answer->data() + answer->size(), offset);
    return offset < max_offset ? offset : 0;
  }

  static constexpr std::string_view kPath = "/api/v1/binaries/";
  // What is sent within seconds is sent again as soon.
  static constexpr uint64_t kMinResumedBytes = uint64_t{1} << 20;

  const BinariesAddOptions& options_;
};

class DirectoryTarget : public BinaryTarget {
 public:
  static Result<std::unique_ptr<BinaryTarget>> open(const BinariesAddOptions& options) {
    auto directory = store::DataDirectory::open_for_writing(options.source.data_dir);
    if (!directory) {
      return propagate(directory, "opening the data directory {}", options.source.data_dir);
    }
    const config::ServerConfig defaults;
    auto repository = symbolizer::BinaryRepository::open(
        options.source.data_dir, {.max_bytes = static_cast<uint64_t>(defaults.binaries_max_bytes),
                                  .max_file_bytes = static_cast<uint64_t>(defaults.binaries_max_file_bytes),
                                  .max_age_ns = defaults.binaries_max_age_ns});
    if (!repository) {
      return propagate(repository);
    }
    return std::unique_ptr<BinaryTarget>(
        new DirectoryTarget(options, *std::move(directory), *std::move(repository)));
  }

  Result<query::Table> add(const std::string& name, Bytes content, const std::string& build_id) override {
    symbolizer::BinaryOrigin origin{.source = printable("plimsoll binaries add: " + name),
                                    .now_ns = wall_now_ns(),
                                    .build_id = from_hex(build_id).value_or("")};
    for (const auto& [key, text] : options_.labels) {
      if (const Status added = symbolizer::add_label(origin.labels, key, text); !added) {
        return propagate(added);
      }
    }
    auto staged = repository_->stage();
    const Status written = staged ? staged->write(content) : propagate(staged);
    auto added = written ? repository_->add(*std::move(staged), origin)
                         : Result<symbolizer::AddedBinary>(propagate(written));
    return added ? Result<query::Table>(query::table_of_added(*added)) : propagate(added);
  }

 private:
  DirectoryTarget(const BinariesAddOptions& options, store::DataDirectory directory,
                  std::unique_ptr<symbolizer::BinaryRepository> repository)
      : options_(options), directory_(std::move(directory)), repository_(std::move(repository)) {}

  const BinariesAddOptions& options_;
  const store::DataDirectory directory_;  // holds the lock
  const std::unique_ptr<symbolizer::BinaryRepository> repository_;
};

// What became of all files.
class AddedFiles {
 public:
  explicit AddedFiles(BinaryTarget& target) : target_(target) {
    table_.columns = {{"path", ""},    {"build_id", ""},   {"file", ""},
                      {"symbols", ""}, {"bytes", "bytes"}, {"outcome", ""}};
  }

  void take(const std::string& name, const Result<formats::BinaryFile>& file) {
    ++files_;
    const auto map =
        file ? MappedFile::map(*file->fd, name, file->size_bytes) : Result<MappedFile>(propagate(file));
    note(name, map ? target_.add(name, map->bytes(), "") : Result<query::Table>(propagate(map)));
  }

  // Of the build that the files before were of.
  void take_sources(const std::string& place) {
    ++files_;
    const auto build_id = one_build();
    const auto packed = build_id ? pack_sources(place) : Result<PackedSources>(propagate(build_id));
    const auto map = packed ? MappedFile::map(packed->fd, packed->name, packed->size_bytes)
                            : Result<MappedFile>(propagate(packed));
    note(place,
         map ? target_.add(packed->name, map->bytes(), *build_id) : Result<query::Table>(propagate(map)));
  }

  const query::Table& table() const { return table_; }

  Status status() const {
    if (files_ == 0) {
      return with_hint(fail(ErrorCode::kNotFound, "there are no ELF files"),
                       "give binaries, debug files, .deb packages, or folders of them");
    }
    if (failed_.empty()) {
      return {};
    }
    return files_ == 1 ? Status(std::unexpected(failed_.front()))
                       : fail(failed_.front().code, "{} of {} files were not added, for the reasons above",
                              failed_.size(), files_);
  }

 private:
  void note(const std::string& name, const Result<query::Table>& added) {
    if (added && added->columns.size() + 1 == table_.columns.size() && added->rows.size() == 1) {
      std::vector<query::Value> row{printable(name)};
      std::ranges::copy(added->rows.front(), std::back_inserter(row));
      table_.rows.push_back(std::move(row));
      return;
    }
    Error error = added ? Error{.code = ErrorCode::kUnsupported,
                                .message = "the server's answer is of another version",
                                .field = {},
                                .hint = {}}
                        : added.error();
    failed_.push_back(std::move(error));
    fmt::print(stderr, "not added: {}: {}\n", printable(name), printable(failed_.back().text()));
  }

  Result<std::string> one_build() const {
    std::set<std::string> build_ids;
    for (const std::vector<query::Value>& row : table_.rows) {
      const auto* const build_id = std::get_if<std::string>(&row.at(1));
      build_ids.insert(build_id == nullptr ? std::string() : *build_id);
    }
    return build_ids.size() == 1
               ? Result<std::string>(*build_ids.begin())
               : with_hint(fail(ErrorCode::kInvalid, "sources are of one build, and files of {} were added",
                                build_ids.size()),
                           "give --sources with the files of one build");
  }

  BinaryTarget& target_;
  query::Table table_;
  size_t files_ = 0;
  std::vector<Error> failed_;
};

// A line on a terminal.
void show_verified(uint64_t bytes, uint64_t all_bytes) {
  fmt::print(stderr, "\r\x1b[Kverifying binaries: {} MiB, {} % ", bytes >> 20U,
             bytes * 100 / std::max<uint64_t>(all_bytes, 1));
  std::fflush(stderr);
}

}  // namespace

Status run_binaries_add(const BinariesAddOptions& options) {
  if (!is_named(options.source)) {
    return fail(ErrorCode::kInvalid, "binaries add requires --server ADDR or --data DIR");
  }
  auto target = options.source.server.empty()
                    ? DirectoryTarget::open(options)
                    : Result<std::unique_ptr<BinaryTarget>>(std::make_unique<ServerTarget>(options));
  if (!target) {
    return propagate(target);
  }
  AddedFiles added(**target);
  for (const std::string& path : options.paths) {
    formats::find_binaries(path, {},
                           [&added](const std::string& name, const Result<formats::BinaryFile>& file) {
                             added.take(name, file);
                           });
  }
  if (!options.sources.empty()) {
    added.take_sources(options.sources);
  }
  if (!added.table().rows.empty()) {
    fmt::print("{}", query::to_form(added.table(), options.form, style_of_output()));
  }
  return added.status();
}

Status run_binaries_verify(const BinariesVerifyOptions& options) {
  const auto directory = store::DataDirectory::open_for_reading(options.data_dir);
  if (!directory) {
    return propagate(directory, "opening the data directory {}", options.data_dir);
  }
  const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto verified =
      symbolizer::verify_binaries(options.data_dir, [is_terminal](uint64_t bytes, uint64_t all_bytes) {
        if (is_terminal) {
          show_verified(bytes, all_bytes);
        }
      });
  if (is_terminal) {
    fmt::print(stderr, "\r\x1b[K");
  }
  if (!verified) {
    return propagate(verified);
  }
  query::Table table;
  table.columns = {{"path", ""}, {"damage", ""}};
  for (const symbolizer::DamagedBinary& damaged : verified->damaged) {
    table.rows.push_back({printable(damaged.path), printable(damaged.why)});
  }
  table.notes.push_back(fmt::format("verified {} files of {} builds, {}", verified->files, verified->builds,
                                    query::readable(static_cast<double>(verified->bytes), "bytes")));
  fmt::print("{}", query::to_form(table, options.form, style_of_output()));
  return verified->damaged.empty()
             ? Status()
             : with_hint(fail(ErrorCode::kCorrupt, "{} files are damaged; {} binaries were read",
                              verified->damaged.size(), verified->files),
                         "remove them while no server runs, and add them again");
}

Status run_binaries_view(std::string_view view, const TableOptions& options) {
  if (!is_named(options.source)) {
    return fail(ErrorCode::kInvalid, "binaries requires --server ADDR or --data DIR");
  }
  const auto table = ask_table(view, options);
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, options.form, style_of_output()));
  return {};
}

}  // namespace plimsoll::cli
