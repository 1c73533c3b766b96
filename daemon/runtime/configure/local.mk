# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/content/set daemon/core daemon/runtime daemon/runtime/cdi
#   daemon/runtime/inspect daemon/runtime/toml daemon/runtime/toolkit
daemon_runtime_libruntime_a_SOURCES += \
    %D%/busy.cpp \
    %D%/busy.hpp \
    %D%/change.cpp \
    %D%/change.hpp \
    %D%/check.cpp \
    %D%/check.hpp \
    %D%/component.cpp \
    %D%/component.hpp \
    %D%/containerd_change.cpp \
    %D%/converge.cpp \
    %D%/converge.hpp \
    %D%/crio_change.cpp \
    %D%/desired_config.cpp \
    %D%/desired_config.hpp \
    %D%/docker_change.cpp \
    %D%/docker_edit.cpp \
    %D%/docker_edit.hpp \
    %D%/plan.cpp \
    %D%/plan.hpp \
    %D%/plan_documents.cpp \
    %D%/restart.cpp \
    %D%/restart.hpp \
    %D%/runtime_verdict.cpp \
    %D%/steps.cpp \
    %D%/steps.hpp \
    %D%/undo.cpp \
    %D%/undo.hpp
