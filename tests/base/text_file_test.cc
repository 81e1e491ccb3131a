#include "base/text_file.h"

#include <catch2/catch.hpp>

#include "tests/support/scratch_file.h"

namespace tephra {
namespace {

std::string ErrorOf(const std::string& text) {
  const ScratchFile file(text);
  const auto read = ReadTextFile(file.path(), 1 << 26);
  if (read.ok()) return "";
  return std::string(read.status().message()).substr(file.path().size());
}

TEST_CASE("LineReader: lines come without their ends, and the last one may lack it") {
  const ScratchFile file("a\r\n\nb");
  auto reader = LineReader::Open(file.path());
  REQUIRE(reader.ok());
  std::string line;
  REQUIRE(*reader->Next(line));
  CHECK(line == "a");
  CHECK(reader->ended());
  REQUIRE(*reader->Next(line));
  CHECK(line.empty());
  REQUIRE(*reader->Next(line));
  CHECK(line == "b");
  CHECK_FALSE(reader->ended());
  CHECK(reader->line() == 3);
  CHECK_FALSE(*reader->Next(line));
}

TEST_CASE("LineReader: it counts the bytes of the file that it has given") {
  const ScratchFile file("ab\r\ncdefgh\n");
  absl::StatusOr<LineReader> lines = LineReader::Open(file.path());
  REQUIRE(lines.ok());
  std::string line;
  CHECK(lines->part() == 0);
  REQUIRE(*lines->Next(line));
  CHECK(lines->part() == 4.0 / 11);
  REQUIRE(*lines->Next(line));
  CHECK(lines->part() == 1);
}

TEST_CASE("LineReader: a line of 10 MB is refused with its number, one of 1 MiB is read") {
  CHECK(ErrorOf("ok\n" + std::string(10'000'000, 'x') + "\n").starts_with(":2: \"xxx"));
  CHECK(ErrorOf("ok\n" + std::string(LineReader::kMostLine, 'x') + "\n").empty());
  CHECK(ErrorOf(std::string(LineReader::kMostLine + 1, 'x')).starts_with(":1: "));
}

TEST_CASE("LineReader: what is not UTF-8 is refused with line and byte") {
  CHECK(ErrorOf("fine\nno \xff\n") == ":2: byte 4: \"\\xff\", expected UTF-8 text");
  CHECK(ErrorOf("a\xc0\xaf\n").starts_with(":1: byte 2"));         // an overlong slash
  CHECK(ErrorOf("\xed\xa0\x80\n").starts_with(":1: byte 1"));      // a surrogate
  CHECK(ErrorOf("\xf4\x90\x80\x80\n").starts_with(":1: byte 1"));  // beyond U+10FFFF
  CHECK(ErrorOf("cut \xe2\x82").starts_with(":1: byte 5"));
  CHECK(ErrorOf(std::string("zero\0\n", 6)).starts_with(":1: byte 5"));
  CHECK(ErrorOf("\xe2\x82\xac \xf0\x9f\x98\x80 \xc3\xa9\n").empty());
}

TEST_CASE("LineReader: a file that is not there is named") {
  const auto reader = LineReader::Open("/nowhere/at/all.csv");
  CHECK(reader.status().code() == absl::StatusCode::kNotFound);
  CHECK(
      std::string(reader.status().message()).starts_with("/nowhere/at/all.csv: cannot be opened"));
  CHECK_FALSE(ReadTextFile("/", 100).ok());
}

}  // namespace
}  // namespace tephra
