# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libclient.a
%C%_libclient_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libclient_a_SOURCES = \
    %D%/async_client.cpp \
    %D%/async_client.hpp \
    %D%/bundle_call.hpp \
    %D%/client.cpp \
    %D%/client.hpp \
    %D%/client_bus.cpp \
    %D%/client_bus.hpp \
    %D%/devices_call.hpp \
    %D%/driver_call.hpp \
    %D%/fetch_socket.cpp \
    %D%/fetch_socket.hpp \
    %D%/request.cpp \
    %D%/request.hpp \
    %D%/toolkit_call.hpp \
    %D%/verdict.cpp \
    %D%/verdict.hpp
