# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/core daemon/host daemon/host/manager daemon/host/transaction
noinst_LIBRARIES += %D%/libbus.a
%C%_libbus_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libbus_a_SOURCES = \
    %D%/authority.cpp \
    %D%/authority.hpp \
    %D%/bundle_object.cpp \
    %D%/bundle_object.hpp \
    %D%/call.cpp \
    %D%/call.hpp \
    %D%/callers.cpp \
    %D%/callers.hpp \
    %D%/devices_object.cpp \
    %D%/devices_object.hpp \
    %D%/driver_object.cpp \
    %D%/driver_object.hpp \
    %D%/introspect.cpp \
    %D%/introspect.hpp \
    %D%/log_control.cpp \
    %D%/log_control.hpp \
    %D%/manager_object.cpp \
    %D%/manager_object.hpp \
    %D%/object.cpp \
    %D%/object.hpp \
    %D%/operation_object.cpp \
    %D%/operation_object.hpp \
    %D%/requests.cpp \
    %D%/requests.hpp \
    %D%/runtime_object.cpp \
    %D%/runtime_object.hpp \
    %D%/server.cpp \
    %D%/server.hpp \
    %D%/toolkit_object.cpp \
    %D%/toolkit_object.hpp
