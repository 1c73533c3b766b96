// SPDX-License-Identifier: Apache-2.0
// Large headers of other projects that most sources include, precompiled by ../configure --enable-pch. No
// source includes this file.
#ifndef GPUHOST_PRELUDE_HPP // compilers warn of #pragma once in a precompiled header
#define GPUHOST_PRELUDE_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#endif
