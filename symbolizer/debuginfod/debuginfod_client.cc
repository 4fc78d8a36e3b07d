#include "symbolizer/debuginfod/debuginfod_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/printable.h"
#include "base/time.h"
#include "http/client.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kMaxRedirects = 3;
constexpr int64_t kMaxConnectMs = 5'000;
constexpr uint64_t kBytesBetweenRoomChecks = uint64_t{1} << 20;

// Into a file of the repository. Tells an error of this machine from one of the answer.
class FetchSink : public http::BodySink {
 public:
  FetchSink(StagedBinary staged, const FetchRequest& request)
      : staged_(std::move(staged)), request_(request) {}

  Status take(Bytes piece) override {
    if (request_.check_room && staged_.bytes() >= next_check_bytes_) {
      next_check_bytes_ = staged_.bytes() + kBytesBetweenRoomChecks;
      if (const Status room = request_.check_room(kBytesBetweenRoomChecks); !room) {
        return failed(room);
      }
    }
    return failed(staged_.write(piece));
  }

  // Of this machine; nothing where all was well here.
  const std::optional<Error>& local_error() const { return local_error_; }
  uint64_t bytes() const { return staged_.bytes(); }
  StagedBinary release() { return std::move(staged_); }

 private:
  Status failed(Status status) {
    // A file over binaries.max_file_bytes is the server's doing.
    if (!status && status.error().code != ErrorCode::kTooLarge) {
      local_error_ = status.error();
    }
    return status;
  }

  StagedBinary staged_;
  const FetchRequest& request_;
  uint64_t next_check_bytes_ = 0;
  std::optional<Error> local_error_;
};

bool is_redirect(unsigned status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

FetchAnswer refused(std::string reason) {
  return {.end = FetchEnd::kRefused, .reason = std::move(reason)};
}

FetchAnswer answer_without_file(const http::Response& response, const std::string& origin) {
  if (response.status == 404) {
    return {.end = FetchEnd::kNotFound};
  }
  std::string reason = fmt::format("{} answers with status {}", origin, response.status);
  if (response.status < 500 && response.status != 429) {
    return refused(std::move(reason));
  }
  return {
      .end = FetchEnd::kFailed, .reason = std::move(reason), .retry_after_s = http::retry_after_s(response)};
}

// One fetch, over its redirects.
class Fetch {
 public:
  Fetch(const std::vector<DebuginfodServer>& servers, size_t index, const FetchRequest& request,
        BinaryRepository& repository)
      : servers_(servers),
        server_(servers[index]),
        request_(request),
        repository_(repository),
        ends_ns_(monotonic_now_ns() + request.budget.time_ns) {}

  Result<FetchAnswer> run() {
    std::string base_url = server_.base_url;
    std::string origin = server_.origin;  // of the server that answers
    std::string path = fmt::format("/buildid/{}/{}", to_hex(request_.build_id), request_.artifact);
    for (int hop = 0; hop <= kMaxRedirects; ++hop) {
      auto staged = repository_.stage();
      if (!staged) {
        return propagate(staged);
      }
      FetchSink sink(*std::move(staged), request_);
      const auto response = ask(base_url, path, sink);
      count_beside(response, sink);
      if (const std::optional<Error>& local = sink.local_error()) {
        return std::unexpected(*local);
      }
      if (!response || !is_redirect(response->status)) {
        return end_of(response, base_url, sink);
      }
      auto target = permitted_redirect(response->header("Location"), origin, servers_);
      if (!target) {
        return counted(refused(
            fmt::format("{} redirects to a host that symbols.debuginfod does not name", server_.base_url)));
      }
      origin = std::move(target->origin);
      base_url = origin;
      path = std::move(target->path_and_query);
    }
    return counted(refused(fmt::format("{} redirects more than {} times", server_.base_url, kMaxRedirects)));
  }

 private:
  uint64_t bytes_left() const {
    return request_.budget.bytes - std::min(request_.budget.bytes, bytes_beside_);
  }

  // What came and did not go to the sink.
  void count_beside(const Result<http::Response>& response, const FetchSink& sink) {
    if (response) {
      bytes_beside_ += response->body.size();
    } else if (response.error().code == ErrorCode::kTooLarge && sink.bytes() == 0) {
      // It is lost how many came: about as many as are permitted.
      bytes_beside_ += std::min<uint64_t>(bytes_left(), http::kMaxBytesBesideSink);
    }
  }
  FetchAnswer counted(FetchAnswer answer) const {
    answer.bytes += bytes_beside_;
    return answer;
  }

  Result<http::Response> ask(const std::string& base_url, const std::string& path, FetchSink& sink) const {
    const int64_t left_ms = std::max<int64_t>(1, (ends_ns_ - monotonic_now_ns()) / 1'000'000);
    http::Client client({.base_url = base_url,
                         .connect_timeout_ms = std::min(left_ms, kMaxConnectMs),
                         .timeout_ms = left_ms,
                         .max_response_bytes = bytes_left(),
                         .cancel_fd = request_.cancel_fd});
    return client.receive(
        path, sink, {{"X-DEBUGINFOD-MAXSIZE", std::to_string(bytes_left())}, {"User-Agent", "plimsoll"}});
  }

  Result<FetchAnswer> end_of(const Result<http::Response>& response, const std::string& base_url,
                             FetchSink& sink) {
    FetchAnswer answer;
    if (!response) {
      const bool is_large = response.error().code == ErrorCode::kTooLarge;
      answer.end = is_large ? FetchEnd::kRefused : FetchEnd::kFailed;
      answer.reason = response.error().message;
    } else if (response->status != 200) {
      answer = answer_without_file(*response, base_url);
    } else {
      return keep(base_url, sink);
    }
    answer.bytes = sink.bytes();
    return counted(std::move(answer));
  }

  Result<FetchAnswer> keep(const std::string& base_url, FetchSink& sink) {
    const uint64_t bytes = sink.bytes();
    // It was not asked for sources, which nothing ties to the build.
    const BinaryOrigin origin{.source = fmt::format("debuginfod {}", base_url),
                              .now_ns = request_.now_ns,
                              .build_id = std::string(request_.build_id),
                              .may_be_sources = false};
    const auto added = repository_.add(sink.release(), origin);
    if (added) {
      return counted({.end = FetchEnd::kStored, .is_new = added->is_new(), .bytes = bytes});
    }
    const ErrorCode code = added.error().code;
    if (code == ErrorCode::kUnavailable || code == ErrorCode::kIo || code == ErrorCode::kDenied) {
      return propagate(added);
    }
    FetchAnswer answer = refused(
        fmt::format("{} sent a file that is not kept: {}", base_url, printable(added.error().message)));
    answer.bytes = bytes;
    return counted(std::move(answer));
  }

  const std::vector<DebuginfodServer>& servers_;
  const DebuginfodServer& server_;
  const FetchRequest& request_;
  BinaryRepository& repository_;
  const int64_t ends_ns_;
  uint64_t bytes_beside_ = 0;  // of all hops
};

}  // namespace

Result<FetchAnswer> fetch_from(const std::vector<DebuginfodServer>& servers, size_t index,
                               const FetchRequest& request, BinaryRepository& repository) {
  return Fetch(servers, index, request, repository).run();
}

}  // namespace plimsoll::symbolizer
