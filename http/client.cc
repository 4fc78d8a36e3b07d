#include "http/client.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/stop_scope.h"

namespace plimsoll::http {
namespace {

constexpr size_t kMaxHeaderBytes = 256UL << 10;

// A server that refuses a larger body at once may close before it has read it, and then the refusal would be
// lost: ask before sending.
constexpr size_t kAskBeforeBytes = 64UL << 10;

struct Reception {
  Response response;
  size_t header_bytes = 0;
  size_t max_bytes = 0;  // of the body in memory
  size_t max_sink_bytes = 0;
  bool too_large = false;
  CURL* handle = nullptr;
  BodySink* sink = nullptr;  // of a 200
  size_t sink_bytes = 0;
  std::optional<Error> sink_error = {};
};

struct Transmission {
  BodySource* source = nullptr;
  std::optional<Error> error = {};
};

size_t read_body(char* room, size_t /*one*/, size_t size, void* source) noexcept {
  auto& transmission = *static_cast<Transmission*>(source);
  try {
    const auto given = transmission.source->give({room, size});
    if (given) {
      return *given;
    }
    transmission.error = given.error();
  } catch (...) {
    transmission.error = Error{ErrorCode::kExhausted, "reading what must be sent: no memory", {}, {}};
  }
  return CURL_READFUNC_ABORT;
}

struct Opening {
  const std::function<Result<UniqueFd>()>* open = nullptr;
  UniqueFd connection = {};
  curl_socket_t stand_in = CURL_SOCKET_BAD;  // owned by libcurl
  std::optional<Error> error = {};
};

// libcurl 7.88 connects what it gets, even where it is told that it is connected. So it gets a socket of datagrams, whose connect() sends
// nothing, and which take_connection() replaces before the request is sent.
curl_socket_t open_socket(void* target, curlsocktype /*purpose*/, curl_sockaddr* address) noexcept {
  auto& opening = *static_cast<Opening*>(target);
  try {
    auto connection = (*opening.open)();
    if (connection) {
      opening.connection = *std::move(connection);
      opening.stand_in = ::socket(address->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      return opening.stand_in;
    }
    opening.error = connection.error();
  } catch (...) {
    opening.error = Error{ErrorCode::kExhausted, "opening a connection: no memory", {}, {}};
  }
  return CURL_SOCKET_BAD;
}

int take_connection(void* target, char* /*remote_host*/, char* /*local_host*/, int /*remote_port*/,
                    int /*local_port*/) noexcept {
  auto& opening = *static_cast<Opening*>(target);
  if (!opening.connection.valid()) {
    return CURL_PREREQFUNC_OK;  // a connection of an earlier request
  }
  const int fd = opening.connection.get();
  const int flags = ::fcntl(fd, F_GETFL);
  const bool is_taken = flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
                        ::dup3(fd, opening.stand_in, O_CLOEXEC) == opening.stand_in;
  opening.connection = UniqueFd();
  return is_taken ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

void prepare_curl() {
  static const CURLcode prepared = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(prepared);
}

bool is_for_sink(const Reception& reception) {
  long status = 0;
  curl_easy_getinfo(reception.handle, CURLINFO_RESPONSE_CODE, &status);
  return reception.sink != nullptr && status == 200;
}

size_t give_to_sink(Reception& reception, Bytes piece) {
  if (piece.size() > reception.max_sink_bytes - reception.sink_bytes) {
    reception.too_large = true;
    return 0;
  }
  reception.sink_bytes += piece.size();
  const Status taken = reception.sink->take(piece);
  if (!taken) {
    reception.sink_error = taken.error();
  }
  return taken ? piece.size() : 0;
}

size_t receive_body(char* data, size_t /*one*/, size_t size, void* target) noexcept {
  auto& reception = *static_cast<Reception*>(target);
  if (is_for_sink(reception)) {
    try {
      return give_to_sink(reception, as_bytes(std::string_view(data, size)));
    } catch (...) {
      reception.too_large = true;
      return 0;
    }
  }
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

// A name without a value takes curl's own header out. libcurl 7.88 signs these names too, and a server refuses the signature of a header
// that does not come: a signed request has none of them.
HeaderList headers_of(std::string_view content_type, size_t body_bytes, const Credentials& credentials,
                      const Fields& further) {
  const bool is_signed = !credentials.access_key_id.empty();
  std::vector<std::string> lines;
  if (!is_signed || !content_type.empty()) {
    lines.push_back(content_type.empty() ? "Content-Type:" : line_of("Content-Type", content_type));
  }
  if (!is_signed) {
    lines.emplace_back(body_bytes > kAskBeforeBytes ? "Expect: 100-continue" : "Expect:");
  }
  if (!credentials.token.empty()) {
    lines.push_back(line_of("Authorization", "Bearer " + credentials.token));
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

std::string with_scheme(std::string base_url, const Credentials& credentials) {
  if (base_url.find("://") == std::string::npos) {
    base_url.insert(0, asks_for_tls(credentials) ? "https://" : "http://");
  }
  return base_url;
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
  if (!credentials.access_key_id.empty()) {
    curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:s3", credentials.region).c_str());
    curl_easy_setopt(handle, CURLOPT_USERNAME, credentials.access_key_id.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, credentials.secret_access_key.c_str());
  }
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

// In chunks.
void set_source(CURL* handle, Transmission& transmission, int64_t max_bytes_per_second) {
  curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(handle, CURLOPT_READFUNCTION, &read_body);
  curl_easy_setopt(handle, CURLOPT_READDATA, &transmission);
  curl_easy_setopt(handle, CURLOPT_MAX_SEND_SPEED_LARGE, static_cast<curl_off_t>(max_bytes_per_second));
}

// As a progress meter, which curl asks at least once a second.
int is_cancelled(void* client_options, curl_off_t /*to_receive*/, curl_off_t /*received*/,
                 curl_off_t /*to_send*/, curl_off_t /*sent*/) noexcept {
  const auto& options = *static_cast<const ClientOptions*>(client_options);
  pollfd polled{options.cancel_fd, POLLIN, 0};
  if (options.cancel_fd >= 0 && ::poll(&polled, 1, 0) == 1) {
    return 1;
  }
  return options.ends_with_stop_scope && !check_stop() ? 1 : 0;
}

// Lets options.cancel_fd and the stop scope end the request; the options must live as long as it.
void set_cancelling(CURL* handle, ClientOptions& options) {
  if (options.cancel_fd >= 0 || options.ends_with_stop_scope) {
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &is_cancelled);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &options);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  }
}

// Called by libcurl for a new socket. What cannot be set is no reason to do without the connection: its request has a limit.
int limit_silence(void* client_options, curl_socket_t fd, curlsocktype /*purpose*/) noexcept {
  constexpr int64_t kProbesInTime = 3;
  const int64_t timeout_ms = static_cast<const ClientOptions*>(client_options)->silence_timeout_ms;
  const int between_s = static_cast<int>(std::max<int64_t>(timeout_ms / kProbesInTime / 1000, 1));
  const auto set = [fd](int level, int option, int value) {
    static_cast<void>(::setsockopt(fd, level, option, &value, sizeof value));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, between_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, between_s);
  // It counts for probes as well, in place of their number.
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(timeout_ms));
  return CURL_SOCKOPT_OK;
}

// The options must live as long as the request.
void set_silence(CURL* handle, ClientOptions& options) {
  if (options.silence_timeout_ms > 0 && !options.open_connection) {
    curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, &limit_silence);
    curl_easy_setopt(handle, CURLOPT_SOCKOPTDATA, &options);
  }
}

void set_opening(CURL* handle, Opening& opening) {
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, &opening);
  curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, &take_connection);
  curl_easy_setopt(handle, CURLOPT_PREREQDATA, &opening);
  // The connection is to no proxy, whatever the environment says.
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
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
      return "check what listens there, and what stands before it";
  }
}

Error transport_error(CURLcode code, const std::string& url, const char* text, const Reception& reception,
                      const ClientOptions& options) {
  if (reception.sink_error) {
    return *reception.sink_error;
  }
  if (reception.too_large) {
    return Error{ErrorCode::kTooLarge,
                 fmt::format("requesting {}: the response is larger than {} bytes", url,
                             is_for_sink(reception) ? reception.max_sink_bytes : reception.max_bytes),
                 {},
                 "ask for less"};
  }
  const Status stopped =
      options.ends_with_stop_scope && code == CURLE_ABORTED_BY_CALLBACK ? check_stop() : Status();
  if (!stopped) {
    return stopped.error();
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
  options_.base_url = with_scheme(std::move(options_.base_url), options_.credentials);
  while (options_.base_url.ends_with('/')) {
    options_.base_url.pop_back();
  }
  if (!options_.credentials.token.empty() && is_unencrypted(options_.base_url, options_.credentials)) {
    log_warning("the token for {} is sent unencrypted: use https:// (server.certificate)", options_.base_url);
  }
  handle_.reset(curl_easy_init());
}

Result<Response> Client::send(std::string_view method, std::string_view path_and_query, std::string_view body,
                              std::string_view content_type, const Fields& further_headers) {
  return exchange({method, path_and_query, body, content_type}, further_headers, nullptr);
}

Result<Response> Client::receive(std::string_view path_and_query, BodySink& sink,
                                 const Fields& further_headers) {
  return exchange({.method = "GET", .path_and_query = path_and_query}, further_headers, &sink);
}

Result<Response> Client::send_stream(std::string_view path_and_query, BodySource& source,
                                     const StreamOptions& how) {
  return exchange({.method = "PUT",
                   .path_and_query = path_and_query,
                   .content_type = how.content_type,
                   .source = &source,
                   .max_bytes_per_second = how.max_bytes_per_second},
                  how.further_headers, nullptr);
}

Result<Response> Client::exchange(const Sent& sent, const Fields& further_headers, BodySink* sink) {
  const std::string url = options_.base_url + std::string(sent.path_and_query);
  const std::string& token = options_.credentials.token;
  if (!is_sendable(sent.method, sent.path_and_query, sent.content_type, token, further_headers)) {
    return fail(ErrorCode::kInvalid, "requesting {}: method, path, content type or token cannot be sent",
                url);
  }
  if (asks_for_tls(options_.credentials) && is_plain(options_.base_url)) {
    return with_hint(fail(ErrorCode::kInvalid, "requesting {}: certificates require https://", url),
                     "write https://, or HOST:PORT alone");
  }
  const HeaderList headers =
      headers_of(sent.content_type, sent.source == nullptr ? sent.body.size() : SIZE_MAX,
                 options_.credentials, further_headers);
  if (!handle_ || !headers) {
    return fail(ErrorCode::kUnavailable, "requesting {}: no memory for a connection", url);
  }
  CURL* const handle = handle_.get();
  const std::string method_text(sent.method);
  std::array<char, CURL_ERROR_SIZE> error_text{};
  Reception reception;
  reception.max_sink_bytes = options_.max_response_bytes;
  // Beside a sink that limit is one of files, far too large for memory.
  reception.max_bytes = sink == nullptr ? options_.max_response_bytes
                                        : std::min(options_.max_response_bytes, kMaxBytesBesideSink);
  reception.handle = handle;
  reception.sink = sink;

  curl_easy_reset(handle);  // keeps the connection
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  Transmission transmission{.source = sent.source};
  if (sent.source == nullptr) {
    set_method(handle, method_text, sent.body);
  } else {
    set_source(handle, transmission, sent.max_bytes_per_second);
  }
  set_limits(handle, options_);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, options_.reuses_connections ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, options_.reuses_connections ? 0L : 1L);
  set_credentials(handle, options_.credentials);
  set_cancelling(handle, options_);
  set_silence(handle, options_);
  Opening opening{.open = &options_.open_connection};
  if (options_.open_connection) {
    set_opening(handle, opening);
  }
  set_reception(handle, reception, error_text.data());
  const CURLcode code = curl_easy_perform(handle);
  const std::optional<Error> own_error =
      code != CURLE_OK && opening.error ? opening.error : transmission.error;
  Result<Response> result =
      own_error ? std::unexpected(*own_error)
      : code == CURLE_OK
          ? Result<Response>(finished_response(handle, reception))
          : std::unexpected(transport_error(code, url, error_text.data(), reception, options_));
  curl_easy_reset(handle);  // drops the pointers to what lives here
  return result;
}

bool is_unencrypted(std::string_view base_url, const Credentials& credentials) {
  const std::string url = with_scheme(std::string(base_url), credentials);
  return is_plain(url) && !is_loopback(url);
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
