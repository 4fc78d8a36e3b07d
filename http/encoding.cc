#include "http/encoding.h"

#include <libdeflate.h>

#include <memory>
#include <string>
#include <string_view>

namespace plimsoll::http {
namespace {

// A few packets: less is not worth the time.
constexpr size_t kMinCompressedBytes = 4UL << 10;
constexpr int kFastest = 1;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

// "gzip;q=0" refuses it.
bool is_refused(std::string_view parameters) {
  const std::string_view weight = trimmed(parameters);
  return weight.starts_with("q=0") && weight.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

bool accepts_gzip(const Request& request) {
  std::string_view codings = request.header("Accept-Encoding");
  while (!codings.empty()) {
    const size_t comma = codings.find(',');
    const std::string_view coding = codings.substr(0, comma);
    const size_t parameters = coding.find(';');
    if (trimmed(coding.substr(0, parameters)) == "gzip") {
      return parameters == std::string_view::npos || !is_refused(coding.substr(parameters + 1));
    }
    codings.remove_prefix(comma == std::string_view::npos ? codings.size() : comma + 1);
  }
  return false;
}

void compress(const Request& request, Response& response) {
  if (response.body.size() < kMinCompressedBytes) {
    return;
  }
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!accepts_gzip(request)) {
    return;
  }
  const std::unique_ptr<libdeflate_compressor, decltype(&::libdeflate_free_compressor)> compressor(
      ::libdeflate_alloc_compressor(kFastest), &::libdeflate_free_compressor);
  if (compressor == nullptr) {
    return;
  }
  std::string packed(::libdeflate_gzip_compress_bound(compressor.get(), response.body.size()), '\0');
  const size_t size = ::libdeflate_gzip_compress(compressor.get(), response.body.data(), response.body.size(),
                                                 packed.data(), packed.size());
  if (size == 0 || size >= response.body.size()) {
    return;
  }
  packed.resize(size);
  packed.shrink_to_fit();  // answers that clients have not read yet are counted
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

}  // namespace plimsoll::http
