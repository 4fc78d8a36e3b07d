#include "store/identity/bound_database.h"

#include <utility>

#include "store/identity/directory_identity.h"

namespace plimsoll::store {
namespace {

Status make_tables(sqlite::Database& database, const char* schema, std::string_view directory_id) {
  auto transaction = sqlite::Transaction::begin(database);
  Status made = transaction ? database.run(schema) : propagate(transaction);
  const auto id = made ? directory_id_of(database) : propagate(made);
  if (!id) {
    return propagate(id);
  }
  if (!id->empty() && *id != directory_id) {
    return fail(ErrorCode::kConflict, "it is of another data directory");
  }
  made = id->empty() ? give_directory_id(database, directory_id) : made;
  return made ? transaction->commit() : made;
}

}  // namespace

Result<sqlite::Database> open_bound_database(const std::string& path, const char* schema,
                                             std::string_view directory_id) {
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kReadWrite);
  const Status made = database ? make_tables(*database, schema, directory_id) : propagate(database);
  return made ? std::move(database) : propagate(made, "making {}", path);
}

}  // namespace plimsoll::store
