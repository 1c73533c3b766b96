# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libhttp.a
%C%_libhttp_a_SOURCES = \
    %D%/client.cpp \
    %D%/client.hpp
