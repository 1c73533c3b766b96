# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/ctl/cli daemon/runtime
#   daemon/runtime/configure daemon/runtime/inspect
daemon_ctl_libctl_a_SOURCES += \
    %D%/call.hpp \
    %D%/configure.cpp \
    %D%/show.cpp \
    %D%/unconfigure.cpp \
    %D%/verbs.hpp \
    %D%/verify.cpp \
    %D%/view.cpp \
    %D%/view.hpp \
    %D%/view_runtime_change.cpp \
    %D%/view_runtime_change.hpp \
    %D%/wanted.hpp
