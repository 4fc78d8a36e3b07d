#include "http/client.h"

#include <curl/curl.h>
#include <poll.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "base/log.h"

namespace plimsoll::http {
namespace {

constexpr size_t kMaxHeaderBytes = 256UL << 10;

// A server that refuses a larger body at once may close before it has read it, and then the refusal would be
// lost: ask before sending.
constexpr size_t kAskBeforeBytes = 64UL << 10;

struct Reception {
  Response response;
  size_t header_bytes = 0;
  size_t max_bytes = 0;
  bool too_large = false;
};

struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

void prepare_curl() {
  static const CURLcode prepared = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(prepared);
}

size_t receive_body(char* data, size_t /*one*/, size_t size, void* target) noexcept {
  auto& reception = *static_cast<Reception*>(target);
  std::string& body = reception.response.body;
  if (size > reception.max_bytes - body.size()) {
    reception.too_large = true;
    return 0;
  }
  try {
    body.append(data, size);
  } catch (...) {
    reception.too_large = true;
    return 0;
  }
  return size;
}

void take_header_line(std::string_view line, Response& response) {
  if (line.starts_with("HTTP/")) {
    response.headers.clear();  // those before belong to "100 Continue"
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return;
  }
  const size_t begin = line.find_first_not_of(" \t", colon + 1);
  const size_t end = line.find_last_not_of(" \t\r\n");
  const std::string_view value =
      begin == std::string_view::npos || end < begin ? "" : line.substr(begin, end + 1 - begin);
  response.headers.emplace_back(std::string(line.substr(0, colon)), std::string(value));
}

size_t receive_header(char* data, size_t /*one*/, size_t size, void* target) noexcept {
  auto& reception = *static_cast<Reception*>(target);
  reception.header_bytes += size;
  try {
    reception.too_large = reception.header_bytes > kMaxHeaderBytes;
    if (!reception.too_large) {
      take_header_line({data, size}, reception.response);
    }
  } catch (...) {
    reception.too_large = true;
  }
  return reception.too_large ? 0 : size;
}

// Adds the user's exceptions to ours, because setting the option hides the variable.
std::string unproxied_hosts() {
  std::string hosts = "localhost,127.0.0.0/8,::1";
  for (const char* name : {"no_proxy", "NO_PROXY"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return hosts + "," + value;
    }
  }
  return hosts;
}

bool is_sendable(std::string_view method, std::string_view path, std::string_view content_type,
                 std::string_view token, const Fields& further) {
  const auto upper = [](unsigned char c) { return std::isupper(c) != 0; };
  const auto printable = [](unsigned char c) { return c >= ' ' && c < 0x7f; };
  const auto visible = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  return !method.empty() && std::ranges::all_of(method, upper) && path.starts_with('/') &&
         std::ranges::all_of(path, visible) && std::ranges::all_of(content_type, printable) &&
         std::ranges::all_of(token, visible) && std::ranges::all_of(further, [&](const auto& field) {
           return std::ranges::all_of(field.first, visible) && std::ranges::all_of(field.second, printable);
         });
}

std::string line_of(std::string_view name, std::string_view value) {
  return fmt::format("{}: {}", name, value);
}

// A name without a value takes curl's own header out.
HeaderList headers_of(std::string_view content_type, size_t body_bytes, const std::string& token,
                      const Fields& further) {
  std::vector<std::string> lines{
      content_type.empty() ? "Content-Type:" : line_of("Content-Type", content_type),
      body_bytes > kAskBeforeBytes ? "Expect: 100-continue" : "Expect:"};
  if (!token.empty()) {
    lines.push_back(line_of("Authorization", "Bearer " + token));
  }
  for (const auto& [name, value] : further) {
    lines.push_back(line_of(name, value));
  }
  HeaderList list;
  for (const std::string& line : lines) {
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) {
      return nullptr;
    }
    if (list == nullptr) {
      list.reset(longer);  // the first one stays the first
    }
  }
  return list;
}

// Who names certificates means TLS: no typing error in an address is to send a token in the clear.
bool asks_for_tls(const Credentials& credentials) {
  return !credentials.ca.empty() || !credentials.certificate.empty();
}

bool is_plain(std::string_view url) {
  constexpr std::string_view kPlain = "http://";
  return url.size() >= kPlain.size() && ::strncasecmp(url.data(), kPlain.data(), kPlain.size()) == 0;
}

bool is_loopback(std::string_view plain_url) {
  std::string_view host = plain_url.substr(std::string_view("http://").size());
  host = host.substr(0, host.find('/'));
  return host.starts_with("127.") || host.starts_with("[::1]") || host == "localhost" ||
         host.starts_with("localhost:");
}

void set_credentials(CURL* handle, const Credentials& credentials) {
  const auto set = [handle](CURLoption option, const std::string& path) {
    if (!path.empty()) {
      curl_easy_setopt(handle, option, path.c_str());
    }
  };
  set(CURLOPT_CAINFO, credentials.ca);
  set(CURLOPT_SSLCERT, credentials.certificate);
  set(CURLOPT_SSLKEY, credentials.key);
}

void set_method(CURL* handle, const std::string& method, std::string_view body) {
  if (method == "HEAD") {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    return;
  }
  if (!body.empty() || (method != "GET" && method != "DELETE")) {
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body.empty() ? "" : body.data());
  }
  curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method.c_str());
}

// As a progress meter, which curl asks at least once a second.
int is_cancelled(void* cancel_fd, curl_off_t /*to_receive*/, curl_off_t /*received*/, curl_off_t /*to_send*/,
                 curl_off_t /*sent*/) noexcept {
  pollfd polled{*static_cast<const int*>(cancel_fd), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1 ? 1 : 0;
}

// Lets options.cancel_fd end the request; the options must live as long as it.
void set_cancelling(CURL* handle, ClientOptions& options) {
  if (options.cancel_fd >= 0) {
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &is_cancelled);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &options.cancel_fd);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  }
}

void set_limits(CURL* handle, const ClientOptions& options) {
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_ms));
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.timeout_ms));
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // timeouts by signal would hit other threads
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_NOPROXY, unproxied_hosts().c_str());
}

void set_reception(CURL* handle, Reception& reception, char* error_text) {
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &receive_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &reception);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &receive_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &reception);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error_text);
}

std::string hint_for(CURLcode code, const ClientOptions& options) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return fmt::format("check that the server runs and listens on {}", options.base_url);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "check the host's name";
    case CURLE_OPERATION_TIMEDOUT:
      return fmt::format("timed out after {} ms: check the network and the server's load",
                         options.timeout_ms);
    case CURLE_ABORTED_BY_CALLBACK:
      return "it was cancelled";
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
      return "check the server's certificate and its authority, and that the port speaks TLS";
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return "check the certificate and key files: they must exist, be readable, and be PEM";
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return "write HOST:PORT, or a URL with http:// or https://";
    default:
      return "check that a Plimsoll server answers there";
  }
}

Error transport_error(CURLcode code, const std::string& url, const char* text, const Reception& reception,
                      const ClientOptions& options) {
  if (reception.too_large) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("requesting {}: the response is larger than {} bytes", url, reception.max_bytes),
                 {},
                 "ask for less"};
  }
  const bool wrong_url = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
  return Error{wrong_url ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
               fmt::format("requesting {}: {}", url, *text == '\0' ? curl_easy_strerror(code) : text),
               {},
               hint_for(code, options)};
}

Response finished_response(CURL* handle, Reception& reception) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  Response response = std::move(reception.response);
  response.status = static_cast<unsigned>(status);
  response.content_type = response.header("Content-Type");
  return response;
}

}  // namespace

void Client::HandleDeleter::operator()(void* handle) const {
  curl_easy_cleanup(handle);
}

Client::Client(ClientOptions options) : options_(std::move(options)) {
  prepare_curl();
  if (options_.base_url.find("://") == std::string::npos) {
    options_.base_url.insert(0, asks_for_tls(options_.credentials) ? "https://" : "http://");
  }
  while (options_.base_url.ends_with('/')) {
    options_.base_url.pop_back();
  }
  if (!options_.credentials.token.empty() && is_plain(options_.base_url) && !is_loopback(options_.base_url)) {
    log_warning("the token for {} is sent unencrypted: use https:// (server.certificate)", options_.base_url);
  }
  handle_.reset(curl_easy_init());
}

Result<Response> Client::send(std::string_view method, std::string_view path_and_query, std::string_view body,
                              std::string_view content_type, const Fields& further_headers) {
  const std::string url = options_.base_url + std::string(path_and_query);
  const std::string& token = options_.credentials.token;
  if (!is_sendable(method, path_and_query, content_type, token, further_headers)) {
    return fail(ErrorCode::kInvalid, "requesting {}: method, path, content type or token cannot be sent",
                url);
  }
  if (asks_for_tls(options_.credentials) && is_plain(options_.base_url)) {
    return with_hint(fail(ErrorCode::kInvalid, "requesting {}: certificates require https://", url),
                     "write https://, or HOST:PORT alone");
  }
  const HeaderList headers = headers_of(content_type, body.size(), token, further_headers);
  if (!handle_ || !headers) {
    return fail(ErrorCode::kUnavailable, "requesting {}: no memory for a connection", url);
  }
  CURL* const handle = handle_.get();
  const std::string method_text(method);
  std::array<char, CURL_ERROR_SIZE> error_text{};
  Reception reception;
  reception.max_bytes = options_.max_response_bytes;

  curl_easy_reset(handle);  // keeps the connection
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  set_method(handle, method_text, body);
  set_limits(handle, options_);
  set_credentials(handle, options_.credentials);
  set_cancelling(handle, options_);
  set_reception(handle, reception, error_text.data());
  const CURLcode code = curl_easy_perform(handle);
  Result<Response> result =
      code == CURLE_OK ? Result<Response>(finished_response(handle, reception))
                       : std::unexpected(transport_error(code, url, error_text.data(), reception, options_));
  curl_easy_reset(handle);  // drops the pointers to what lives here
  return result;
}

std::string url_encode(std::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace plimsoll::http
