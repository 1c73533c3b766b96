# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/ctl/cli kmod/trust
daemon_ctl_libctl_a_SOURCES += \
    %D%/create_key.cpp \
    %D%/enrolment.cpp \
    %D%/enrolment.hpp \
    %D%/show_enrolment.cpp \
    %D%/status.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
