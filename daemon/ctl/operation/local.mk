# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/ctl/cli
daemon_ctl_libctl_a_SOURCES += \
    %D%/cancel.cpp \
    %D%/list.cpp \
    %D%/show.cpp \
    %D%/verbs.hpp \
    %D%/wait.cpp
