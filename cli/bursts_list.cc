#include "cli/bursts_list.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "cli/views/terminal.h"
#include "proto/fleet.pb.h"
#include "query/table/table.h"
#include "store/directory/data_directory.h"
#include "store/store.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::cli {
namespace {

// Where recordings are added. True: it was not there.
class BurstsTarget {
 public:
  BurstsTarget() = default;
  BurstsTarget(const BurstsTarget&) = delete;
  BurstsTarget& operator=(const BurstsTarget&) = delete;
  virtual ~BurstsTarget() = default;
  virtual Result<bool> add(const std::string& id, const std::string& bytes) = 0;
};

class ServerOfBursts : public BurstsTarget {
 public:
  explicit ServerOfBursts(AnswerSource target) : target_(std::move(target)) {}

  Result<bool> add(const std::string& id, const std::string& bytes) override {
    const auto answer = put_to_server(target_, "/api/v1/bursts/recordings/" + to_hex(id), {}, bytes);
    if (!answer) {
      return propagate(answer);
    }
    wire::UploadReply reply;
    return reply.ParseFromString(*answer)
               ? Result<bool>(!reply.already_known())
               : fail(ErrorCode::kUnsupported, "the server's answer is of another version");
  }

 private:
  const AnswerSource target_;
};

class DirectoryOfBursts : public BurstsTarget {
 public:
  static Result<std::unique_ptr<BurstsTarget>> open(const std::string& data_dir) {
    auto directory = store::DataDirectory::open_for_writing(data_dir);
    if (!directory) {
      return propagate(directory, "opening the data directory {}", data_dir);
    }
    auto sink = store::open_burst_sink(*directory);
    if (!sink) {
      return propagate(sink);
    }
    return std::unique_ptr<BurstsTarget>(new DirectoryOfBursts(*std::move(directory), *std::move(sink)));
  }

  Result<bool> add(const std::string& id, const std::string& bytes) override {
    const auto recording = traces::decode_bursts(as_bytes(bytes));
    const auto summary =
        recording ? store::summary_of(*recording) : Result<store::StoredBursts>(propagate(recording));
    return summary ? sink_->add(id, *summary, as_bytes(bytes)) : propagate(summary);
  }

 private:
  DirectoryOfBursts(store::DataDirectory directory, std::unique_ptr<store::BurstSink> sink)
      : directory_(std::move(directory)), sink_(std::move(sink)) {}

  const store::DataDirectory directory_;  // holds the lock
  const std::unique_ptr<store::BurstSink> sink_;
};

Result<std::unique_ptr<BurstsTarget>> open_target(const AnswerSource& target) {
  if (!is_named(target)) {
    return with_hint(fail(ErrorCode::kInvalid, "bursts upload requires --server ADDR or --data DIR"),
                     "give the address of a server, or a data directory");
  }
  return target.server.empty()
             ? DirectoryOfBursts::open(target.data_dir)
             : Result<std::unique_ptr<BurstsTarget>>(std::make_unique<ServerOfBursts>(target));
}

}  // namespace

Status run_bursts_list(const TableOptions& options) {
  if (!is_named(options.source)) {
    return fail(ErrorCode::kInvalid, "bursts list requires --server ADDR or --data DIR");
  }
  const auto table = ask_table("bursts", options);
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, options.form, style_of_output()));
  return {};
}

Status run_bursts_upload(const BurstsUploadOptions& options) {
  const auto target = open_target(options.target);
  if (!target) {
    return propagate(target);
  }
  for (const std::string& file : options.files) {
    const auto bytes = read_file(file, traces::BurstFileLimits().max_encoded_bytes);
    // The same file has the same ID wherever it comes from.
    const std::string id = bytes ? content_hash(as_bytes(*bytes)) : std::string();
    const auto is_new = bytes ? (*target)->add(id, *bytes) : Result<bool>(propagate(bytes));
    if (!is_new) {
      return bytes ? propagate(is_new, "uploading {}", file) : propagate(is_new);
    }
    fmt::print("{}: {} {}\n", file, *is_new ? "stored as" : "already there as", to_hex(id));
  }
  return {};
}

}  // namespace plimsoll::cli
