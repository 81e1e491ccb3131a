#include "simulations/traces/csv.h"

#include <catch2/catch.hpp>

#include "tests/support/scratch_file.h"

namespace tephra {
namespace {

// Reads all rows; the error without the path, or "".
std::string CsvError(const std::string& text, int* rows = nullptr) {
  const ScratchFile file(text);
  const auto strip = [&](const absl::Status& status) {
    return std::string(status.message()).substr(file.path().size());
  };
  auto csv = CsvReader::Open(file.path(), {"name", "count"});
  if (!csv.ok()) return strip(csv.status());
  for (int row = 0;; ++row) {
    const auto more = csv->Next();
    if (!more.ok()) return strip(more.status());
    if (rows != nullptr) *rows = row;
    if (!*more) return "";
    const auto count = csv->Whole(1, 0, 100);
    if (!count.ok()) return strip(count.status());
  }
}

TEST_CASE("CsvReader: columns are found by name, in any order, and other columns are ignored") {
  const ScratchFile file("x,count,name\r\n1,2,\"a, \"\"b\"\"\nc\"\n,3,d\n");
  auto csv = CsvReader::Open(file.path(), {"name", "count"});
  REQUIRE(csv.ok());
  REQUIRE(*csv->Next());
  CHECK(csv->Text(0) == "a, \"b\"\nc");
  CHECK(*csv->Whole(1, 0, 9) == 2);
  CHECK(csv->line() == 2);
  REQUIRE(*csv->Next());
  CHECK(csv->Text(0) == "d");
  CHECK(csv->line() == 4);
  CHECK_FALSE(*csv->Next());
}

TEST_CASE("CsvReader: a row with too few or too many fields is refused") {
  CHECK(CsvError("name,count\na,1\nb\n") ==
        ":3: \"b\", expected 2 fields as in the header, found 1");
  CHECK(CsvError("name,count\na,1,2\n").find("found 3") != std::string::npos);
}

TEST_CASE("CsvReader: a file cut at any byte but the end of a row is refused") {
  const std::string text = "name,count\nalpha,10\n\"be,ta\",20\n";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    CAPTURE(cut);
    CHECK(CsvError(text.substr(0, cut)).empty() == (text[cut - 1] == '\n'));
  }
  int rows = 0;
  CHECK(CsvError(text, &rows).empty());
  CHECK(rows == 2);
}

TEST_CASE("CsvReader: faults name line, column, value and what was expected") {
  CHECK(CsvError("name,count\na,-2\n") ==
        ":2: count: \"-2\", expected a whole number from 0 to 100");
  CHECK(CsvError("name,cuont\n") ==
        ":1: header: \"name,cuont\", expected a column count, did you mean \"cuont\"?");
  CHECK(CsvError("name,count,name\n") == ":1: header: \"name\", expected each column only once");
  CHECK(CsvError("") == ":1: \"\", expected a header row");
  CHECK(CsvError("name,count\n\"a\"b,1\n").find("RFC 4180") != std::string::npos);
  CHECK(CsvError("name,count\n\"a,1\n").starts_with(":2: "));
  CHECK(CsvError("name,count\na,\xff\n").find("UTF-8") != std::string::npos);
  CHECK(CsvError("name,count\n" + std::string(10'000'000, 'x') + ",1\n").starts_with(":2: "));
}

}  // namespace
}  // namespace tephra
