#include "server/replica/fleet_fetcher.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/time.h"
#include "base/unique_fd.h"

namespace plimsoll::server {
namespace {

constexpr std::string_view kDirectory = "/api/v1/directory";
constexpr size_t kMaxFactsBytes = 64UL << 10;
// A copy is replaced every few seconds, and two are kept.
constexpr int kMaxAttempts = 3;

class FactsSink : public http::BodySink {
 public:
  Status take(Bytes piece) override {
    if (piece.size() > kMaxFactsBytes - text_.size()) {
      return fail(ErrorCode::kTooLarge, "the list of a copy has more than {} bytes", kMaxFactsBytes);
    }
    text_ += as_text(piece);
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class CopySink : public http::BodySink {
 public:
  CopySink(const UniqueFd& fd, const std::string& path, uint64_t max_bytes)
      : fd_(fd), path_(path), left_bytes_(max_bytes) {}

  Status take(Bytes piece) override {
    if (piece.size() > left_bytes_) {
      return fail(ErrorCode::kCorrupt, "{} has more bytes than the server has said", path_);
    }
    left_bytes_ -= piece.size();
    while (!piece.empty()) {
      const ssize_t written = ::write(fd_.get(), piece.data(), piece.size());
      if (written < 0 && errno != EINTR) {
        return fail_errno(errno, "writing {}", path_);
      }
      piece = piece.subspan(written < 0 ? 0 : static_cast<size_t>(written));
    }
    return {};
  }
  uint64_t left_bytes() const { return left_bytes_; }

 private:
  const UniqueFd& fd_;
  const std::string& path_;
  uint64_t left_bytes_;
};

// Of the header Age; 0 where there is none.
int64_t age_ns_of(const http::Response& response) {
  const std::string_view text = response.header("Age");
  int64_t age_s = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), age_s);
  constexpr int64_t kMaxAgeS = int64_t{365} * 24 * 3600;
  return parsed.ec == std::errc() ? std::clamp<int64_t>(age_s, 0, kMaxAgeS) * kNsPerSecond : 0;
}

std::unexpected<Error> refusal(const http::Response& response) {
  Error error = http::error_of(response, "asking the primary server for its machines and draws");
  if (error.hint.empty()) {
    error.hint = "check primary.server, and that it runs this version of Plimsoll with a data directory";
  }
  return std::unexpected(std::move(error));
}

bool has_file(const store::CopiedDirectory& known, const wire::DirectoryCopy::File& file) {
  const auto& files = known.facts().files();
  return std::any_of(files.begin(), files.end(), [&file](const wire::DirectoryCopy::File& other) {
    return other.name() == file.name() && other.size_bytes() == file.size_bytes() &&
           other.content_hash() == file.content_hash();
  });
}

}  // namespace

FleetFetcher::FleetFetcher(FetcherSettings settings)
    : settings_(std::move(settings)), client_(settings_.client) {}

Result<FleetFetcher::Fetched> FleetFetcher::fetch(const store::CopiedDirectory* known, bool wants_all) {
  for (int attempt = 1;; ++attempt) {
    auto fetched = fetch_once(known, wants_all);
    // kNotFound of a file: a newer copy is there.
    if (fetched || fetched.error().code != ErrorCode::kNotFound || attempt == kMaxAttempts) {
      return fetched;
    }
  }
}

Result<FleetFetcher::Fetched> FleetFetcher::fetch_once(const store::CopiedDirectory* known, bool wants_all) {
  FactsSink sink;
  http::Fields headers;
  if (known != nullptr) {
    headers.emplace_back("If-None-Match", "\"" + known->facts().id() + "\"");
  }
  const auto response =
      client_.receive(fmt::format("{}{}", kDirectory, wants_all ? "?newest=yes" : ""), sink, headers);
  if (!response) {
    return propagate(response, "asking the primary server for its machines and draws");
  }
  const int64_t age_ns = age_ns_of(*response);
  if (response->status == 304 && known != nullptr) {
    return Fetched{nullptr, age_ns};
  }
  if (response->status != 200) {
    return refusal(*response);
  }
  wire::DirectoryCopy facts;
  if (!facts.ParseFromString(sink.text())) {
    return fail(ErrorCode::kCorrupt, "what the primary server says of its machines and draws is no message");
  }
  if (const Status sound = store::check_copy(facts); !sound) {
    return propagate(sound);
  }
  auto copy = fetch_files(known, facts);
  return copy ? Result<Fetched>(Fetched{*std::move(copy), age_ns}) : propagate(copy);
}

Result<std::shared_ptr<store::CopiedDirectory>> FleetFetcher::fetch_files(const store::CopiedDirectory* known,
                                                                          const wire::DirectoryCopy& facts) {
  const std::string folder = fmt::format("{}/{}", settings_.folder, facts.id());
  const auto fill = [&]() -> Result<std::shared_ptr<store::CopiedDirectory>> {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    std::filesystem::create_directories(folder, error);
    if (error) {
      return fail_errno(error.value(), "creating {}", folder);
    }
    uint64_t left_bytes = settings_.max_bytes;
    for (const wire::DirectoryCopy::File& file : facts.files()) {
      if (file.size_bytes() > left_bytes) {
        return fail(ErrorCode::kTooLarge, "the copy of machines and draws has more than {} bytes",
                    settings_.max_bytes);
      }
      left_bytes -= file.size_bytes();
      const Status fetched = fetch_file(known, facts, file, fmt::format("{}/{}", folder, file.name()));
      if (!fetched) {
        return propagate(fetched);
      }
    }
    return store::CopiedDirectory::make(folder, facts);
  };
  auto made = fill();
  if (!made) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  return made;
}

Status FleetFetcher::fetch_file(const store::CopiedDirectory* known, const wire::DirectoryCopy& facts,
                                const wire::DirectoryCopy::File& file, const std::string& path) {
  if (known != nullptr && has_file(*known, file)) {
    std::error_code error;
    std::filesystem::copy_file(fmt::format("{}/{}", known->folder(), file.name()), path, error);
    return error ? Status(fail_errno(error.value(), "copying {} to {}", file.name(), path)) : Status();
  }
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return fail_errno(errno, "creating {}", path);
  }
  CopySink sink(fd, path, file.size_bytes());
  const auto response = client_.receive(fmt::format("{}/{}/{}", kDirectory, facts.id(), file.name()), sink);
  if (!response) {
    return propagate(response, "fetching {} of the primary server", file.name());
  }
  if (response->status != 200) {
    return refusal(*response);
  }
  return sink.left_bytes() == 0
             ? Status()
             : fail(ErrorCode::kUnavailable, "{} of the primary server ended {} bytes early", file.name(),
                    sink.left_bytes());
}

}  // namespace plimsoll::server
