#include "cli/store_status.h"

#include <fmt/format.h>

#include "base/time.h"
#include "cli/views/terminal.h"
#include "config/server_config.h"
#include "query/operations/store_status.h"
#include "query/table/table.h"
#include "server/store_settings.h"
#include "store/store_account.h"

namespace plimsoll::cli {
namespace {

Result<store::RetentionLimits> limits_of(const StoreStatusOptions& options) {
  config::LoadInputs inputs;
  if (!options.config_path.empty()) {
    inputs.path = options.config_path;
  }
  const auto config = config::load_server_config(inputs);
  return config ? server::retention_limits(*config, options.asked.source.data_dir) : propagate(config);
}

// As the view `store` answers, with the limits of a configuration.
Result<query::Table> of_directory(const StoreStatusOptions& options) {
  const int64_t now_ns = wall_now_ns();
  const auto request = query::parse_store_status(options.asked.parameters, now_ns);
  const auto account =
      request ? store::account_store(options.asked.source.data_dir, now_ns) : propagate(request);
  const auto limits = account ? limits_of(options) : propagate(account);
  return limits ? Result<query::Table>(query::store_status(*request, *account, *limits)) : propagate(limits);
}

}  // namespace

Status run_store_status(const StoreStatusOptions& options) {
  const auto table =
      options.asked.source.server.empty() ? of_directory(options) : ask_table("store", options.asked);
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, options.asked.form, style_of_output()));
  return {};
}

}  // namespace plimsoll::cli
