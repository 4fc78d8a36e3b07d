#include "tests/objects/s3_server.h"

#include <gnutls/crypto.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/durable_file.h"
#include "base/hex.h"
#include "http/client.h"
#include "http/sha256.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kMaxBodyBytes = size_t{32} << 20;

std::string hmac(std::string_view key, std::string_view text) {
  std::string mac(gnutls_hmac_get_len(GNUTLS_MAC_SHA256), '\0');
  gnutls_hmac_fast(GNUTLS_MAC_SHA256, key.data(), key.size(), text.data(), text.size(), mac.data());
  return mac;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The value of "NAME=..." among parts with ", " between; empty where there is none.
std::string part_of(std::string_view header, std::string_view name) {
  const size_t at = header.find(std::string(name) + "=");
  if (at == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = header.substr(at + name.size() + 1);
  return std::string(rest.substr(0, rest.find(',')));
}

std::string canonical_path(const http::Request& request) {
  std::string path;
  for (const std::string& part : split(request.path.substr(1), '/')) {
    path += "/" + http::url_encode(part);
  }
  return path;
}

std::string canonical_query(const http::Request& request) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : request.query) {
    pairs.push_back(http::url_encode(key) + "=" + http::url_encode(value));
  }
  std::ranges::sort(pairs);
  std::string query;
  for (const std::string& pair : pairs) {
    query += (query.empty() ? "" : "&") + pair;
  }
  return query;
}

// Why the request is refused; empty: it is signed as it must be.
std::string fault_of_signature(const http::Request& request) {
  const std::string authorization(request.header("Authorization"));
  const std::string date(request.header("x-amz-date"));
  const std::string day = date.substr(0, 8);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, S3Server::kRegion);
  if (!authorization.starts_with("AWS4-HMAC-SHA256 ") ||
      part_of(authorization, "Credential") != fmt::format("{}/{}", S3Server::kKeyId, scope)) {
    return "the credential is another: " + authorization;
  }
  const std::string hash(request.header("x-amz-content-sha256"));
  if (hash != http::sha256(as_bytes(request.body))) {
    return "the hash of the body is another";
  }
  const std::string signed_names = part_of(authorization, "SignedHeaders");
  const std::vector<std::string> names = split(signed_names, ';');
  if (!std::ranges::is_sorted(names)) {
    return "the signed headers are not sorted";
  }
  for (const auto& [name, value] : request.headers) {
    const std::string of = lower(name);
    const bool must_be_signed = of == "host" || of == "content-type" || of.starts_with("x-amz-");
    if (must_be_signed && std::ranges::find(names, of) == names.end()) {
      return "not signed: " + of;
    }
  }
  std::string headers;
  for (const std::string& name : names) {
    if (request.header(name).empty()) {
      return "signed, and not there: " + name;
    }
    headers += fmt::format("{}:{}\n", name, request.header(name));
  }
  const std::string canonical = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, canonical_path(request),
                                            canonical_query(request), headers, signed_names, hash);
  const std::string to_sign =
      fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", date, scope, http::sha256(as_bytes(canonical)));
  std::string key = hmac(std::string("AWS4") + S3Server::kSecret, day);
  for (const char* const part : {S3Server::kRegion, "s3", "aws4_request"}) {
    key = hmac(key, part);
  }
  return to_hex(hmac(key, to_sign)) == part_of(authorization, "Signature")
             ? ""
             : "another signature of\n" + canonical;
}

http::Response xml(unsigned status, std::string body) {
  return {.status = status, .content_type = "application/xml", .body = std::move(body)};
}

http::Response s3_failure(unsigned status, std::string_view code, std::string_view message) {
  return xml(status,
             fmt::format("<?xml version=\"1.0\"?>\n<Error><Code>{}</Code><Message>{}</Message></Error>", code,
                         message));
}

}  // namespace

S3Server::S3Server() {
  const auto handle = [this](const http::Request& request) { return answer(request); };
  const std::string bucket = std::string("/") + kBucket;
  std::vector<http::Route> routes;
  routes.push_back({.method = "GET", .path = bucket, .handle = handle});
  for (const char* const method : {"GET", "PUT", "DELETE"}) {
    routes.push_back({.method = method,
                      .path = bucket + "/",
                      .is_prefix = true,
                      .max_body_bytes = kMaxBodyBytes,
                      .handle = handle});
  }
  auto listener = http::Listener::start({}, std::move(routes));
  EXPECT_TRUE(listener) << listener.error().text();
  if (!listener) {
    std::abort();
  }
  listener_ = *std::move(listener);
}

void S3Server::fail_by(std::function<S3Fault(uint64_t number)> fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  requests_ = 0;
}

uint64_t S3Server::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::map<std::string, std::string> S3Server::objects() const {
  const std::lock_guard lock(mutex_);
  return objects_;
}

void S3Server::change(const std::function<void(std::map<std::string, std::string>& objects)>& work) {
  const std::lock_guard lock(mutex_);
  work(objects_);
}

void S3Server::set_page_objects(size_t objects) {
  const std::lock_guard lock(mutex_);
  page_objects_ = objects;
}

Status S3Server::write_credentials(const std::string& path) {
  return write_file_durably(path, as_bytes(fmt::format("{}\n{}\n", kKeyId, kSecret)));
}

http::Response S3Server::answer(const http::Request& request) {
  if (const std::string fault = fault_of_signature(request); !fault.empty()) {
    return s3_failure(403, "SignatureDoesNotMatch", fault);
  }
  const std::lock_guard lock(mutex_);
  const S3Fault fault = fault_ ? fault_(requests_) : S3Fault::kNone;
  ++requests_;
  if (fault == S3Fault::kRefused) {
    return s3_failure(503, "SlowDown", "Reduce your request rate.");
  }
  http::Response served = serve(request);
  return fault == S3Fault::kLostAnswer ? s3_failure(503, "InternalError", "The answer is lost.") : served;
}

http::Response S3Server::serve(const http::Request& request) {
  const std::string bucket = std::string("/") + kBucket;
  if (request.path == bucket) {
    return list(request);
  }
  const std::string key = request.path.substr(bucket.size() + 1);
  if (request.method == "PUT") {
    objects_[key] = request.body;
    return xml(200, "");
  }
  if (request.method == "DELETE") {
    objects_.erase(key);
    return xml(204, "");
  }
  const auto object = objects_.find(key);
  return object == objects_.end()
             ? s3_failure(404, "NoSuchKey", "The specified key does not exist.")
             : http::Response{
                   .status = 200, .content_type = "application/octet-stream", .body = object->second};
}

http::Response S3Server::list(const http::Request& request) const {
  std::string prefix;
  std::string after;
  for (const auto& [key, value] : request.query) {
    prefix = key == "prefix" ? value : prefix;
    after = key == "continuation-token" ? value : after;
  }
  std::string body =
      "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  size_t listed = 0;
  std::string last;
  bool is_truncated = false;
  for (const auto& [key, content] : objects_) {
    // A token has characters that must be encoded.
    if (!key.starts_with(prefix) || (!after.empty() && "&+ " + key <= after)) {
      continue;
    }
    if (listed == page_objects_) {
      is_truncated = true;
      break;
    }
    ++listed;
    last = key;
    body += fmt::format("<Contents><Key>{}</Key><Size>{}</Size></Contents>", key, content.size());
  }
  body += fmt::format("<IsTruncated>{}</IsTruncated>", is_truncated);
  if (is_truncated) {
    body += fmt::format("<NextContinuationToken>&amp;+ {}</NextContinuationToken>", last);
  }
  return xml(200, body + "</ListBucketResult>");
}

}  // namespace plimsoll::testing
