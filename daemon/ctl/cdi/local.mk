# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/ctl/cli daemon/runtime/cdi
daemon_ctl_libctl_a_SOURCES += \
    %D%/generate.cpp \
    %D%/list.cpp \
    %D%/show.cpp \
    %D%/validate.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
