// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuhost::ctl {

class Session;

/// polkit's agent on this terminal, which asks for a password when a call needs one; for as long as this
/// lives. Nothing where nobody could answer: for root, without a terminal, with --no-ask-password, without
/// pkttyagent(1).
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
