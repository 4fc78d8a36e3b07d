#include "objects/object_store.h"

#include <algorithm>

#include "base/file.h"
#include "base/file_modes.h"
#include "objects/folder_store.h"
#include "objects/s3_store.h"

namespace plimsoll::objects {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::string_view kFile = "file://";
constexpr uint64_t kMaxCredentialsBytes = 4096;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Takes the first line off.
std::string_view next_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  return line;
}

bool is_visible(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Status read_credentials(const std::string& path, S3Options& options) {
  if (path.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "s3:// requires a file with credentials"),
                     "write the ID of a key into its first line, and its secret into the second");
  }
  const auto text = read_file(path, kMaxCredentialsBytes);
  if (!text) {
    return propagate(text, "reading the credentials of the object store");
  }
  warn_if_others_may_read(path, "the credentials of the object store");
  std::string_view rest = *text;
  options.access_key_id = next_line(rest);
  options.secret_access_key = next_line(rest);
  // A ':' would end the ID where it is sent.
  const bool is_id = is_visible(options.access_key_id) && !options.access_key_id.contains(':');
  return is_id && is_visible(options.secret_access_key)
             ? Status()
             : with_hint(fail(ErrorCode::kInvalid, "{} has no credentials of an object store", path),
                         "write the ID of a key into its first line, and its secret into the second");
}

Status check_endpoint(const StoreAddress& address) {
  constexpr const char* kHint = "write https://HOST or https://HOST:PORT";
  const std::string& endpoint = address.endpoint;
  // Errors of requests show the URL. It is not shown here: it may have a password.
  if (endpoint.find_first_of("@?# \t") != std::string::npos) {
    return with_hint(fail(ErrorCode::kInvalid, "the endpoint of s3:// has a user, a query or a space"),
                     kHint);
  }
  const bool is_plain = endpoint.starts_with("http://");
  if (!is_plain && !endpoint.starts_with("https://")) {
    return with_hint(fail(ErrorCode::kInvalid, "s3:// requires the endpoint's URL, not \"{}\"", endpoint),
                     kHint);
  }
  return is_plain && !address.ca.empty()
             ? Status(with_hint(
                   fail(ErrorCode::kInvalid, "the authority {} requires an endpoint with https://, not {}",
                        address.ca, endpoint),
                   kHint))
             : Status();
}

Result<std::unique_ptr<ObjectStore>> open_s3(const StoreAddress& address) {
  S3Options options{.endpoint = address.endpoint, .region = address.region, .ca = address.ca};
  std::string_view rest = std::string_view(address.address).substr(kS3.size());
  while (rest.ends_with('/')) {
    rest.remove_suffix(1);
  }
  const size_t slash = rest.find('/');
  options.bucket = rest.substr(0, slash);
  options.prefix = slash == std::string_view::npos ? "" : std::string(rest.substr(slash + 1));
  const bool is_bucket = is_object_key(options.bucket);
  const bool is_prefix = slash == std::string_view::npos || is_object_key(options.prefix);
  if (!is_bucket || !is_prefix) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the object store's address {}: no bucket and prefix", address.address),
        "write s3://BUCKET or s3://BUCKET/PREFIX, of letters, digits and \"-._/\"");
  }
  if (const Status checked = check_endpoint(address); !checked) {
    return propagate(checked);
  }
  const bool is_region = !address.region.empty() && std::ranges::all_of(address.region, [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_';
  });
  if (!is_region) {
    return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is no region of an object store", address.region),
                     "write the region of the bucket, such as us-east-1");
  }
  const Status read = read_credentials(address.credentials_file, options);
  return read ? Result<std::unique_ptr<ObjectStore>>(std::make_unique<S3Store>(std::move(options)))
              : propagate(read);
}

}  // namespace

bool is_object_key(std::string_view key) {
  constexpr size_t kMaxKeyBytes = 512;  // S3 takes 1024, prefix included
  const bool is_plain = std::ranges::all_of(
      key, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '/'; });
  if (!is_plain || key.size() > kMaxKeyBytes) {
    return false;
  }
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view part = key.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
    begin = end + 1;
  }
  return true;
}

Result<std::unique_ptr<ObjectStore>> open_object_store(const StoreAddress& address) {
  if (address.address.starts_with(kS3)) {
    return open_s3(address);
  }
  if (address.address.starts_with(kFile) && address.address.size() > kFile.size() + 1 &&
      address.address[kFile.size()] == '/') {
    return std::make_unique<FolderStore>(address.address.substr(kFile.size()));
  }
  return with_hint(fail(ErrorCode::kInvalid, "\"{}\" is no address of an object store", address.address),
                   "write s3://BUCKET/PREFIX, or file:///FOLDER");
}

}  // namespace plimsoll::objects
