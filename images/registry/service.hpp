// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "images/registry/answer.hpp"
#include "images/registry/metrics.hpp"

namespace gpuhost::images {

/// Computes the answers to the requests that a RegistryServer receives. The server calls it on several
/// threads.
class RegistryService {
  public:
    virtual ~RegistryService() = default;

    [[nodiscard]] virtual RegistryAnswer answer(const RegistryCall& call) = 0;
    [[nodiscard]] virtual RegistryMetrics& metrics() = 0;
};

} // namespace gpuhost::images
