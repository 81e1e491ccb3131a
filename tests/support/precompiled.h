// What nearly every test reads, compiled once where sources are joined. No test counts on it: the
// dev preset does without.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/support/build.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"
#include "tests/support/small_cluster.h"
