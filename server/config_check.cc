#include "server/config_check.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/file_modes.h"
#include "base/time.h"
#include "http/address.h"
#include "http/client.h"
#include "http/tls.h"
#include "objects/object_store.h"
#include "query/annotate/source_files.h"
#include "scheduler/inventory/inventory_text.h"
#include "server/fleet_settings.h"
#include "server/ingest_service.h"
#include "server/query_service.h"
#include "server/source_servers.h"
#include "server/store_settings.h"
#include "server/symbolizer_service.h"
#include "store/directory/data_directory.h"
#include "store/store.h"
#include "symbolizer/debuginfod/debuginfod_server.h"

namespace plimsoll::server {
namespace {

constexpr uint64_t kMaxInventoryBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxPemBytes = uint64_t{1} << 20;
constexpr int64_t kExpiresSoonNs = int64_t{14} * 24 * kNsPerHour;

class Checker {
 public:
  Checker(const config::ServerConfig& config, int64_t now_ns) : config_(config), now_ns_(now_ns) {}

  std::vector<ConfigFinding> run(ServerRole role) {
    switch (role) {
      case ServerRole::kServer:
        check_server();
        break;
      case ServerRole::kSymbolizer:
        check_symbolizer();
        break;
      case ServerRole::kIngest:
        check_ingest();
        break;
      case ServerRole::kQuery:
        check_query();
        break;
    }
    return std::move(findings_);
  }

 private:
  void check_server() {
    check_data();
    check_address("server.listen", config_.listen, may_be_reached());
    check_address("server.fleet_listen", config_.fleet_listen, may_be_reached());
    check_authentication();
    check_tls();
    check_tokens();
    expect("draw", check_draws(config_));
    if (auto warning = overhead_warning(config_)) {
      warn("draw.max_overhead_percent", *std::move(warning));
    }
    check_inventory("inventory.machines", config_.inventory_machines, scheduler::parse_inventory);
    check_inventory("inventory.jobs", config_.inventory_jobs, scheduler::parse_inventory_instances);
    check_folders("symbols.roots", config_.symbol_roots, config::ServerConfig().symbol_roots);
    check_folders("symbols.debug_roots", config_.symbol_debug_roots,
                  config::ServerConfig().symbol_debug_roots);
    check_source_roots();
    const auto source_servers = parse_source_servers(config_.source_urls);
    expect("sources.urls", source_servers ? Status() : propagate(source_servers));
    const auto debuginfod = symbolizer::parse_debuginfod_servers(config_.symbol_debuginfod);
    expect("symbols.debuginfod", debuginfod ? Status() : propagate(debuginfod));
    expect("store.address", store::check_rows(rows_address(config_)));
    check_objects();
  }

  void check_symbolizer() {
    expect("symbolizer.server", SymbolizerService::check(config_));
    check_asked("symbolizer", config_.symbolizer_server, config_.symbolizer_token_file,
                config_.symbolizer_server_ca);
    expect("symbolizer.listen",
           http::check_listening(config_.symbolizer_listen, config_.access_allow_unauthenticated));
  }

  void check_ingest() {
    expect("ingest.server", IngestService::check(config_));
    check_asked("ingest", config_.ingest_server, config_.ingest_token_file, config_.ingest_server_ca);
    check_address("server.fleet_listen", config_.fleet_listen,
                  config_.access_allow_unauthenticated || !config_.ingest_token_file.empty());
    expect("server.listen", http::check_listening(config_.listen, config_.access_allow_unauthenticated));
    check_tls();
  }

  void check_query() {
    expect("primary.server", QueryService::check(config_));
    check_asked("primary", config_.primary_server, config_.primary_token_file, config_.primary_ca);
    check_address("server.listen", config_.listen, may_be_reached());
    check_authentication();
    check_tls();
    check_tokens();
    if (config_.store_address.empty()) {
      // The primary server says where rows are, and this machine has the files.
      check_file("store.password_file", config_.store_password_file);
      check_file("store.ca", config_.store_ca);
    } else {
      expect("store.address", store::check_rows(rows_address(config_)));
    }
  }

  bool authenticates() const { return !config_.access_tokens.empty() || !config_.access_machine_ca.empty(); }
  bool may_be_reached() const { return config_.access_allow_unauthenticated || authenticates(); }

  // `key`: where the error does not name a better one.
  void expect(const std::string& key, const Status& status) {
    if (!status) {
      const Error& error = status.error();
      const std::string better = error.field == "--data" ? "server.data" : error.field;
      findings_.push_back({better.empty() ? key : better, true, error.text()});
    }
  }
  void warn(std::string key, std::string what) {
    findings_.push_back({std::move(key), false, std::move(what)});
  }

  void check_data() {
    if (config_.data_dir.empty()) {
      findings_.push_back({"server.data", true, "no data directory is set: set server.data or give --data"});
      return;
    }
    expect("server.data", store::DataDirectory::check(config_.data_dir));
  }

  void check_file(const std::string& key, const std::string& path) {
    const auto content = path.empty() ? Result<std::string>() : read_file(path, kMaxPemBytes);
    expect(key, content ? Status() : propagate(content));
  }

  // The server that a process of another role asks, as its table of the configuration names it.
  void check_asked(const std::string& table, const std::string& server, const std::string& token_file,
                   const std::string& ca) {
    check_file(table + ".server_ca", ca);
    if (!token_file.empty() && others_may_read(token_file)) {
      warn(table + ".token_file", fmt::format("{0} is readable by other users: chmod 600 {0}", token_file));
    }
    if (!server.empty() && http::is_unencrypted(server, {.ca = ca})) {
      warn(table + ".server",
           fmt::format("requests to {0} are not encrypted: tokens can be read on the way. Write https://{1}",
                       server, without_scheme(server)));
    }
  }

  static std::string_view without_scheme(std::string_view address) {
    const size_t scheme_end = address.find("://");
    return scheme_end == std::string_view::npos ? address : address.substr(scheme_end + 3);
  }

  void check_objects() {
    if (!config_.objects_address.empty()) {
      const auto store = objects::open_object_store(object_store_address(config_));
      expect("objects.address", store ? Status() : propagate(store));
      const Status is_apart = check_object_folder(config_);
      expect("objects.address", is_apart);
      if (is_apart && is_object_folder_on_data_disk(config_)) {
        warn("objects.address",
             fmt::format("{} is on the disk of the data directory: the copy is lost with that disk",
                         config_.objects_address));
      }
    }
  }

  // `may_leave_loopback`: its clients are authenticated, or need not be.
  void check_address(const std::string& key, const std::string& address, bool may_leave_loopback) {
    expect(key, http::check_listening(address, may_leave_loopback));
    const bool is_local = http::check_listening(address, false).has_value();
    if (may_leave_loopback && !is_local && config_.certificate.empty()) {
      warn(key, fmt::format("{} can be reached from other machines without TLS: tokens and profiles can be "
                            "read on the way. Set server.certificate and server.key",
                            address));
    }
  }

  void check_authentication() {
    if (config_.access_allow_unauthenticated && !authenticates()) {
      warn("access.allow_unauthenticated", "every client that reaches the server may do everything");
    }
  }

  void check_tls() {
    const http::TlsFiles files{
        .certificate = config_.certificate, .key = config_.key, .client_ca = config_.access_machine_ca};
    if (!files.are_given()) {
      return;
    }
    const auto texts = http::load_tls(files);
    expect("server.certificate", texts ? Status() : propagate(texts));
    if (!config_.key.empty() && others_may_read(config_.key)) {
      warn("server.key", fmt::format("{0} is readable by other users: chmod 600 {0}", config_.key));
    }
  }

  void check_tokens() {
    for (const config::AccessToken& token : config_.access_tokens) {
      const int64_t expires_ns = token.expires_ns().value_or(0);
      if (expires_ns <= now_ns_) {
        warn("access.tokens", fmt::format("the token of {} has expired ({})", token.name, token.expires));
      } else if (expires_ns - now_ns_ < kExpiresSoonNs) {
        warn("access.tokens", fmt::format("the token of {} expires on {}", token.name, token.expires));
      }
    }
  }

  template <typename Parse>
  void check_inventory(std::string_view key, const std::string& place, Parse parse) {
    if (place.empty() || place.starts_with("http://") || place.starts_with("https://")) {
      return;
    }
    const auto text = read_file(place, kMaxInventoryBytes);
    const auto entries = text ? parse(*text) : propagate(text);
    expect(std::string(key), entries ? Status() : propagate(entries, "reading the inventory {}", place));
  }

  // Of the defaults only some are on every machine.
  void check_folders(std::string_view key, const std::vector<std::string>& folders,
                     const std::vector<std::string>& defaults) {
    std::error_code error;
    for (const std::string& folder : folders) {
      if (folders != defaults && !std::filesystem::is_directory(folder, error)) {
        warn(std::string(key), fmt::format("{} is not a folder: no symbols are read from it", folder));
      }
    }
  }

  void check_source_roots() {
    const auto roots = annotate::parse_source_roots(config_.source_roots);
    if (!roots) {
      findings_.push_back({"sources.roots", true, roots.error().text()});
      return;
    }
    std::error_code error;
    for (const annotate::SourceRoot& root : *roots) {
      if (!std::filesystem::is_directory(root.folder, error)) {
        warn("sources.roots", fmt::format("{} is not a folder: no source text is read from it", root.folder));
      }
    }
  }

  const config::ServerConfig& config_;
  const int64_t now_ns_;
  std::vector<ConfigFinding> findings_;
};

}  // namespace

std::vector<ConfigFinding> check_config(const config::ServerConfig& config, ServerRole role, int64_t now_ns) {
  return Checker(config, now_ns).run(role);
}

}  // namespace plimsoll::server
