// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuhost::ctl {

class Session;

/// Runs polkit's agent on this terminal while this object exists, so that a call to gpuhostd can ask for a
/// password. Does nothing for root, without a terminal, with --no-ask-password, or without pkttyagent(1).
class PasswordAgent {
  public:
    explicit PasswordAgent(const Session& session);
    ~PasswordAgent();
    PasswordAgent(const PasswordAgent&) = delete;
    PasswordAgent& operator=(const PasswordAgent&) = delete;

  private:
    pid_t pid_ = -1;
};

} // namespace gpuhost::ctl
