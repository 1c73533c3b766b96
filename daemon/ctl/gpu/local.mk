# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/ctl/cli daemon/devices/publish
daemon_ctl_libctl_a_SOURCES += \
    %D%/list.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
