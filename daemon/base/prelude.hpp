// SPDX-License-Identifier: Apache-2.0
// Large headers of others that most sources include, for ../configure --enable-pch. No source includes this.
#ifndef GPUHOST_PRELUDE_HPP // a precompiled header takes no #pragma once
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
