#include "objects/s3_answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/printable.h"

namespace plimsoll::objects {
namespace {

constexpr size_t kMaxShownBytes = 300;

// What stands between <name> and </name>, the first time; the elements of these answers have no attributes.
std::optional<std::string_view> element_of(std::string_view xml, std::string_view name) {
  const std::string opening = fmt::format("<{}>", name);
  const std::string closing = fmt::format("</{}>", name);
  const size_t begin = xml.find(opening);
  const size_t end = begin == std::string_view::npos ? begin : xml.find(closing, begin);
  return end == std::string_view::npos
             ? std::nullopt
             : std::optional(xml.substr(begin + opening.size(), end - begin - opening.size()));
}

bool read_number(std::string_view text, uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string text_of(std::string_view escaped) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string text;
  while (!escaped.empty()) {
    size_t taken = 1;
    char c = escaped.front();
    for (const auto& [entity, meaning] : kEntities) {
      if (escaped.starts_with(entity)) {
        taken = entity.size();
        c = meaning;
      }
    }
    text += c;
    escaped.remove_prefix(taken);
  }
  return text;
}

ErrorCode code_of(unsigned status, std::string_view code) {
  // Of another 404, of a proxy say, nothing follows about the object.
  if (status == 404) {
    return code == "NoSuchKey" ? ErrorCode::kNotFound : ErrorCode::kInvalid;
  }
  if (status == 401 || status == 403) {
    return ErrorCode::kDenied;
  }
  // Damaged or held up on its way: the next time it may arrive as it was sent.
  constexpr std::array<std::string_view, 4> kOfTheWay{"BadDigest", "IncompleteBody", "RequestTimeout",
                                                      "XAmzContentSHA256Mismatch"};
  const bool may_help = status == 408 || status == 409 || status == 429 || status >= 500 ||
                        std::ranges::find(kOfTheWay, code) != kOfTheWay.end();
  return may_help ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
}

std::string hint_of(unsigned status, std::string_view code) {
  if (code == "NoSuchBucket") {
    return "create the bucket";
  }
  if (code == "RequestTimeTooSkewed") {
    return "set the clock of this machine";
  }
  if (status >= 300 && status < 400) {
    return "check the endpoint and the region: the bucket is elsewhere";
  }
  if (status == 401 || status == 403 || code == "AuthorizationHeaderMalformed") {
    return "check the credentials, what they permit in this bucket, and the region";
  }
  return code.empty() && status < 500 ? "check the endpoint: an S3 server must answer there" : "";
}

}  // namespace

Error s3_error(const http::Response& response) {
  const std::string code = text_of(element_of(response.body, "Code").value_or(""));
  const std::string message =
      printable(text_of(element_of(response.body, "Message").value_or("")).substr(0, kMaxShownBytes));
  return Error{code_of(response.status, code),
               fmt::format("the object store answers {} {}{}{}", response.status,
                           printable(code.substr(0, kMaxShownBytes)), message.empty() ? "" : ": ", message),
               {},
               hint_of(response.status, code)};
}

Result<ListedPage> parse_list(std::string_view xml) {
  const auto begin = xml.find("<ListBucketResult");
  if (begin == std::string_view::npos || !xml.contains("</ListBucketResult>")) {
    return fail(ErrorCode::kCorrupt, "the answer is no list of objects");
  }
  ListedPage page;
  constexpr std::string_view kEnd = "</Contents>";
  std::string_view rest = xml;
  while (const auto content = element_of(rest, "Contents")) {
    const auto key = element_of(*content, "Key");
    const auto size = element_of(*content, "Size");
    uint64_t bytes = 0;
    if (!key || !size || !read_number(*size, bytes)) {
      return fail(ErrorCode::kCorrupt, "the list of objects has one without a key or a size");
    }
    page.objects.push_back({text_of(*key), bytes});
    rest.remove_prefix(static_cast<size_t>(content->data() - rest.data()) + content->size() + kEnd.size());
  }
  if (element_of(xml, "IsTruncated") == "true") {
    page.next_token = text_of(element_of(xml, "NextContinuationToken").value_or(""));
    if (page.next_token.empty()) {
      return fail(ErrorCode::kCorrupt, "the list of objects goes on, and does not say where");
    }
  }
  return page;
}

}  // namespace plimsoll::objects
