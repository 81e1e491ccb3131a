#include "base/yaml_tree.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

std::string TreeError(const std::string& text) {
  const auto tree = ParseYaml("f", text);
  return tree.ok() ? "" : std::string(tree.status().message());
}

TEST_CASE("Yaml: values know their line, and an alias is what it stands for") {
  const auto tree = ParseYaml("f", "a: &x [1, two]\nb: *x\nc:\n");
  REQUIRE(tree.ok());
  const Yaml& root = **tree;
  REQUIRE(root.entries.size() == 3);
  CHECK(root.entries[1].line == 2);
  CHECK(root.entries[1].value == root.entries[0].value);
  CHECK(root.entries[0].value->items[1]->text == "two");
  CHECK(root.entries[2].value->kind == Yaml::Kind::kNull);
  CHECK(root.size == 1 + (1 + 3) + (1 + 3) + (1 + 1));
  CHECK(root.depth == 3);
}

TEST_CASE("Yaml: a bomb of aliases is refused where it grows too large") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string to = std::to_string(i), from = std::to_string(i - 1);
    bomb += "a" + to + ": &a" + to + " [";
    for (int k = 0; k < 10; ++k) bomb += (k > 0 ? ", *a" : "*a") + from;
    bomb += "]\n";
  }
  CHECK(TreeError(bomb) ==
        "f:6: \"values, aliases expanded: more than 1000000\", expected at most "
        "that many");
}

TEST_CASE("Yaml: nesting is bounded, with aliases too") {
  CHECK(TreeError(std::string(60, '[') + std::string(60, ']')).empty());
  CHECK(TreeError(std::string(100, '[') + std::string(100, ']')).find("64 levels") !=
        std::string::npos);
  CHECK_FALSE(TreeError(std::string(100'000, '[')).empty());
  std::string chain = "a0: &a0 []\n";
  for (int i = 1; i < 100; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  }
  CHECK(TreeError(chain).find("64 levels") != std::string::npos);
}

TEST_CASE("Yaml: a tree laid over another changes what it names, map by map") {
  const auto laid = [](const std::string& base, const std::string& over) {
    const auto below = ParseYaml("f", base), above = ParseYaml("g", over);
    REQUIRE(below.ok());
    REQUIRE(above.ok());
    return LaidOver(*below, *above);
  };
  const Yaml::Ptr both =
      laid("a: { x: 1, y: 2 }\nb: [1, 2]\nc: 5\n", "\nb: [3]\na: { y: 7, z: 8 }\nd:\nc:\n");
  REQUIRE(both->entries.size() == 4);
  const Yaml& a = *both->entries[0].value;
  REQUIRE(a.entries.size() == 3);
  CHECK(a.line == 3);
  CHECK(a.entries[0].value->text == "1");
  CHECK(a.entries[0].line == 1);
  CHECK(a.entries[1].value->text == "7");
  CHECK(a.entries[2].key == "z");
  CHECK(both->entries[1].value->items.size() == 1);  // lists are not joined
  CHECK(both->entries[2].value->text == "5");        // nothing changes nothing
  CHECK(both->entries[3].value->kind == Yaml::Kind::kNull);
  CHECK(both->size == 1 + 1 + 7 + 1 + 2 + 2 + 2);
  CHECK(both->depth == 3);
  CHECK(laid("a: 1\n", "b")->text == "b");
  CHECK(laid("a", "b: 1\n")->entries.size() == 1);
}

TEST_CASE("Yaml: faults name the line") {
  CHECK(TreeError("a: 1\nb: 2\na: 3\n") == "f:3: \"a\", expected each key once");
  CHECK(TreeError("a: [1, 2\nb: }\n").starts_with("f:2: "));
  CHECK(TreeError("a: &x\n  b: *x\n").find("anchor") != std::string::npos);
  CHECK(TreeError("a: *unknown\n").starts_with("f:1: "));
  CHECK(TreeError("[1]: 2\n").find("plain text as key") != std::string::npos);
  CHECK(TreeError("a: 1\n---\nb: 2\n").find("one YAML document") != std::string::npos);
  CHECK(TreeError("").starts_with("f:1: "));
}

}  // namespace
}  // namespace tephra
