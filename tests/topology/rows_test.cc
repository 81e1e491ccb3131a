// Tables of rows, their uids, and values that rows share.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/dice.h"
#include "topology/base/boxed.h"
#include "topology/base/ids.h"
#include "topology/base/stable_rows.h"
#include "topology/base/uid_index.h"
#include "topology/base/value_pool.h"

namespace tephra {
namespace {

struct Row {
  std::string uid;
};
using RowId = Id<struct RowTag>;

TEST_CASE("UidIndex: it finds the rows that a map finds, whatever comes and goes") {
  Dice dice(1);
  StableRows<Row> rows;
  UidIndex<Row, RowId> index;
  std::map<std::string, RowId> expected;
  std::vector<RowId> unused;
  for (int step = 0; step < 20'000; ++step) {
    const std::string uid = "job-" + std::to_string(dice.Below(500));
    const auto known = expected.find(uid);
    CHECK(index.Find(rows, uid) == (known == expected.end() ? RowId() : known->second));
    if (known != expected.end()) {
      index.Erase(rows, uid);
      rows[known->second.index()].uid.clear();
      unused.push_back(known->second);
      expected.erase(known);
      index.Erase(rows, uid);  // no row is known by it: nothing happens
    } else {
      RowId id(rows.size());
      if (unused.empty()) {
        rows.emplace_back();
      } else {
        id = unused.back();
        unused.pop_back();
      }
      rows[id.index()].uid = uid;
      index.Insert(rows, id);
      expected[uid] = id;
    }
  }
  for (const auto& [uid, id] : expected) CHECK(index.Find(rows, uid) == id);
}

TEST_CASE("UidIndex: the last row of a uid is known by it") {
  StableRows<Row> rows;
  UidIndex<Row, RowId> index;
  for (int i = 0; i < 2; ++i) {
    rows.emplace_back().uid = "a";
    index.Insert(rows, RowId(static_cast<std::size_t>(i)));
  }
  CHECK(index.Find(rows, "a") == RowId(1));
  index.Erase(rows, "a");
  CHECK_FALSE(index.Find(rows, "a").valid());
}

TEST_CASE("StableRows: rows stay where they are, and a copy has rows of its own") {
  StableRows<Row> rows;
  Row& first = rows.emplace_back();
  first.uid = "first";
  for (int i = 1; i < 1000; ++i) rows.emplace_back().uid = std::to_string(i);
  CHECK(&first == &rows[0]);
  StableRows<Row> copy = rows;
  first.uid = "changed";
  CHECK(copy.size() == 1000);
  CHECK(copy[0].uid == "first");
  CHECK(copy[999].uid == "999");
  std::size_t seen = 0;
  for (const Row& row : rows) seen += &row == &rows[seen];
  CHECK(seen == 1000);
}

TEST_CASE("ValuePool: equal values share one box, and unused values are dropped") {
  ValuePool<std::string, TextHash> pool;
  const Boxed<std::string> one = pool.Of(std::string("queue"));
  const Boxed<std::string> other = pool.Of(Boxed<std::string>(std::string("queue")));
  CHECK(&*one == &*other);
  CHECK(pool.Of(std::string()).is_default());
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(pool.Of(std::to_string(i)).is_default());
  CHECK(&*pool.Of(std::string("queue")) == &*one);
  CHECK(pool.size() < 200);
}

TEST_CASE("Boxed: a default value takes no box, and copies share one") {
  const Boxed<std::string> none{std::string()};
  CHECK(none.is_default());
  CHECK(none->empty());
  Boxed<std::string> text{std::string("a")};
  CHECK_FALSE(text.shared());
  Boxed<std::string> copy = text;
  CHECK(text.shared());
  CHECK(&*copy == &*text);
  text = {};
  CHECK(*copy == "a");
  CHECK_FALSE(copy.shared());
  CHECK(copy == Boxed<std::string>(std::string("a")));
}

}  // namespace
}  // namespace tephra
