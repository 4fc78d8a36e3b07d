#include "http/message.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "http/ignoring_case.h"

namespace plimsoll::http {
namespace {

using Json = nlohmann::json;

struct CodeStatus {
  ErrorCode code;
  unsigned status;
};

// The first row of a status is the code that it is read back as.
constexpr std::array kStatuses{
    CodeStatus{ErrorCode::kInvalid, 400},     CodeStatus{ErrorCode::kCorrupt, 400},
    CodeStatus{ErrorCode::kUnsupported, 415}, CodeStatus{ErrorCode::kTooLarge, 413},
    CodeStatus{ErrorCode::kNotFound, 404},    CodeStatus{ErrorCode::kConflict, 409},
    CodeStatus{ErrorCode::kDenied, 403},      CodeStatus{ErrorCode::kUnavailable, 503},
    CodeStatus{ErrorCode::kExhausted, 503},   CodeStatus{ErrorCode::kIo, 500},
};

// Of what is not there for now: a full disk, an exhausted budget.
constexpr int kRetryAfterS = 5;

unsigned status_of(ErrorCode code) {
  const auto* const found = std::ranges::find(kStatuses, code, &CodeStatus::code);
  return found == kStatuses.end() ? 500 : found->status;
}

// For the statuses that proxies and other servers add to ours.
ErrorCode code_of_status(unsigned status) {
  const auto* const found = std::ranges::find(kStatuses, status, &CodeStatus::status);
  if (found != kStatuses.end()) {
    return found->code;
  }
  if (status == 401 || status == 407) {
    return ErrorCode::kDenied;
  }
  const bool temporary = status == 408 || status == 429 || status >= 500;
  return temporary ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
}

ErrorCode code_of_name(std::string_view name, ErrorCode otherwise) {
  const auto* const found =
      std::ranges::find(kStatuses, name, [](const CodeStatus& row) { return name_of(row.code); });
  return found == kStatuses.end() ? otherwise : found->code;
}

std::string_view text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) {
    return {};
  }
  return found->get_ref<const std::string&>();
}

std::string_view find_field(const Fields& fields, std::string_view name) {
  const auto found = std::ranges::find_if(
      fields, [&](const auto& field) { return is_same_ignoring_case(field.first, name); });
  return found == fields.end() ? std::string_view{} : std::string_view(found->second);
}

// The beginning of a body that is not ours, fit for a terminal.
std::string excerpt(std::string_view body) {
  constexpr size_t kMaxShown = 200;
  std::string text(body.substr(0, kMaxShown));
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  return find_field(headers, name);
}

std::string_view Response::header(std::string_view name) const {
  return find_field(headers, name);
}

Response error_response(const Error& error) {
  const Json document = {{"error",
                          {{"code", name_of(error.code)},
                           {"message", error.message},
                           {"field", error.field},
                           {"hint", error.hint}}}};
  Response response;
  response.status = status_of(error.code);
  if (response.status == 503) {
    response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterS));
  }
  response.body = document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return response;
}

Error error_of(const Response& response, std::string_view what) {
  const ErrorCode status_code = code_of_status(response.status);
  const Json document = Json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  const auto error = document.is_object() ? document.find("error") : document.end();
  if (error == document.end() || !error->is_object() || text_member(*error, "message").empty()) {
    return Error{status_code,
                 fmt::format("{}: the server answered with status {} {}", what, response.status,
                             excerpt(response.body)),
                 {},
                 "check that a Plimsoll server has this address"};
  }
  return Error{code_of_name(text_member(*error, "code"), status_code),
               fmt::format("{}: {}", what, text_member(*error, "message")),
               std::string(text_member(*error, "field")), std::string(text_member(*error, "hint"))};
}

int64_t retry_after_s(const Response& response) {
  constexpr int64_t kMaxSeconds = int64_t{24} * 3600;
  const std::string_view text = response.header("Retry-After");
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::clamp<int64_t>(seconds, 0, kMaxSeconds) : 0;
}

}  // namespace plimsoll::http
