#include "store/clickhouse/connection.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/random.h"
#include "base/retry_pause.h"
#include "base/stop_scope.h"
#include "store/clickhouse/server_error.h"

namespace plimsoll::store::clickhouse {
namespace {

// A boundary that no body can hold but by a chance of 2^-128.
constexpr size_t kBoundaryBytes = 16;
constexpr size_t kMaxShownBytes = 80;
// Of a request, for what is not the statement.
constexpr int64_t kMaxAnswerMs = 5000;
// What ClickHouse reads of a URL unless its configuration says otherwise, less what its own settings take.
constexpr size_t kMaxUrlBytes = 15'000;

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_of_name);
}

// With its port. Any other character would end the host in the URL that it becomes part of.
bool is_host(std::string_view text) {
  constexpr std::string_view kOthers = ".-:[]%";
  return std::ranges::all_of(
      text, [&](char c) { return is_of_name(c) || kOthers.find(c) != std::string_view::npos; });
}

// The begin of a statement, for messages.
std::string shown(std::string_view sql) {
  return sql.size() <= kMaxShownBytes ? std::string(sql)
                                      : fmt::format("{}...", sql.substr(0, kMaxShownBytes));
}

http::ClientOptions client_options(const ConnectionOptions& options, const std::string& url,
                                   bool reuses_connections) {
  return {.base_url = url,
          .connect_timeout_ms = options.connect_timeout_ms,
          .timeout_ms = options.timeout_ms,
          .silence_timeout_ms = options.silence_timeout_ms,
          .max_response_bytes = options.max_response_bytes,
          .reuses_connections = reuses_connections,
          .ends_with_stop_scope = true,
          .credentials = {.token = {}, .ca = options.ca}};
}

// Without a port it is that of the scheme.
std::string url_of(std::string_view host, bool is_secure) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return fmt::format("{}://{}{}", is_secure ? "https" : "http", host,
                     has_port    ? ""
                     : is_secure ? ":8443"
                                 : ":8123");
}

// In the URLs of statements about replicated tables. Where inserts are not parallel, Keeper knows the last part of each partition that has reached
// its quorum: a sequential read shows no later ones, and fails on a replica that lacks it.
std::string settings_for(const ConnectionOptions& options, ServerVersion version, bool is_insert) {
  if (!is_insert) {
    return version.has_sequential_reads() ? "&select_sequential_consistency=1" : "";
  }
  return fmt::format("&insert_quorum={}&insert_quorum_timeout={}{}", options.insert_quorum,
                     std::max<int64_t>(1, options.timeout_ms / 2),
                     version.has_sequential_reads() ? "&insert_quorum_parallel=0" : "");
}

// What is wrong with hosts that have commas between them; empty: nothing, and these are their URLs.
std::string_view read_hosts(std::string_view hosts, bool is_secure, std::vector<std::string>& urls) {
  while (true) {
    const size_t comma = hosts.find(',');
    const std::string_view host = hosts.substr(0, comma);
    if (host.empty()) {
      return "a host is missing";
    }
    if (!is_host(host)) {
      return "a host must be a name or an address, with a port or without";
    }
    urls.push_back(url_of(host, is_secure));
    if (std::ranges::count(urls, urls.back()) > 1) {
      return "a host is listed twice";
    }
    if (comma == std::string_view::npos) {
      return {};
    }
    hosts.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<ConnectionOptions> parse_address(std::string_view address) {
  const auto refuse = [&](std::string_view why) {
    return with_hint(
        fail(ErrorCode::kInvalid, "the store's address {}: {}", address, why),
        "write clickhouse://[USER@]HOST[:PORT][,HOST[:PORT]...]/DATABASE, or clickhouses:// for TLS");
  };
  // Checked first: the other refusals repeat the address.
  const size_t scheme_end = address.find("://");
  std::string_view rest = scheme_end == std::string_view::npos ? address : address.substr(scheme_end + 3);
  const size_t at = rest.rfind('@');
  if (at != std::string_view::npos && rest.substr(0, at).find(':') != std::string_view::npos) {
    return with_hint(fail(ErrorCode::kInvalid, "the store's address holds a password, which others can see"),
                     "give the password in a file");
  }
  if (rest.find('?') != std::string_view::npos) {
    return with_hint(fail(ErrorCode::kInvalid, "the store's address has options behind a '?'"),
                     "leave them out; give the password in a file");
  }
  constexpr std::string_view kPlain = "clickhouse://";
  constexpr std::string_view kSecure = "clickhouses://";
  const bool is_secure = address.starts_with(kSecure);
  if (!is_secure && !address.starts_with(kPlain)) {
    return refuse("unknown scheme");
  }
  ConnectionOptions options;
  const size_t slash = rest.find('/');
  options.database = slash == std::string_view::npos ? "" : std::string(rest.substr(slash + 1));
  if (!is_name(options.database)) {
    return refuse("the name of the database must be of letters, digits and '_'");
  }
  rest = rest.substr(0, slash);
  if (at < rest.size()) {
    options.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
  }
  std::vector<std::string> urls;
  if (const std::string_view wrong = read_hosts(rest, is_secure, urls); !wrong.empty()) {
    return refuse(wrong);
  }
  options.base_url = std::move(urls.front());
  urls.erase(urls.begin());
  options.further_urls = std::move(urls);
  return options;
}

std::vector<ConnectionOptions> each_host(const ConnectionOptions& options) {
  std::vector<ConnectionOptions> hosts;
  const auto add = [&](const std::string& url) {
    ConnectionOptions& host = hosts.emplace_back(options);
    host.base_url = url;
    host.further_urls.clear();
  };
  add(options.base_url);
  std::ranges::for_each(options.further_urls, add);
  return hosts;
}

OneHost::OneHost(Connection& connection) : connection_(connection) {
  if (connection_.one_host_ == nullptr) {
    connection_.one_host_ = this;
  }
}

OneHost::~OneHost() {
  if (connection_.one_host_ == this) {
    connection_.one_host_ = nullptr;
  }
}

Connection::Connection(ConnectionOptions options, std::shared_ptr<HostChoice> choice)
    : options_(std::move(options)), choice_(std::move(choice)), random_(random_seed()) {
  const auto add_host = [this](const std::string& url) {
    hosts_.push_back({.url = url,
                      .client = http::Client(client_options(options_, url, true)),
                      .insert_client = http::Client(client_options(options_, url, false))});
  };
  add_host(options_.base_url);
  std::ranges::for_each(options_.further_urls, add_host);
  choice_ = choice_ == nullptr ? std::make_shared<HostChoice>(hosts_.size()) : choice_;
}

size_t Connection::host() const {
  return one_host_ != nullptr && one_host_->host_.has_value() ? *one_host_->host_ : choice_->current();
}

void Connection::keep(size_t host) {
  if (one_host_ != nullptr && !one_host_->host_.has_value()) {
    one_host_->host_ = host;
  }
}

// For messages: which one it was, where there are several.
std::string Connection::at_host(size_t host, std::string_view what) const {
  return hosts_.size() == 1 ? std::string(what) : fmt::format("{} at {}", what, hosts_[host].url);
}

Result<std::string> Connection::query(std::string_view sql, std::span<const ExternalTable> tables) {
  if (tables.empty()) {
    return send_again_and_again({path_for(true), std::string(sql), "text/plain"}, shown(sql));
  }
  const Sent sent = with_tables(sql, tables);
  if (sent.path_and_query.size() > kMaxUrlBytes) {
    return with_hint(fail(ErrorCode::kTooLarge, "asking ClickHouse {}: the statement has {} bytes in a URL",
                          shown(sql), sent.path_and_query.size()),
                     "narrow the filters");
  }
  return send_again_and_again(sent, shown(sql));
}

Status Connection::insert(std::string_view table, std::string_view columns, std::string_view rows) {
  const std::string sql = fmt::format("INSERT INTO {} ({}) FORMAT RowBinary", table, columns);
  const size_t host = this->host();
  keep(host);
  const Answer answer =
      ask(host, true,
          {path_for(true) + "&query=" + http::url_encode(sql), std::string(rows), "application/octet-stream"},
          fmt::format("inserting into {}", table));
  if (answer.is_host_failing) {
    choice_->leave(host);
  }
  return answer.body ? Status() : propagate(answer.body);
}

Status Connection::create_database() {
  const std::string sql = fmt::format("CREATE DATABASE IF NOT EXISTS {}", options_.database);
  const auto answer = send_again_and_again({path_for(false), sql, "text/plain"}, sql);
  return answer ? Status() : propagate(answer);
}

Result<ServerVersion> Connection::version() {
  const auto text = query("SELECT version()");
  return text ? parse_version(*text) : propagate(text);
}

// wait_end_of_query: without it an error may follow a status of 200, in the middle of the answer. The server's timeout must be the shorter one: its
// error is final (kTooLarge), while a request that times out here is sent again.
std::string Connection::path_for(bool has_database) const {
  const int64_t limit_ms = options_.timeout_ms - std::min(options_.timeout_ms / 10, kMaxAnswerMs);
  return fmt::format("/?wait_end_of_query=1&max_execution_time={}{}{}", std::max<int64_t>(1, limit_ms / 1000),
                     has_database ? "&database=" : "", has_database ? options_.database : "");
}

// A form with a file for each table. The server wants their structures, and the statement, in the URL.
Connection::Sent Connection::with_tables(std::string_view sql, std::span<const ExternalTable> tables) const {
  const std::string boundary = to_hex(random_bytes(kBoundaryBytes));
  Sent sent{
      path_for(true) + "&query=" + http::url_encode(sql), {}, "multipart/form-data; boundary=" + boundary};
  size_t bytes = 0;
  for (const ExternalTable& table : tables) {
    bytes += table.rows.size();
  }
  sent.body.reserve(bytes + tables.size() * 256);
  for (const ExternalTable& table : tables) {
    sent.path_and_query +=
        fmt::format("&{0}_format=RowBinary&{0}_structure={1}", table.name, http::url_encode(table.structure));
    sent.body += fmt::format(
        "--{0}\r\nContent-Disposition: form-data; name=\"{1}\"; filename=\"{1}\"\r\n"
        "Content-Type: application/octet-stream\r\n\r\n",
        boundary, table.name);
    sent.body += table.rows;
    sent.body += "\r\n";
  }
  sent.body += fmt::format("--{}--\r\n", boundary);
  return sent;
}

Result<std::string> Connection::send_again_and_again(const Sent& sent, std::string_view what) {
  for (int attempt = 1;; ++attempt) {
    auto answer = ask_hosts(sent, fmt::format("asking ClickHouse {}", what));
    const bool may_help = !answer && answer.error().code == ErrorCode::kUnavailable;
    if (!may_help || attempt >= options_.max_attempts) {
      return answer;
    }
    if (const Status paused = pause_before_retry(attempt, options_.first_pause_ns, random_); !paused) {
      return propagate(paused);
    }
  }
}

// Each host once at most.
Result<std::string> Connection::ask_hosts(const Sent& sent, std::string_view what) {
  for (size_t asked = 1;; ++asked) {
    const size_t host = this->host();
    const bool is_kept = one_host_ != nullptr && one_host_->host_.has_value();
    Answer answer = ask(host, false, sent, what);
    if (!answer.is_host_failing) {
      keep(host);
      return std::move(answer.body);
    }
    choice_->leave(host);
    if (is_kept || asked == hosts_.size()) {
      return std::move(answer.body);
    }
  }
}

Connection::Answer Connection::ask(size_t host, bool is_insert, const Sent& sent, std::string_view what) {
  Host& asked = hosts_[host];
  http::Client& client = is_insert ? asked.insert_client : asked.client;
  const std::string where = at_host(host, what);
  if (!options_.is_replicated()) {
    return send(client, sent.path_and_query, sent, where);
  }
  if (asked.version.major == 0) {
    Answer learnt = learn_version(asked, where);
    if (!learnt.body) {
      return learnt;
    }
  }
  const std::string settings = settings_for(options_, asked.version, is_insert);
  return send(client, sent.path_and_query + settings, sent, where);
}

Connection::Answer Connection::learn_version(Host& host, std::string_view what) const {
  Answer answer = send(host.client, path_for(false), {{}, "SELECT version()", "text/plain"}, what);
  if (!answer.body) {
    return answer;
  }
  const auto version = parse_version(*answer.body);
  if (!version) {
    return {propagate(version, "{}", what)};
  }
  host.version = *version;
  return answer;
}

Connection::Answer Connection::send(http::Client& client, std::string_view path_and_query, const Sent& sent,
                                    std::string_view what) const {
  if (const Status stopped = check_stop(); !stopped) {
    return {propagate(stopped)};
  }
  http::Fields credentials;
  if (!options_.user.empty()) {
    credentials = {{"X-ClickHouse-User", options_.user}, {"X-ClickHouse-Key", options_.password}};
  }
  auto response = client.send("POST", path_and_query, sent.body, sent.content_type, credentials);
  if (!response) {
    // What ended the request is the error of the work, and no failure of the server.
    const Status stopped = check_stop();
    return {stopped ? propagate(response, "{}", what) : propagate(stopped),
            stopped && response.error().code == ErrorCode::kUnavailable};
  }
  if (response->status != 200) {
    return {std::unexpected(server_error(*response, what)), may_another_host_answer(*response)};
  }
  return {std::move(response->body)};
}

std::unique_ptr<Connection> ConnectionPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<Connection>(options_, choice_);
}

Result<std::string> ConnectionPool::query(std::string_view sql, std::span<const ExternalTable> tables) {
  auto connection = take();
  auto answer = connection->query(sql, tables);
  give_back(std::move(connection));
  return answer;
}

void ConnectionPool::give_back(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

}  // namespace plimsoll::store::clickhouse
