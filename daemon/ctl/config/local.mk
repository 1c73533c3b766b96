# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/ctl/cli daemon/devices/publish daemon/settings
daemon_ctl_libctl_a_SOURCES += \
    %D%/cat.cpp \
    %D%/check.cpp \
    %D%/files.cpp \
    %D%/files.hpp \
    %D%/show.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
