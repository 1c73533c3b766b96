# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/ctl/cli daemon/ctl/cluster daemon/ctl/gpu
#   daemon/ctl/runtime daemon/ctl/toolkit
daemon_ctl_libctl_a_SOURCES += \
    %D%/apply.cpp \
    %D%/apply.hpp \
    %D%/help.cpp \
    %D%/reload.cpp \
    %D%/status.cpp \
    %D%/verbs.hpp \
    %D%/verdict.cpp \
    %D%/verdict.hpp \
    %D%/view_status.cpp \
    %D%/wait_ready.cpp
