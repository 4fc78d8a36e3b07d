#include "objects/s3_store.h"

#include "base/random.h"
#include "base/retry_pause.h"
#include "base/stop_scope.h"
#include "http/sha256.h"
#include "objects/s3_answers.h"

namespace plimsoll::objects {
namespace {

http::ClientOptions client_options(const S3Options& options) {
  return {.base_url = options.endpoint,
          .connect_timeout_ms = options.connect_timeout_ms,
          .timeout_ms = options.timeout_ms,
          .max_response_bytes = kMaxObjectBytes,
          .ends_with_stop_scope = true,
          .credentials = {.ca = options.ca,
                          .access_key_id = options.access_key_id,
                          .secret_access_key = options.secret_access_key,
                          .region = options.region}};
}

}  // namespace

S3Store::S3Store(S3Options options)
    : options_(std::move(options)), client_(client_options(options_)), random_(random_seed()) {}

std::string S3Store::full_key(std::string_view key) const {
  return options_.prefix.empty() ? std::string(key) : fmt::format("{}/{}", options_.prefix, key);
}

// What a key may hold stands for itself in a URL.
Result<std::string> S3Store::path_of(const std::string& key) const {
  return is_object_key(key)
             ? Result<std::string>(fmt::format("/{}/{}", options_.bucket, full_key(key)))
             : Result<std::string>(fail(ErrorCode::kInvalid, "\"{}\" is no key of an object", key));
}

Status S3Store::put(const std::string& key, Bytes content) {
  if (content.size() > kMaxObjectBytes) {
    return fail(ErrorCode::kTooLarge, "putting the object {}: it has {} bytes", key, content.size());
  }
  const auto path = path_of(key);
  const auto answer = path ? send_again_and_again("PUT", *path, as_text(content)) : propagate(path);
  return answer ? Status() : propagate(answer, "putting the object {}", key);
}

Result<std::string> S3Store::get(const std::string& key, uint64_t max_bytes) {
  const auto path = path_of(key);
  auto answer = path ? send_again_and_again("GET", *path, {}) : propagate(path);
  if (!answer) {
    return propagate(answer, "getting the object {}", key);
  }
  if (answer->body.size() > max_bytes) {
    return fail(ErrorCode::kTooLarge, "getting the object {}: it has {} bytes, and {} were expected", key,
                answer->body.size(), max_bytes);
  }
  return std::move(answer->body);
}

Result<std::vector<ObjectInfo>> S3Store::list(const std::string& prefix) {
  const std::string begin = full_key("");
  std::vector<ObjectInfo> objects;
  std::string token;
  int pages = 0;
  do {
    // Sorted by key, as it is signed.
    const std::string query = fmt::format(
        "{}list-type=2&prefix={}", token.empty() ? "" : "continuation-token=" + http::url_encode(token) + "&",
        http::url_encode(begin + prefix));
    const auto answer = send_again_and_again("GET", fmt::format("/{}?{}", options_.bucket, query), {});
    auto page = answer ? parse_list(answer->body) : propagate(answer);
    if (!page) {
      return propagate(page, "listing the objects {}", prefix);
    }
    for (const ObjectInfo& object : page->objects) {
      if (object.key.starts_with(begin)) {
        objects.push_back({object.key.substr(begin.size()), object.bytes});
      }
    }
    const bool is_at_limit =
        ++pages >= options_.max_list_pages || objects.size() >= options_.max_listed_objects;
    if (!page->next_token.empty() && (page->next_token == token || is_at_limit)) {
      return fail(ErrorCode::kCorrupt,
                  "listing the objects {}: the server's list has no end after {} objects in {} pages", prefix,
                  objects.size(), pages);
    }
    token = std::move(page->next_token);
  } while (!token.empty());
  return objects;
}

Status S3Store::remove(const std::string& key) {
  const auto path = path_of(key);
  const auto answer = path ? send_again_and_again("DELETE", *path, {}) : propagate(path);
  const bool is_gone = answer || answer.error().code == ErrorCode::kNotFound;
  return is_gone ? Status() : propagate(answer, "removing the object {}", key);
}

Result<http::Response> S3Store::send_again_and_again(std::string_view method,
                                                     const std::string& path_and_query,
                                                     std::string_view body) {
  for (int attempt = 1;; ++attempt) {
    auto answer = send(method, path_and_query, body);
    const bool may_help = !answer && answer.error().code == ErrorCode::kUnavailable;
    if (!may_help || attempt >= options_.max_attempts) {
      return answer;
    }
    if (const Status paused = pause_before_retry(attempt, options_.first_pause_ns, random_); !paused) {
      return propagate(paused);
    }
  }
}

Result<http::Response> S3Store::send(std::string_view method, const std::string& path_and_query,
                                     std::string_view body) {
  if (const Status stopped = check_stop(); !stopped) {
    return propagate(stopped);
  }
  auto response =
      client_.send(method, path_and_query, body, method == "PUT" ? "application/octet-stream" : "",
                   {{"x-amz-content-sha256", http::sha256(as_bytes(body))}});
  if (!response) {
    // What ended the request is the error of the work, and no failure of the server.
    const Status stopped = check_stop();
    return stopped ? std::move(response) : propagate(stopped);
  }
  return response->ok() ? std::move(response) : std::unexpected(s3_error(*response));
}

}  // namespace plimsoll::objects
