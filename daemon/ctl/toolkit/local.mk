# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/ctl/cli daemon/ctl/runtime daemon/runtime/toolkit
daemon_ctl_libctl_a_SOURCES += \
    %D%/import.cpp \
    %D%/list.cpp \
    %D%/remove.cpp \
    %D%/show.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
