// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/registry/answer.hpp"
#include "images/registry/metrics.hpp"

namespace gpuhost::images {

/// Answers the requests of a RegistryServer. Thread-safe.
class RegistryService {
  public:
    virtual ~RegistryService() = default;

    [[nodiscard]] virtual RegistryAnswer answer(const RegistryCall& call) = 0;
    [[nodiscard]] virtual RegistryMetrics& metrics() = 0;
};

} // namespace gpuhost::images
