# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/host daemon/host/worker
daemon_host_libhost_a_SOURCES += \
    %D%/audit.cpp \
    %D%/audit.hpp \
    %D%/history.cpp \
    %D%/history.hpp \
    %D%/operation.cpp \
    %D%/operation.hpp \
    %D%/runner.cpp \
    %D%/runner.hpp \
    %D%/runner_check.cpp \
    %D%/runner_journal.cpp \
    %D%/runner_launch.cpp \
    %D%/runner_resume.cpp \
    %D%/sweeper.cpp \
    %D%/sweeper.hpp
