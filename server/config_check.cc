#include "server/config_check.h"

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/file_modes.h"
#include "base/time.h"
#include "http/address.h"
#include "http/tls.h"
#include "objects/object_store.h"
#include "query/annotate/source_files.h"
#include "scheduler/inventory/inventory_text.h"
#include "server/fleet_settings.h"
#include "server/source_servers.h"
#include "server/store_settings.h"
#include "store/directory/data_directory.h"
#include "store/store.h"
#include "symbolizer/debuginfod/debuginfod_server.h"

namespace plimsoll::server {
namespace {

constexpr uint64_t kMaxInventoryBytes = uint64_t{256} << 20;
constexpr int64_t kExpiresSoonNs = int64_t{14} * 24 * kNsPerHour;

class Checker {
 public:
  Checker(const config::ServerConfig& config, int64_t now_ns) : config_(config), now_ns_(now_ns) {}

  std::vector<ConfigFinding> run() {
    check_data();
    check_addresses();
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
    check_rows();
    check_objects();
    return std::move(findings_);
  }

 private:
  bool authenticates() const { return !config_.access_tokens.empty() || !config_.access_machine_ca.empty(); }

  // `key`: where the error does not name a better one.
  void expect(const std::string& key, const Status& status) {
    if (!status) {
      const Error& error = status.error();
      findings_.push_back({error.field.empty() ? key : error.field, true, error.text()});
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

  void check_rows() { expect("store.address", store::check_rows(rows_address(config_))); }

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

  void check_addresses() {
    const bool may_leave_loopback = config_.access_allow_unauthenticated || authenticates();
    for (const auto& [key, address] : {std::pair("server.listen", config_.listen),
                                       std::pair("server.fleet_listen", config_.fleet_listen)}) {
      expect(key, http::check_listening(address, may_leave_loopback));
      const bool is_local = http::check_listening(address, false).has_value();
      if (may_leave_loopback && !is_local && config_.certificate.empty()) {
        warn(key, fmt::format("{} can be reached from other machines without TLS: tokens and profiles can be "
                              "read on the way. Set server.certificate and server.key",
                              address));
      }
    }
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

std::vector<ConfigFinding> check_config(const config::ServerConfig& config, int64_t now_ns) {
  return Checker(config, now_ns).run();
}

}  // namespace plimsoll::server
